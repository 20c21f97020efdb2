// What a raw LZ4 block produces, found by walking its sequences without writing a byte.
//
// A decoder that is only given room for more cannot tell a short block from a full one, and a declared size must not
// be allocated on its own word: the walk proves it.
#pragma once

#include "outcome.hpp"

namespace lance_arrow::kernels {

// Adds the continuation bytes of a length of 15 (each 255 is followed by another); false at the end of the block.
inline bool extend_length(const uint8_t* block, int64_t size, int64_t* position, int64_t* length) {
  uint8_t byte = 255;
  while (byte == 255) {
    if (*position >= size) return false;
    byte = block[(*position)++];
    *length += byte;
  }
  return true;
}

// Bytes the block decodes to, or -1. Each sequence is a token, literals and (but for the last one) a match, whose
// offset must stay within what was produced so far.
inline int64_t lz4_block_size(const uint8_t* block, int64_t size) {
  int64_t position = 0, produced = 0;
  while (position < size) {
    const uint8_t token = block[position++];
    int64_t literals = token >> 4;
    if (literals == 15 && !extend_length(block, size, &position, &literals)) return -1;
    if (literals > size - position) return -1;
    position += literals;
    produced += literals;
    if (position == size) return produced;  // the last sequence has no match
    if (size - position < 2) return -1;
    const int64_t offset = load<uint16_t>(block + position, 0);
    position += 2;
    if (offset == 0 || offset > produced) return -1;
    int64_t match = token & 15;
    if (match == 15 && !extend_length(block, size, &position, &match)) return -1;
    produced += match + 4;
  }
  return -1;  // empty, or a match came last
}

inline Outcome measure_lz4_blocks(const uint8_t* data, int64_t data_bytes, const int64_t* starts, const int64_t* sizes,
                                  int64_t num_blocks, int64_t* out_sizes) {
  for (int64_t block = 0; block < num_blocks; ++block) {
    if (!inside(starts[block], sizes[block], data_bytes)) return corrupt("a frame lies outside its page", block);
    out_sizes[block] = lz4_block_size(data + starts[block], sizes[block]);
    if (out_sizes[block] < 0) return corrupt("an LZ4 block is malformed", block);
  }
  return success();
}

}  // namespace lance_arrow::kernels
