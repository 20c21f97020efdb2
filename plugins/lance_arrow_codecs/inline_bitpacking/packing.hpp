// Integers packed to chunks that begin with their bit width.
#pragma once

#include "lance_arrow/fastlanes.hpp"
#include "lance_arrow/parts.hpp"

namespace lance_arrow::codecs {

Outcome pack_inline(const Parts& chunks, int word_bits, const int64_t* packed_bits, uint8_t* out, int64_t out_bytes);

}  // namespace lance_arrow::codecs
