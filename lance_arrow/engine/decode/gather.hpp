// Fixed-width values copied from chunks, runs, indices or arbitrary places into one destination.
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

inline Outcome copy_fixed(const Chunks& chunks, int64_t width, uint8_t* out, int64_t out_bytes) {
  if (width < 1) return misuse("bytes_per_value is below 1");
  return for_each_chunk(chunks, out_bytes / width, [&](const Chunk& chunk) {
    const int64_t num_bytes = chunk.num_values * width;  // bounded by out_bytes
    if (chunk.size < num_bytes) return corrupt("a chunk is shorter than its values", chunk.index);
    copy_bytes(out + chunk.first_value * width, chunk.bytes, num_bytes);
    return success();
  });
}

Outcome take_runs_fixed(const uint8_t* source, int64_t source_bytes, int64_t width, const int64_t* run_starts,
                        const int64_t* run_stops, int64_t num_runs, uint8_t* out, int64_t out_bytes);
Outcome take_fixed(const uint8_t* source, int64_t source_bytes, int64_t width, const uint8_t* indices,
                   int64_t indices_bytes, int index_bits, uint8_t* out, int64_t out_bytes);
Outcome clear_null_indices(uint8_t* indices, int64_t indices_bytes, int index_bits, int64_t num_items,
                           int64_t null_index, const uint16_t* def_levels, int64_t num_levels);
Outcome copy_values(const uint8_t* data, int64_t data_bytes, const int64_t* starts, int64_t num_values, int64_t width,
                    uint8_t* out, int64_t out_bytes);

}  // namespace lance_arrow::engine
