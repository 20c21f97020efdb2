// FastLanes bit packing, the inverse of fastlanes.hpp: 1024 unsigned T-bit values to 1024 * W / T words.
//
// Rows of a lane are consecutive in its stream of bits. A word is stored when a row reaches its end, and the remaining
// bits begin the next one. Rows are expanded at compile time, so that the lane loop vectorises.
#pragma once

#include <array>

#include "engine/decode/fastlanes.hpp"
#include "lance_arrow/outcome.hpp"
#include "lance_arrow/parts.hpp"

namespace lance_arrow::engine {

using PackBlock = void (*)(const uint8_t*, uint8_t*);

// Packers<T>::table[W] writes one whole block of 128 * W bytes.
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
Outcome pack_inline(const Parts& chunks, int word_bits, const int64_t* packed_bits, uint8_t* out, int64_t out_bytes);
Outcome pack_out_of_line(const Parts& blocks, int word_bits, int packed_bits, uint8_t* out, int64_t out_bytes);

}  // namespace lance_arrow::engine
