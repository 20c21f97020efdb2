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
#include "lance_arrow/prefetch.hpp"

namespace lance_arrow {

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

// Unpackers<T>::table[W] decodes one whole block of 128 * W bytes. There are 124 of them: one source file of a module
// includes fastlanes_unpacking.hpp, and makes them.
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

inline constexpr int kPlaceInOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};  // kOrder is its own inverse

// Where a value of a packed block begins: a word of its type, and a bit in it.
struct PackedPlace {
  int word, shift;
};

// Of a value by its position among the 1024.
template <class T>
PackedPlace packed_place(int packed_bits, int64_t position) {
  constexpr int lanes = Lanes<T>::count;
  constexpr int bits = Lanes<T>::bits;
  const int within = static_cast<int>(position % 128);
  const int row = kPlaceInOrder[within / lanes * (lanes / 16)] * 8 + static_cast<int>(position / 128);
  const int first_bit = row * packed_bits;
  return {first_bit / bits * lanes + within % lanes, first_bit % bits};
}

template <class T>
void prefetch_packed(const uint8_t* packed, int packed_bits, PackedPlace place) {
  if (packed_bits == 0) return;
  prefetch(packed + static_cast<int64_t>(sizeof(T)) * place.word);
  if (place.shift + packed_bits > Lanes<T>::bits)
    prefetch(packed + static_cast<int64_t>(sizeof(T)) * (place.word + Lanes<T>::count));
}

template <class T>
T packed_value(const uint8_t* packed, int packed_bits, PackedPlace place) {
  if (packed_bits == 0) return 0;
  constexpr int bits = Lanes<T>::bits;
  uint64_t value = static_cast<uint64_t>(load<T>(packed, place.word)) >> place.shift;
  if (place.shift + packed_bits > bits)
    value |= static_cast<uint64_t>(load<T>(packed, place.word + Lanes<T>::count)) << (bits - place.shift);
  if (packed_bits < 64) value &= (uint64_t{1} << packed_bits) - 1;
  return static_cast<T>(value);
}

// One value of a packed block, by its position among the 1024.
template <class T>
T packed_value(const uint8_t* packed, int packed_bits, int64_t position) {
  return packed_value<T>(packed, packed_bits, packed_place<T>(packed_bits, position));
}

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

using PackBlock = void (*)(const uint8_t*, uint8_t*);

// Packers<T>::table[W] writes one whole block of 128 * W bytes: fastlanes_packing.hpp, likewise.
template <class T>
struct Packers {
  static const std::array<PackBlock, 8 * sizeof(T) + 1> table;
};

template <>
const std::array<PackBlock, 9> Packers<uint8_t>::table;

template <>
const std::array<PackBlock, 17> Packers<uint16_t>::table;

template <>
const std::array<PackBlock, 33> Packers<uint32_t>::table;

template <>
const std::array<PackBlock, 65> Packers<uint64_t>::table;

// Packs up to 1024 values, zeros behind them; false when a value is wider than packed_bits.
template <class T>
bool pack_values(const uint8_t* values, int64_t num_values, int packed_bits, uint8_t* packed) {
  T any = 0;
  for (int64_t value = 0; value < num_values; ++value) any |= load<T>(values, value);
  if (packed_bits < Lanes<T>::bits && any >> packed_bits != 0) return false;
  if (num_values == kBlockValues) {
    Packers<T>::table[packed_bits](values, packed);
  } else {
    alignas(64) uint8_t whole[kBlockValues * sizeof(T)] = {};
    copy_bytes(whole, values, num_values * static_cast<int64_t>(sizeof(T)));
    Packers<T>::table[packed_bits](whole, packed);
  }
  return true;
}

}  // namespace lance_arrow
