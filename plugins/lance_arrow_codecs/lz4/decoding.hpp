// Raw LZ4 blocks, decoded into exactly the room that their frames declare: neither more nor less is accepted.
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::codecs {

// Whether the block is well formed and yields exactly `room` bytes. Each sequence is a token, literals and (but for the
// last one) a match, whose offset must stay within what was produced so far.
bool decode_lz4_block(const uint8_t* block, int64_t size, uint8_t* out, int64_t room);
// Stops with the sequence that reaches `wanted` bytes, which are at most `room`; what follows is not checked.
bool decode_lz4_prefix(const uint8_t* block, int64_t size, uint8_t* out, int64_t room, int64_t wanted);
Outcome decode_lz4_blocks(const uint8_t* data, int64_t data_bytes, const int64_t* starts, const int64_t* sizes,
                          int64_t num_blocks, uint8_t* out, int64_t out_bytes, const int64_t* out_starts);

}  // namespace lance_arrow::codecs
