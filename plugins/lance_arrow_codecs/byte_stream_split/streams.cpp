#include "lance_arrow_codecs/byte_stream_split/streams.hpp"

#include "lance_arrow/widths.hpp"

namespace lance_arrow::codecs {

Outcome gather_streams(const Chunks& chunks, int64_t width, uint8_t* out, int64_t out_bytes) {
  if (width < 1) return misuse("bytes_per_value is not positive");
  return for_each_chunk(chunks, out_bytes / width, [&](const Chunk& chunk) {
    const int64_t count = chunk.num_values;
    if (chunk.size % width != 0 || chunk.size / width != count)
      return corrupt("byte streams have another size than their values", chunk.index);
    uint8_t* values = out + chunk.first_value * width;
    with_width(width, [&]<int kWidth>() { join_streams<kWidth>(chunk.bytes, count, width, values); });
    return success();
  });
}

namespace {

// Values of 4 or 8 bytes are shifted apart in words, which vectorises; others go byte by byte.
template <class T>
void scatter_words(const uint8_t* __restrict values, int64_t count, uint8_t* __restrict out) {
  for (size_t stream = 0; stream < sizeof(T); ++stream) {
    uint8_t* bytes = out + static_cast<int64_t>(stream) * count;
    for (int64_t value = 0; value < count; ++value)
      bytes[value] = static_cast<uint8_t>(load<T>(values, value) >> (8 * stream));
  }
}

}  // namespace

Outcome scatter_streams(const Parts& parts, int64_t width, uint8_t* out, int64_t out_bytes) {
  if (width < 1) return misuse("bytes_per_value is not positive");
  return for_each_part(parts, width, [&](const Part& part) {
    const int64_t start = part.first_value * width;
    const int64_t count = part.num_values;
    if (start + count * width > out_bytes) return misuse("the output is too small", part.index);
    const uint8_t* values = parts.values + start;
    if (width == 4) {
      scatter_words<uint32_t>(values, count, out + start);
    } else if (width == 8) {
      scatter_words<uint64_t>(values, count, out + start);
    } else {
      for (int64_t stream = 0; stream < width; ++stream)
        for (int64_t value = 0; value < count; ++value)
          out[start + stream * count + value] = values[value * width + stream];
    }
    return success();
  });
}

}  // namespace lance_arrow::codecs
