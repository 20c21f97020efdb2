// The C tables of plain offsets and bytes, in a chunk or a block.
#pragma once

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

HeldChunkCodec* hold_variable(int64_t offset_bits, bool is_block);

}  // namespace lance_arrow::codecs
