// The C tables of plain offsets and bytes, in a chunk or a block.
#pragma once

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

HeldChunkCodec* hold_variable(int64_t offset_bits, bool is_block);

// What compares the values of chunks where they lie.
HeldChunkMarks* hold_variable_marks(int64_t offset_bits);

}  // namespace lance_arrow::codecs
