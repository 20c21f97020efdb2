// A zone map of one zone in packed form (docs/format/zone_maps.md).
#pragma once

#include <string>

#include "engine/encode/leaves/leaf_bounds.hpp"

namespace lance_arrow::engine {

// The zone of a leaf whose rows are its values, of `width` bytes; 0: byte strings with offsets of `offset_bits`.
std::string packed_zone(const LeafBounds& bounds, int64_t width, int64_t offset_bits, int64_t num_rows);

}  // namespace lance_arrow::engine
