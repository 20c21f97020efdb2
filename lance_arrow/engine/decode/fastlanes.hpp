// FastLanes bit packing: 1024 unsigned T-bit values in 1024 * W / T words, transposed so that lanes decode side by side.
//
// Lane l owns T values; its r-th value is element kOrder[r / 8] * 16 + (r % 8) * 128 + l of the block and occupies bits
// [r * W, r * W + W) of the lane's stream, whose k-th word is stored at word index k * lanes + l (spec 5.3).
// Every row is expanded at compile time, so shifts and masks are constants and the lane loop vectorises.
#pragma once

#include <array>
#include <utility>

#include "engine/common/outcome.hpp"

namespace lance_arrow::kernels {

inline constexpr int64_t kBlockValues = 1024;
inline constexpr int kOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};

// Shape of a block of T-bit values. Baseline x86-64 has no vector shift of bytes, so eight 8-bit lanes travel in one
// 64-bit carrier and masks remove what crossed a lane's border; other widths travel as themselves.
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

// Row r of a block packed to W bits, for one carrier of lanes.
template <class T, int W, int r>
inline typename Lanes<T>::Carrier unpack_row(const uint8_t* packed, int carrier) {
  using L = Lanes<T>;
  using Carrier = typename L::Carrier;
  constexpr int word = r * W / L::bits;
  constexpr int shift = r * W % L::bits;
  constexpr int low = shift + W > L::bits ? L::bits - shift : W;  // bits found in the first word
  Carrier value = static_cast<Carrier>(load<Carrier>(packed, word * L::carriers + carrier) >> shift);
  if constexpr (W < L::bits) value &= L::low_bits(low);
  if constexpr (low < W) {
    const Carrier next = load<Carrier>(packed, (word + 1) * L::carriers + carrier);
    value |= static_cast<Carrier>((next & L::low_bits(W - low)) << low);
  }
  return value;
}

template <class T, int W>
void unpack_block(const uint8_t* __restrict packed, uint8_t* __restrict out) {
  using L = Lanes<T>;
  using Carrier = typename L::Carrier;
  if constexpr (W == 0) {
    std::memset(out, 0, kBlockValues * sizeof(T));
  } else {
    for (int carrier = 0; carrier < L::carriers; ++carrier) {
      [&]<int... r>(std::integer_sequence<int, r...>) {
        (store<Carrier>(out + (kOrder[r / 8] * 16 + (r % 8) * 128) * sizeof(T), carrier,
                        unpack_row<T, W, r>(packed, carrier)),
         ...);
      }(std::make_integer_sequence<int, L::bits>{});
    }
  }
}

using UnpackBlock = void (*)(const uint8_t*, uint8_t*);

template <class T, int... W>
constexpr std::array<UnpackBlock, sizeof...(W)> unpackers(std::integer_sequence<int, W...>) {
  return {unpack_block<T, W>...};
}

// kUnpackBlock<T>[W] decodes one whole block of 128 * W bytes.
template <class T>
inline constexpr auto kUnpackBlock = unpackers<T>(std::make_integer_sequence<int, 8 * sizeof(T) + 1>{});

// The first num_values (<= 1024) of a block.
template <class T>
void unpack_values(const uint8_t* packed, int packed_bits, uint8_t* out, int64_t num_values) {
  if (num_values == kBlockValues) {
    kUnpackBlock<T>[packed_bits](packed, out);
  } else {
    alignas(64) uint8_t whole[kBlockValues * sizeof(T)];
    kUnpackBlock<T>[packed_bits](packed, whole);
    copy_bytes(out, whole, num_values * static_cast<int64_t>(sizeof(T)));
  }
}

// A 128-bit value, low word first.
inline void store_wide(uint8_t* out, int64_t item, uint64_t low, uint64_t high) {
  store<uint64_t>(out, 2 * item, low);
  store<uint64_t>(out, 2 * item + 1, high);
}

// The first num_values of a FastLanes block of T-bit words, widened to 128 bits.
template <class T>
void unpack_widened(const uint8_t* packed, int packed_bits, uint8_t* out, int64_t num_values) {
  alignas(64) uint8_t whole[kBlockValues * sizeof(T)];
  kUnpackBlock<T>[packed_bits](packed, whole);
  for (int64_t value = 0; value < num_values; ++value) store_wide(out, value, load<T>(whole, value), 0);
}

