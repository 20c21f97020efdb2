// The C table of chunks that begin with their bit width: few values are reached one by one.
#pragma once

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

// Null for widths that have no native form.
HeldChunkCodec* hold_inline_bitpacking(int64_t bits);

// Bounds by the width of a chunk; null as above.
HeldChunkMarks* hold_packed_bounds(int64_t bits);

}  // namespace lance_arrow::codecs
