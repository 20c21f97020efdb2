#include "lance_arrow_codecs/rle/runs.hpp"

namespace lance_arrow::codecs {

Outcome expand_runs(const Chunks& values, const int64_t* lengths_starts, const int64_t* lengths_sizes, int64_t width,
                    uint8_t* out, int64_t out_bytes) {
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

Outcome expand_run_blocks(const Chunks& chunks, int64_t width, uint8_t* out, int64_t out_bytes) {
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

}  // namespace lance_arrow::codecs
