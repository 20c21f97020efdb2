// Chunks that begin with their bit width, unpacked.
#pragma once

#include "lance_arrow/fastlanes.hpp"

namespace lance_arrow::codecs {

Outcome unpack_inline(const Chunks& chunks, int word_bits, uint8_t* out, int64_t out_bytes);

}  // namespace lance_arrow::codecs
