// FastLanes bit packing: 1024 unsigned T-bit values in 1024 * W / T words, transposed so that lanes decode side by
// side.
//
// Lane l has T values. Its r-th value is element kOrder[r / 8] * 16 + (r % 8) * 128 + l of the block. It occupies bits
// [r * W, r * W + W) of the lane's stream. The k-th word of the stream has the index k * lanes + l (spec 5.3). Every
// row is expanded at compile time, so shifts and masks are constants and the lane loop vectorises.
#pragma once

#include <array>
#include <type_traits>

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

inline constexpr int64_t kBlockValues = 1024;

inline constexpr int kOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};

// Shape of a block of T-bit values. Baseline x86-64 has no vector shift of bytes, so eight 8-bit lanes share one 64-bit
// word. Masks remove bits that crossed a lane's border. Other widths have their own words.
template <class T>
struct Lanes {
  static constexpr int bits = 8 * sizeof(T);
  static constexpr int count = kBlockValues / bits;
  using Carrier = std::conditional_t<sizeof(T) == 1, uint64_t, T>;
  static constexpr int carriers = count * sizeof(T) / sizeof(Carrier);

  // The low `num_bits` bits of every lane in a carrier.
  static constexpr Carrier low_bits(int num_bits) {
    const uint64_t lane = num_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << num_bits) - 1;
    return static_cast<Carrier>(sizeof(T) == 1 ? lane * 0x0101010101010101u : lane);
  }
};

using UnpackBlock = void (*)(const uint8_t*, uint8_t*);

// Unpackers<T>::table[W] decodes one whole block of 128 * W bytes. There are 124 of them: fastlanes_blocks.cpp alone
// makes them.
template <class T>
struct Unpackers {
  static const std::array<UnpackBlock, 8 * sizeof(T) + 1> table;
};

template <>
const std::array<UnpackBlock, 9> Unpackers<uint8_t>::table;

template <>
const std::array<UnpackBlock, 17> Unpackers<uint16_t>::table;

template <>
const std::array<UnpackBlock, 33> Unpackers<uint32_t>::table;

template <>
const std::array<UnpackBlock, 65> Unpackers<uint64_t>::table;

// The first num_values (<= 1024) of a block.
template <class T>
void unpack_values(const uint8_t* packed, int packed_bits, uint8_t* out, int64_t num_values) {
  if (num_values == kBlockValues) {
    Unpackers<T>::table[packed_bits](packed, out);
  } else {
    alignas(64) uint8_t whole[kBlockValues * sizeof(T)];
    Unpackers<T>::table[packed_bits](packed, whole);
    copy_bytes(out, whole, num_values * static_cast<int64_t>(sizeof(T)));
  }
}

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

Outcome unpack_inline(const Chunks& chunks, int word_bits, uint8_t* out, int64_t out_bytes);

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

}  // namespace lance_arrow::engine
