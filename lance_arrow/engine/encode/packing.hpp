// FastLanes bit packing, the other way round than fastlanes.hpp: 1024 unsigned T-bit values to 1024 * W / T words.
//
// Rows of a lane follow each other in its stream of bits; a word is stored when a row reaches its end, and what crosses
// the border begins the next one. Rows are expanded at compile time, so that the lane loop vectorises.
#pragma once

#include "engine/decode/fastlanes.hpp"
#include "engine/common/parts.hpp"

namespace lance_arrow::kernels {

template <class T, int W, int r>
inline void pack_row(const uint8_t* values, uint8_t* packed, int carrier, typename Lanes<T>::Carrier& word) {
  using L = Lanes<T>;
  using Carrier = typename L::Carrier;
  constexpr int index = r * W / L::bits;
  constexpr int shift = r * W % L::bits;
  constexpr int low = shift + W > L::bits ? L::bits - shift : W;  // bits that fit the current word
  const Carrier value = load<Carrier>(values + (kOrder[r / 8] * 16 + (r % 8) * 128) * sizeof(T), carrier);
  word |= static_cast<Carrier>((value & L::low_bits(low)) << shift);
  if constexpr (shift + W >= L::bits) {
    store<Carrier>(packed, index * L::carriers + carrier, word);
    word = 0;
    if constexpr (low < W) word = static_cast<Carrier>(value >> low) & L::low_bits(W - low);
  }
}

template <class T, int W>
void pack_block(const uint8_t* __restrict values, uint8_t* __restrict packed) {
  using L = Lanes<T>;
  if constexpr (W > 0) {
    for (int carrier = 0; carrier < L::carriers; ++carrier) {
      typename L::Carrier word = 0;
      [&]<int... r>(std::integer_sequence<int, r...>) {
        (pack_row<T, W, r>(values, packed, carrier, word), ...);
      }(std::make_integer_sequence<int, L::bits>{});
    }
  }
}

using PackBlock = void (*)(const uint8_t*, uint8_t*);

template <class T, int... W>
constexpr std::array<PackBlock, sizeof...(W)> packers(std::integer_sequence<int, W...>) {
  return {pack_block<T, W>...};
}

// kPackBlock<T>[W] writes one whole block of 128 * W bytes.
template <class T>
inline constexpr auto kPackBlock = packers<T>(std::make_integer_sequence<int, 8 * sizeof(T) + 1>{});

// Packs up to 1024 values, zeros behind them; false when a value is wider than packed_bits.
template <class T>
bool pack_values(const uint8_t* values, int64_t num_values, int packed_bits, uint8_t* packed) {
  T any = 0;
  for (int64_t value = 0; value < num_values; ++value) any |= load<T>(values, value);
  if (packed_bits < Lanes<T>::bits && any >> packed_bits != 0) return false;
  if (num_values == kBlockValues) {
    kPackBlock<T>[packed_bits](values, packed);
  } else {
    alignas(64) uint8_t whole[kBlockValues * sizeof(T)] = {};
    copy_bytes(whole, values, num_values * static_cast<int64_t>(sizeof(T)));
    kPackBlock<T>[packed_bits](whole, packed);
  }
  return true;
}

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

template <class T>
Outcome pack_out_of_line_as(const Parts& blocks, int packed_bits, uint8_t* out, int64_t out_bytes) {
  constexpr int64_t width = sizeof(T);
  if (packed_bits < 0 || packed_bits > 8 * width) return misuse("packed_bits is outside 0..word_bits");
  const int64_t group_bytes = 128 * packed_bits;
  int64_t position = 0;
  const Outcome outcome = for_each_part(blocks, width, [&](const Part& block) {
    const int64_t num_groups = block.num_values / kBlockValues;
    const int64_t tail_bytes = block.num_values % kBlockValues * width;
    const bool packs_tail = group_bytes < tail_bytes;
    const int64_t size = num_groups * group_bytes + (packs_tail ? group_bytes : tail_bytes);
    if (size > out_bytes - position) return misuse("the output is too small", block.index);
    const uint8_t* values = blocks.values + block.first_value * width;
    uint8_t* packed = out + position;
    for (int64_t group = 0; group < num_groups + packs_tail; ++group) {
      const int64_t count = group < num_groups ? kBlockValues : tail_bytes / width;
      if (!pack_values<T>(values, count, packed_bits, packed))
        return misuse("a value is wider than its block", block.index);
      values += kBlockValues * width;
      packed += group_bytes;
    }
    if (!packs_tail) copy_bytes(packed, values, tail_bytes);
    position += size;
    return success();
  });
  if (outcome.message == nullptr && position != out_bytes) return misuse("the output is too large");
  return outcome;
}

inline Outcome pack_inline(const Parts& chunks, int word_bits, const int64_t* packed_bits, uint8_t* out,
                           int64_t out_bytes) {
  switch (word_bits) {
    case 8: return pack_inline_as<uint8_t>(chunks, packed_bits, out, out_bytes);
    case 16: return pack_inline_as<uint16_t>(chunks, packed_bits, out, out_bytes);
    case 32: return pack_inline_as<uint32_t>(chunks, packed_bits, out, out_bytes);
    case 64: return pack_inline_as<uint64_t>(chunks, packed_bits, out, out_bytes);
    default: return misuse("word_bits is none of 8, 16, 32, 64");
  }
}

inline Outcome pack_out_of_line(const Parts& blocks, int word_bits, int packed_bits, uint8_t* out, int64_t out_bytes) {
  switch (word_bits) {
    case 8: return pack_out_of_line_as<uint8_t>(blocks, packed_bits, out, out_bytes);
    case 16: return pack_out_of_line_as<uint16_t>(blocks, packed_bits, out, out_bytes);
    case 32: return pack_out_of_line_as<uint32_t>(blocks, packed_bits, out, out_bytes);
    case 64: return pack_out_of_line_as<uint64_t>(blocks, packed_bits, out, out_bytes);
    default: return misuse("word_bits is none of 8, 16, 32, 64");
  }
}

}  // namespace lance_arrow::kernels
