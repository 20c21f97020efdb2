// How small LZ4 makes the byte streams of values: bytes are counted, nothing is written.
#pragma once

#include <cstdint>

#include "lance_arrow/outcome.hpp"
#include "lance_arrow_native.h"

namespace lance_arrow::codecs {

// Bytes of LZ4 frames of the byte streams of values of 4 or 8 bytes, in chunks of 4096 bytes.
Outcome lz4_stream_bytes(const uint8_t* values, int64_t num_bytes, int64_t width, int64_t* out);

// The part of the bytes of a block of 32 or 64 bits that these frames take, by four samples of 8 KiB.
double sampled_stream_part(const LaBlock& block);

}  // namespace lance_arrow::codecs
