// The C tables of Zstandard frames, and of values in them that are stored as they are.
#pragma once

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

// Writes the content of a standard frame, exactly so many bytes, or returns false.
using DecodeFrame = bool (*)(const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes);

HeldFrameCodec* hold_zstd(DecodeFrame decode);

HeldStoredValues* hold_stored_zstd(int64_t most_bytes);

}  // namespace lance_arrow::codecs
