// Runs of single bits, least significant first: copied, filled and counted at any bit position.
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

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
void copy_bit_run(const uint8_t* source, int64_t source_bit, uint8_t* out, int64_t out_bit, int64_t num_bits);
Outcome copy_bits(const Chunks& chunks, uint8_t* out, int64_t out_bytes, int64_t out_bit_offset);
Outcome take_bit_runs(const uint8_t* source, int64_t source_bytes, int64_t source_bit_offset, const int64_t* run_starts,
                      const int64_t* run_stops, int64_t num_runs, uint8_t* out, int64_t out_bytes,
                      int64_t out_bit_offset);

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

// Sets the bits of runs, which are numbered from first_bit on, and leaves the others alone.
Outcome fill_bit_runs(const int64_t* run_starts, const int64_t* run_stops, int64_t num_runs, int64_t first_bit,
                      uint8_t* out, int64_t out_bytes);
Outcome count_bits(const uint8_t* source, int64_t source_bytes, int64_t bit_offset, int64_t num_bits, int64_t* count);
Outcome count_marked_runs(const uint8_t* source, int64_t source_bytes, int64_t bit_offset, const int64_t* range_starts,
                          const int64_t* range_stops, int64_t num_ranges, int64_t* count);
Outcome mark_runs(const uint8_t* source, int64_t source_bytes, int64_t bit_offset, const int64_t* range_starts,
                  const int64_t* range_stops, int64_t num_ranges, int64_t* out_starts, int64_t* out_stops,
                  int64_t num_out);

}  // namespace lance_arrow::engine
