// What a plan knows of a leaf, which may have structs and lists above it.
#pragma once

#include <vector>

#include "engine/encode/leaves/leaf_levels.hpp"

namespace lance_arrow::engine {

// How a leaf is bounded. `kind` and `width` are those of `bound_fixed`; byte strings have neither.
struct ZoneForm {
  int kind;
  int64_t width;
  int64_t rows_per_zone;  // 0: no zone map
  bool is_text;  // byte strings that are cut between characters
};

struct LeafForm {
  std::vector<PathStep> path;
  int64_t column;
  int64_t bits;  // 0: byte strings
  int64_t offset_bits;
  int64_t encoders;
  ZoneForm zones;
};

// Sets `is_refused` if a null is not allowed, or offsets go back, also of lists; `levels` is memory that is used again.
Outcome check_leaf(const LeafForm& form, const ArrowArray& batch, LeafLevels* levels, bool* is_refused);

}  // namespace lance_arrow::engine
