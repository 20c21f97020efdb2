// Functions that unpack FastLanes blocks, one for each bit width: for one source file of a module.
#pragma once

#include <utility>

#include "lance_arrow/fastlanes.hpp"

namespace lance_arrow {

namespace {

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

template <class T, int... W>
constexpr std::array<UnpackBlock, sizeof...(W)> unpackers(std::integer_sequence<int, W...>) {
  return {unpack_block<T, W>...};
}

template <class T>
constexpr auto unpackers() {
  return unpackers<T>(std::make_integer_sequence<int, 8 * sizeof(T) + 1>{});
}

}  // namespace

template <>
constinit const std::array<UnpackBlock, 9> Unpackers<uint8_t>::table = unpackers<uint8_t>();
template <>
constinit const std::array<UnpackBlock, 17> Unpackers<uint16_t>::table = unpackers<uint16_t>();
template <>
constinit const std::array<UnpackBlock, 33> Unpackers<uint32_t>::table = unpackers<uint32_t>();
template <>
constinit const std::array<UnpackBlock, 65> Unpackers<uint64_t>::table = unpackers<uint64_t>();

}  // namespace lance_arrow
