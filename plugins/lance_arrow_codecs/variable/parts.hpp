// Byte strings whose offsets, or whose bytes, have a codec of their own.
#pragma once

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

// Where offsets and bytes lie: in buffers of their own, in one that begins with the offsets, which count from its
// start, or in a block with a header.
enum class PartsForm { kApart, kJoined, kBlock };

// `frames` may be null: bytes lie as they are. Null where the offsets have another width.
HeldChunkCodec* hold_variable_parts(int64_t offset_bits, const LaChunkCodec* offsets, const LaFrameCodec* frames,
                                    int64_t most_frame_bytes, PartsForm form);

}  // namespace lance_arrow::codecs
