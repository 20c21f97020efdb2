// Distinct values of a block in order of first appearance, and for each value the number of its own.
//
// Open addressing with linear probing; a slot keeps 32 bits of the hash beside the item, so that other values are
// nearly never compared. The table grows with what it holds: the few items of a typical column stay in the first cache.
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

struct DistinctOut {
  uint32_t* indices;  // one per value
  int64_t num_values;
  int64_t* firsts;  // where each item first appears
  int64_t max_items;
};
Outcome index_fixed(const uint8_t* data, int64_t data_bytes, int64_t bytes_per_value, const uint16_t* nulls,
                    const DistinctOut& out, int64_t* num_items);
Outcome index_variable(const uint8_t* offsets, int64_t offsets_bytes, int offset_bits, const uint8_t* data,
                       int64_t data_bytes, const uint16_t* nulls, const DistinctOut& out, int64_t* num_items);

}  // namespace lance_arrow::engine
