// Functions that pack FastLanes blocks, one for each bit width: for one source file of a module.
// Rows of a lane are consecutive in its stream of bits. A word is stored when a row reaches its end, and the remaining
// bits begin the next one. Rows are expanded at compile time, so that the lane loop vectorises.
#pragma once

#include <utility>

#include "lance_arrow/fastlanes.hpp"

namespace lance_arrow {

namespace {

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

template <class T, int... W>
constexpr std::array<PackBlock, sizeof...(W)> packers(std::integer_sequence<int, W...>) {
  return {pack_block<T, W>...};
}

template <class T>
constexpr auto packers() {
  return packers<T>(std::make_integer_sequence<int, 8 * sizeof(T) + 1>{});
}

}  // namespace

template <>
constinit const std::array<PackBlock, 9> Packers<uint8_t>::table = packers<uint8_t>();
template <>
constinit const std::array<PackBlock, 17> Packers<uint16_t>::table = packers<uint16_t>();
template <>
constinit const std::array<PackBlock, 33> Packers<uint32_t>::table = packers<uint32_t>();
template <>
constinit const std::array<PackBlock, 65> Packers<uint64_t>::table = packers<uint64_t>();

}  // namespace lance_arrow
