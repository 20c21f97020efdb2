// LZ4 blocks of few bytes, the same as those of the LZ4 library's default compressor; written, or only counted.
#pragma once

#include <cstdint>

namespace lance_arrow::codecs {

// Places of more bytes need tables of another kind.
constexpr int64_t kMostSmallLz4Bytes = 64 << 10;

// Most bytes of a block of so many.
constexpr int64_t lz4_block_room(int64_t num_bytes) { return num_bytes + num_bytes / 255 + 16; }

// Compresses 1 to kMostSmallLz4Bytes bytes; `out` has room for any block of them. Returns the bytes of the block.
int64_t encode_small_lz4_block(const uint8_t* bytes, int64_t num_bytes, uint8_t* out);

// Bytes of that block.
int64_t lz4_block_bytes(const uint8_t* bytes, int64_t num_bytes);

}  // namespace lance_arrow::codecs
