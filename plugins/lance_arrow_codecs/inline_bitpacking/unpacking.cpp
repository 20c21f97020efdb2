#include "lance_arrow_codecs/inline_bitpacking/unpacking.hpp"

namespace lance_arrow::codecs {

namespace {

// A 128-bit value, low word first.
void store_wide(uint8_t* out, int64_t item, uint64_t low, uint64_t high) {
  store<uint64_t>(out, 2 * item, low);
  store<uint64_t>(out, 2 * item + 1, high);
}

// The first num_values of a FastLanes block of T-bit words, widened to 128 bits.
template <class T>
void unpack_widened(const uint8_t* packed, int packed_bits, uint8_t* out, int64_t num_values) {
  alignas(64) uint8_t whole[kBlockValues * sizeof(T)];
  Unpackers<T>::table[packed_bits](packed, whole);
  for (int64_t value = 0; value < num_values; ++value) store_wide(out, value, load<T>(whole, value), 0);
}

// Values of 65 to 127 bits in one sequential stream, least significant bit first. The stream of 1024 values is a whole
// number of 64-bit words, and a value reaches into three of them at most.
void unpack_sequential(const uint8_t* packed, int packed_bits, uint8_t* out, int64_t num_values) {
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
void unpack_wide_values(const uint8_t* packed, int packed_bits, uint8_t* out, int64_t num_values) {
  if (packed_bits <= 32) unpack_widened<uint32_t>(packed, packed_bits, out, num_values);
  else if (packed_bits <= 64) unpack_widened<uint64_t>(packed, packed_bits, out, num_values);
  else if (packed_bits < 128) unpack_sequential(packed, packed_bits, out, num_values);
  else copy_bytes(out, packed, 16 * num_values);
}

// As unpack_inline_as, for 128-bit values, whose header word is two.
Outcome unpack_inline_wide(const Chunks& chunks, uint8_t* out, int64_t out_bytes) {
  constexpr int64_t width = 16;
  return for_each_chunk(chunks, out_bytes / width, [&](const Chunk& chunk) {
    if (chunk.num_values > kBlockValues)
      return corrupt("a bit-packed chunk declares more than 1024 values", chunk.index);
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
    if (chunk.num_values > kBlockValues)
      return corrupt("a bit-packed chunk declares more than 1024 values", chunk.index);
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

}  // namespace

Outcome unpack_inline(const Chunks& chunks, int word_bits, uint8_t* out, int64_t out_bytes) {
  switch (word_bits) {
    case 8: return unpack_inline_as<uint8_t>(chunks, out, out_bytes);
    case 16: return unpack_inline_as<uint16_t>(chunks, out, out_bytes);
    case 32: return unpack_inline_as<uint32_t>(chunks, out, out_bytes);
    case 64: return unpack_inline_as<uint64_t>(chunks, out, out_bytes);
    case 128: return unpack_inline_wide(chunks, out, out_bytes);
    default: return misuse("word_bits is none of 8, 16, 32, 64, 128");
  }
}

}  // namespace lance_arrow::codecs
