// Bounds of the zones of a leaf; bounds of byte strings are cut outward where they are long.
#pragma once

#include <vector>

#include "engine/encode/leaves/leaf_form.hpp"
#include "engine/encode/leaves/leaf_values.hpp"

namespace lance_arrow::engine {

// One bound of a zone.
struct StringBound {
  std::vector<uint8_t> bytes;
  bool exists = false;
  bool is_exact = false;
};

struct LeafBounds {
  int64_t num_zones = 0;
  std::vector<uint8_t> mins, maxs;  // of one width
  std::vector<StringBound> lows, highs;  // of byte strings
  std::vector<int64_t> values, nulls, nans;
};

// Bounds of the zones of a page: those of a file, of which the first one may have begun before, and the last not end.
Outcome bound_leaf(const ZoneForm& form, const LeafValues& values, int64_t first_row, LeafBounds* bounds);

// Adds the bounds of the next page of a leaf. The first zone goes on with the last one if `first_row` is within it.
Outcome append_bounds(const ZoneForm& form, int64_t first_row, LeafBounds&& page, LeafBounds* bounds);

// The bounds of a value; the smallest value above all with its first bytes, if there is one.
StringBound cut_down(const uint8_t* bytes, int64_t size, bool is_text);
StringBound cut_up(const uint8_t* bytes, int64_t size, bool is_text);

}  // namespace lance_arrow::engine