// Values of 65 to 127 bits in one sequential stream, least significant bit first. The stream of 1024 values is a whole
// number of 64-bit words, and a value reaches into three of them at most.
inline void unpack_sequential(const uint8_t* packed, int packed_bits, uint8_t* out, int64_t num_values) {
  const uint64_t high_mask = (uint64_t{1} << (packed_bits - 64)) - 1;
  for (int64_t value = 0; value < num_values; ++value) {
    const int64_t bit = value * packed_bits;
    const int64_t word = bit / 64;
    const int shift = static_cast<int>(bit % 64);
    uint64_t low = load<uint64_t>(packed, word) >> shift;
    uint64_t high = load<uint64_t>(packed, word + 1) >> shift;
    if (shift != 0) {
      low |= load<uint64_t>(packed, word + 1) << (64 - shift);
      // The third word exists only where the value ends in it.
      if (shift + packed_bits > 128) high |= load<uint64_t>(packed, word + 2) << (64 - shift);
    }
    store_wide(out, value, low, high & high_mask);
  }
}

// The first num_values (<= 1024) of a block of 128 * packed_bits bytes, 128-bit values (spec 11.5).
inline void unpack_wide_values(const uint8_t* packed, int packed_bits, uint8_t* out, int64_t num_values) {
  if (packed_bits <= 32)
    unpack_widened<uint32_t>(packed, packed_bits, out, num_values);
  else if (packed_bits <= 64)
    unpack_widened<uint64_t>(packed, packed_bits, out, num_values);
  else if (packed_bits < 128)
    unpack_sequential(packed, packed_bits, out, num_values);
  else
    copy_bytes(out, packed, 16 * num_values);
}

// As unpack_inline_as, for 128-bit values, whose header word is two.
inline Outcome unpack_inline_wide(const Chunks& chunks, uint8_t* out, int64_t out_bytes) {
  constexpr int64_t width = 16;
  return for_each_chunk(chunks, out_bytes / width, [&](const Chunk& chunk) {
    if (chunk.num_values > kBlockValues) return corrupt("a bit-packed chunk promises more than 1024 values", chunk.index);
    if (chunk.size < width) return corrupt("a bit-packed chunk is shorter than its header", chunk.index);
    const uint64_t packed_bits = load<uint64_t>(chunk.bytes, 0);
    if (packed_bits > 128 || load<uint64_t>(chunk.bytes, 1) != 0)
      return corrupt("a bit-packed chunk is wider than its values", chunk.index);
    if (chunk.size != width + 128 * static_cast<int64_t>(packed_bits))
      return corrupt("a bit-packed chunk's size contradicts its bit width", chunk.index);
    unpack_wide_values(chunk.bytes + width, static_cast<int>(packed_bits), out + chunk.first_value * width,
                       chunk.num_values);
    return success();
  });
}

template <class T>
Outcome unpack_inline_as(const Chunks& chunks, uint8_t* out, int64_t out_bytes) {
  constexpr int64_t width = sizeof(T);
  return for_each_chunk(chunks, out_bytes / width, [&](const Chunk& chunk) {
    if (chunk.num_values > kBlockValues) return corrupt("a bit-packed chunk promises more than 1024 values", chunk.index);
    if (chunk.size < width) return corrupt("a bit-packed chunk is shorter than its header", chunk.index);
    const T packed_bits = load<T>(chunk.bytes, 0);
    if (packed_bits > 8 * width) return corrupt("a bit-packed chunk is wider than its values", chunk.index);
    if (chunk.size != width + 128 * static_cast<int64_t>(packed_bits))
      return corrupt("a bit-packed chunk's size contradicts its bit width", chunk.index);
    unpack_values<T>(chunk.bytes + width, static_cast<int>(packed_bits), out + chunk.first_value * width,
                     chunk.num_values);
    return success();
  });
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
      kUnpackBlock<T>[packed_bits](packed, values);
      packed += block_bytes;
      values += kBlockValues * width;
    }
    if (raw_tail)
      copy_bytes(values, packed, tail_bytes);
    else
      unpack_values<T>(packed, packed_bits, values, tail_values);
    return success();
  });
}

inline Outcome unpack_inline(const Chunks& chunks, int word_bits, uint8_t* out, int64_t out_bytes) {
  switch (word_bits) {
    case 8: return unpack_inline_as<uint8_t>(chunks, out, out_bytes);
    case 16: return unpack_inline_as<uint16_t>(chunks, out, out_bytes);
    case 32: return unpack_inline_as<uint32_t>(chunks, out, out_bytes);
    case 64: return unpack_inline_as<uint64_t>(chunks, out, out_bytes);
    case 128: return unpack_inline_wide(chunks, out, out_bytes);
    default: return misuse("word_bits is none of 8, 16, 32, 64, 128");
  }
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

}  // namespace lance_arrow::kernels
