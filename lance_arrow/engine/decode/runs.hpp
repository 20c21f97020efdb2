// Run-length encoding: values of 1, 2, 4 or 8 bytes, each repeated 1..255 times (spec 5.7).
#pragma once

#include <algorithm>

#include "engine/common/outcome.hpp"

namespace lance_arrow::kernels {

struct Runs {
  const uint8_t* values;
  int64_t values_bytes;
  const uint8_t* lengths;
  int64_t num_runs;
};

// Expands one chunk. The last run of a mini-block chunk may reach past the chunk, whose next one then repeats the rest:
// release 4.0.0 of the reference writes such runs. Short runs are overwritten by their successors, so each is stored in
// fixed 32-byte strides wherever the chunk's own output still has room for a whole stride.
template <class Value>
Outcome expand_chunk(const Runs& runs, const Chunk& chunk, uint8_t* out, bool may_exceed) {
  constexpr int64_t width = sizeof(Value);
  constexpr int64_t stride = 32 / width;
  if (runs.values_bytes % width != 0 || runs.values_bytes / width != runs.num_runs)
    return corrupt("run values and run lengths differ in number", chunk.index);
  int64_t total = 0;
  bool has_zero = false;
  for (int64_t run = 0; run < runs.num_runs; ++run) {
    total += runs.lengths[run];
    has_zero |= runs.lengths[run] == 0;
  }
  if (has_zero) return corrupt("a run has length 0", chunk.index);
  const int64_t excess = total - chunk.num_values;
  if (excess != 0 && !(may_exceed && excess > 0 && excess < runs.lengths[runs.num_runs - 1]))
    return corrupt("run lengths do not sum to the number of values", chunk.index);
  int64_t position = 0;
  for (int64_t run = 0; run < runs.num_runs; ++run) {
    const Value value = load<Value>(runs.values, run);
    const int64_t stop = std::min<int64_t>(position + runs.lengths[run], chunk.num_values);
    if (stop + stride <= chunk.num_values) {
      for (int64_t at = position; at < stop; at += stride)
        for (int64_t item = 0; item < stride; ++item) store<Value>(out, at + item, value);
    } else {
      for (int64_t at = position; at < stop; ++at) store<Value>(out, at, value);
    }
    position = stop;
  }
  return success();
}

// Calls visit.operator()<Value>() with the unsigned type of a run's values.
template <class Visit>
Outcome with_value_type(int64_t width, Visit&& visit) {
  switch (width) {
    case 1: return visit.template operator()<uint8_t>();
    case 2: return visit.template operator()<uint16_t>();
    case 4: return visit.template operator()<uint32_t>();
    case 8: return visit.template operator()<uint64_t>();
    default: return misuse("bytes_per_value is none of 1, 2, 4, 8");
  }
}

// `values` are the chunks of run values; lengths_starts and lengths_sizes locate the lengths in the same data.
inline Outcome expand_runs(const Chunks& values, const int64_t* lengths_starts, const int64_t* lengths_sizes,
                           int64_t width, uint8_t* out, int64_t out_bytes) {
  return with_value_type(width, [&]<class Value>() {
    return for_each_chunk(values, out_bytes / width, [&](const Chunk& chunk) {
      const int64_t start = lengths_starts[chunk.index];
      const int64_t size = lengths_sizes[chunk.index];
      if (!inside(start, size, values.data_bytes)) return corrupt("run lengths lie outside their page", chunk.index);
      return expand_chunk<Value>({chunk.bytes, chunk.size, values.data + start, size}, chunk,
                                 out + chunk.first_value * width, true);
    });
  });
}

inline Outcome expand_run_blocks(const Chunks& chunks, int64_t width, uint8_t* out, int64_t out_bytes) {
  constexpr int64_t header = 8;
  return with_value_type(width, [&]<class Value>() {
    return for_each_chunk(chunks, out_bytes / width, [&](const Chunk& chunk) {
      if (chunk.size < header) return corrupt("a run block is shorter than its header", chunk.index);
      const uint64_t values_bytes = load<uint64_t>(chunk.bytes, 0);
      if (values_bytes > static_cast<uint64_t>(chunk.size - header))
        return corrupt("a run block's values leave it", chunk.index);
      const int64_t num_bytes = static_cast<int64_t>(values_bytes);
      const uint8_t* values = chunk.bytes + header;
      return expand_chunk<Value>({values, num_bytes, values + num_bytes, chunk.size - header - num_bytes}, chunk,
                                 out + chunk.first_value * width, false);
    });
  });
}

}  // namespace lance_arrow::kernels
