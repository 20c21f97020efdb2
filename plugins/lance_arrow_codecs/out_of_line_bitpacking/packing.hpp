// Integers packed to blocks of one bit width.
#pragma once

#include "lance_arrow/fastlanes.hpp"
#include "lance_arrow/parts.hpp"

namespace lance_arrow::codecs {

Outcome pack_out_of_line(const Parts& blocks, int word_bits, int packed_bits, uint8_t* out, int64_t out_bytes);

}  // namespace lance_arrow::codecs
