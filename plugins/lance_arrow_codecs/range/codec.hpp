// The C table of integers at equal distances.
#pragma once

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

// Integers of 32 or 64 bits at equal distances, without a buffer. They wrap around.
HeldChunkCodec* hold_range(int64_t bits, uint64_t start, uint64_t step);

}  // namespace lance_arrow::codecs
