// The C table of byte streams.
#pragma once

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

// Null for widths that have no native form.
HeldChunkCodec* hold_byte_streams(int64_t bits);

}  // namespace lance_arrow::codecs
