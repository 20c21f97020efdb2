#include "lance_arrow_codecs/inline_bitpacking/packing.hpp"

namespace lance_arrow::codecs {

namespace {

template <class T>
Outcome pack_inline_as(const Parts& chunks, const int64_t* packed_bits, uint8_t* out, int64_t out_bytes) {
  constexpr int64_t width = sizeof(T);
  int64_t position = 0;
  const Outcome outcome = for_each_part(chunks, width, [&](const Part& chunk) {
    const int64_t bits = packed_bits[chunk.index];
    if (bits < 0 || bits > 8 * width) return misuse("packed_bits is outside 0..word_bits", chunk.index);
    if (chunk.num_values > kBlockValues) return misuse("a chunk has more than 1024 values", chunk.index);
    const int64_t size = width + 128 * bits;
    if (size > out_bytes - position) return misuse("the output is too small", chunk.index);
    store<T>(out + position, 0, static_cast<T>(bits));
    if (!pack_values<T>(chunks.values + chunk.first_value * width, chunk.num_values, static_cast<int>(bits),
                        out + position + width))
      return misuse("a value is wider than its chunk", chunk.index);
    position += size;
    return success();
  });
  if (outcome.message == nullptr && position != out_bytes) return misuse("the output is too large");
  return outcome;
}

}  // namespace

Outcome pack_inline(const Parts& chunks, int word_bits, const int64_t* packed_bits, uint8_t* out, int64_t out_bytes) {
  switch (word_bits) {
    case 8: return pack_inline_as<uint8_t>(chunks, packed_bits, out, out_bytes);
    case 16: return pack_inline_as<uint16_t>(chunks, packed_bits, out, out_bytes);
    case 32: return pack_inline_as<uint32_t>(chunks, packed_bits, out, out_bytes);
    case 64: return pack_inline_as<uint64_t>(chunks, packed_bits, out, out_bytes);
    default: return misuse("word_bits is none of 8, 16, 32, 64");
  }
}

}  // namespace lance_arrow::codecs
