// The C table of blocks of one bit width.
#pragma once

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

HeldChunkCodec* hold_out_of_line_bitpacking(int64_t word_bits, int64_t packed_bits);

}  // namespace lance_arrow::codecs
