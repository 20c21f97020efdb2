// Single bits, least significant first: copied and filled at any bit position.
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow {

// Replaces the bits of `byte` selected by `mask`, keeping the others.
inline void blend(uint8_t* byte, uint8_t bits, uint8_t mask) {
  *byte = static_cast<uint8_t>((*byte & ~mask) | (bits & mask));
}

inline uint8_t low_mask(int64_t num_bits) { return static_cast<uint8_t>((1u << num_bits) - 1); }

// Up to 8 bits starting anywhere; touches the second byte only when it holds a wanted bit.
inline uint8_t peek_bits(const uint8_t* source, int64_t bit, int64_t num_bits) {
  const uint8_t* byte = source + bit / 8;
  const int shift = static_cast<int>(bit % 8);
  unsigned bits = byte[0] >> shift;
  if (shift + num_bits > 8) bits |= static_cast<unsigned>(byte[1]) << (8 - shift);
  return static_cast<uint8_t>(bits);
}

// Up to 64 bits starting anywhere; touches no byte that holds none of them. The bits above them are 0.
inline uint64_t peek_word(const uint8_t* source, int64_t bit, int64_t num_bits) {
  const uint8_t* byte = source + bit / 8;
  const int shift = static_cast<int>(bit % 8);
  const int64_t num_bytes = (shift + num_bits + 7) / 8;
  uint64_t word = 0;
  if (num_bytes >= 8) word = load<uint64_t>(byte, 0) >> shift;
  else
    for (int64_t at = 0; at < num_bytes; ++at) word |= uint64_t{byte[at]} << (8 * at);
  if (num_bytes < 8) word >>= shift;
  if (num_bytes > 8) word |= uint64_t{byte[8]} << (64 - shift);
  return num_bits < 64 ? word & ((uint64_t{1} << num_bits) - 1) : word;
}

// Bits to whole bytes; those behind the last are cleared.
inline void copy_padded_bits(const uint8_t* from, int64_t bit, int64_t bits, uint8_t* to) {
  for (; bits > 0; bits -= 64, bit += 64, to += 8) {
    const int64_t some = bits < 64 ? bits : 64;
    const uint64_t word = peek_word(from, bit, some);
    std::memcpy(to, &word, static_cast<size_t>((some + 7) / 8));
  }
}

// Both ranges must already be known to lie inside their arrays.
inline void copy_bit_run(const uint8_t* source, int64_t source_bit, uint8_t* out, int64_t out_bit, int64_t num_bits) {
  if (num_bits <= 0) return;
  if (const int64_t into = out_bit % 8; into != 0) {
    const int64_t head = num_bits < 8 - into ? num_bits : 8 - into;
    blend(out + out_bit / 8, static_cast<uint8_t>(peek_bits(source, source_bit, head) << into),
          static_cast<uint8_t>(low_mask(head) << into));
    source_bit += head;
    out_bit += head;
    num_bits -= head;
  }
  const uint8_t* from = source + source_bit / 8;
  uint8_t* to = out + out_bit / 8;
  const int shift = static_cast<int>(source_bit % 8);
  if (shift == 0) {
    copy_bytes(to, from, num_bits / 8);
    from += num_bits / 8;
    to += num_bits / 8;
    num_bits %= 8;
  } else {
    // With a shift, 64 wanted bits always reach into the ninth byte: reading it stays inside the run.
    for (; num_bits >= 64; num_bits -= 64, from += 8, to += 8)
      store<uint64_t>(to, 0, load<uint64_t>(from, 0) >> shift | static_cast<uint64_t>(from[8]) << (64 - shift));
    for (; num_bits >= 8; num_bits -= 8, ++from, ++to) *to = peek_bits(from, shift, 8);
  }
  if (num_bits > 0) blend(to, peek_bits(from, shift, num_bits), low_mask(num_bits));
}

inline Outcome fill_bits(uint8_t* out, int64_t out_bytes, int64_t bit_offset, int64_t num_bits, bool value) {
  if (!inside(bit_offset, num_bits, 8 * out_bytes)) return misuse("the bits to fill leave the output");
  const uint8_t bits = value ? 0xFF : 0x00;
  if (const int64_t into = bit_offset % 8; into != 0 && num_bits > 0) {
    const int64_t head = num_bits < 8 - into ? num_bits : 8 - into;
    blend(out + bit_offset / 8, bits, static_cast<uint8_t>(low_mask(head) << into));
    bit_offset += head;
    num_bits -= head;
  }
  if (num_bits >= 8) std::memset(out + bit_offset / 8, bits, static_cast<size_t>(num_bits / 8));
  if (num_bits % 8 != 0) blend(out + (bit_offset + num_bits) / 8, bits, low_mask(num_bits % 8));
  return success();
}

}  // namespace lance_arrow
