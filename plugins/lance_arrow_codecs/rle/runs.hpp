// Run-length encoding: values of 1, 2, 4 or 8 bytes, each repeated 1..255 times (spec 5.7).
#pragma once

#include <algorithm>

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::codecs {

struct Runs {
  const uint8_t* values;
  int64_t values_bytes;
  const uint8_t* lengths;
  int64_t num_runs;
};

// Expands one chunk. The last run of a mini-block chunk may exceed the chunk; the next chunk then repeats the rest.
// Release 4.0.0 of the reference writes such runs. Short runs are overwritten by their successors. So each is stored in
// fixed 32-byte strides, if the chunk's output has room for a whole stride.
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
Outcome expand_runs(const Chunks& values, const int64_t* lengths_starts, const int64_t* lengths_sizes, int64_t width,
                    uint8_t* out, int64_t out_bytes);
Outcome expand_run_blocks(const Chunks& chunks, int64_t width, uint8_t* out, int64_t out_bytes);

}  // namespace lance_arrow::codecs
