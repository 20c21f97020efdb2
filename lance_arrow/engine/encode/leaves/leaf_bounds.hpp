// Bounds of the zones of a leaf; bounds of byte strings are cut outward where they are long.
#pragma once

#include <vector>

#include "engine/encode/leaves/leaf_values.hpp"

namespace lance_arrow::engine {

// How a leaf is bounded. `kind` and `width` are those of `bound_fixed`; byte strings have neither.
struct ZoneForm {
  int kind;
  int64_t width;
  int64_t rows_per_zone;  // 0: no zone map
  bool is_text;  // byte strings that are cut between characters
};

// One bound of a zone.
struct StringBound {
  std::vector<uint8_t> bytes;
  bool exists = false;
  bool is_exact = false;
};

// `counts` are of all zones the values, then the nulls, then the NaNs.
struct LeafBounds {
  int64_t column = 0;
  int64_t num_zones = 0;
  std::vector<uint8_t> mins, maxs;  // of one width
  std::vector<StringBound> lows, highs;  // of byte strings
  std::vector<int64_t> counts;
};

Outcome bound_leaf(const ZoneForm& form, const LeafValues& values, int64_t num_rows, LeafBounds* bounds);

// The bounds of a value; the smallest value above all with its first bytes, if there is one.
StringBound cut_down(const uint8_t* bytes, int64_t size, bool is_text);
StringBound cut_up(const uint8_t* bytes, int64_t size, bool is_text);

}  // namespace lance_arrow::engine
