// Variable-width values cut into mini-block chunks: n + 1 offsets counted from the chunk's start, then the bytes.
#pragma once

#include "lance_arrow/plain_values.hpp"

namespace lance_arrow::codecs {

inline int64_t padded(int64_t num_bytes, int64_t width) { return (num_bytes + width - 1) / width * width; }

struct ChunkLimits {
  int64_t target_bytes;
  int64_t max_bytes;
  int64_t max_values;
};

// How many values each chunk gets: twice as many as long as they stay within the target, and at least 2 (spec 10).
// *num_chunks is -1 when 2 values are more than a chunk may hold.
Outcome plan_variable_chunks(const StoredOffsets& stored, int64_t data_bytes, int out_offset_bits,
                             const ChunkLimits& limits, int64_t* counts, int64_t room, int64_t* num_chunks);

// Writes the chunks of so many values each, one after another; sizes[i] becomes the bytes of chunk i. Returns their sum
// in *total; with `out` too small only sizes and the sum are right.
Outcome write_variable_chunks(const StoredOffsets& stored, const uint8_t* data, int64_t data_bytes,
                              const int64_t* counts, int64_t num_chunks, int out_offset_bits, int64_t* sizes,
                              uint8_t* out, int64_t out_bytes, int64_t* total);

}  // namespace lance_arrow::codecs
