// A zone map of one zone in packed form (docs/format/zone_maps.md).
#pragma once

#include <string>

#include "engine/encode/leaves/leaf_bounds.hpp"

namespace lance_arrow::engine {

// Whether the values of the first zone can be counted in packed form.
inline bool is_packed_count(const LeafBounds& bounds) {
  return bounds.values[0] + bounds.nulls[0] + bounds.nans[0] <= int64_t{0xFFFFFFFF};
}

// The zone of a leaf of values of `width` bytes; 0: byte strings with offsets of `offset_bits`.
std::string packed_zone(const LeafBounds& bounds, int64_t width, int64_t offset_bits, int64_t num_rows);

}  // namespace lance_arrow::engine
