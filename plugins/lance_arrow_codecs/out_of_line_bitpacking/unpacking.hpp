// Blocks of one bit width, unpacked.
#pragma once

#include "lance_arrow/fastlanes.hpp"

namespace lance_arrow::codecs {

template <class T>
Outcome unpack_out_of_line_as(const Chunks& chunks, int packed_bits, uint8_t* out, int64_t out_bytes) {
  constexpr int64_t width = sizeof(T);
  if (packed_bits < 0 || packed_bits > 8 * width) return misuse("packed_bits is outside 0..word_bits");
  const int64_t block_bytes = 128 * packed_bits;
  return for_each_chunk(chunks, out_bytes / width, [&](const Chunk& chunk) {
    const int64_t num_blocks = chunk.num_values / kBlockValues;
    const int64_t tail_values = chunk.num_values % kBlockValues;
    // num_values is bounded by the output, so this product cannot overflow.
    const int64_t tail_bytes = chunk.size - num_blocks * block_bytes;
    const bool raw_tail = tail_bytes == tail_values * width;
    if (!raw_tail && (tail_values == 0 || tail_bytes != block_bytes))
      return corrupt("a bit-packed block's size contradicts its value count", chunk.index);
    const uint8_t* packed = chunk.bytes;
    uint8_t* values = out + chunk.first_value * width;
    for (int64_t block = 0; block < num_blocks; ++block) {
      Unpackers<T>::table[packed_bits](packed, values);
      packed += block_bytes;
      values += kBlockValues * width;
    }
    if (raw_tail) copy_bytes(values, packed, tail_bytes);
    else unpack_values<T>(packed, packed_bits, values, tail_values);
    return success();
  });
}

inline Outcome unpack_out_of_line(const Chunks& chunks, int word_bits, int packed_bits, uint8_t* out,
                                  int64_t out_bytes) {
  switch (word_bits) {
    case 8: return unpack_out_of_line_as<uint8_t>(chunks, packed_bits, out, out_bytes);
    case 16: return unpack_out_of_line_as<uint16_t>(chunks, packed_bits, out, out_bytes);
    case 32: return unpack_out_of_line_as<uint32_t>(chunks, packed_bits, out, out_bytes);
    case 64: return unpack_out_of_line_as<uint64_t>(chunks, packed_bits, out, out_bytes);
    default: return misuse("word_bits is none of 8, 16, 32, 64");
  }
}

}  // namespace lance_arrow::codecs
