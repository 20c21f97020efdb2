// The C tables of LZ4 frames: decompressed, as a whole or their first bytes, and compressed.
#pragma once

#include "lance_arrow/codec_tables.hpp"
#include "lance_arrow/encoder_tables.hpp"

namespace lance_arrow::codecs {

// Whole frames.
HeldFrameCodec* hold_lz4();

// Their first bytes.
HeldFramePrefixes* hold_lz4_prefixes();

// Small buffers: the library compresses others.
HeldFrameEncoder* hold_lz4_encoder();

}  // namespace lance_arrow::codecs
