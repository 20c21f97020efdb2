// A zone map of one zone in packed form (docs/format/zone_maps.md).
#pragma once

#include <string>

#include "engine/encode/leaf_encoding.hpp"

namespace lance_arrow::engine {

// The zone of a leaf of fixed width whose rows are its values.
std::string packed_zone(const LeafBounds& bounds, int64_t width, int64_t num_rows);

}  // namespace lance_arrow::engine
