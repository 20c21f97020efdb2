// The C table of plain runs.
#pragma once

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

// Of plain runs in two buffers.
HeldChunkMarks* hold_run_marks(int64_t bits);

// Run values and 8-bit run lengths, in two buffers or in one block.
HeldChunkCodec* hold_run_lengths(int64_t bits, bool is_block);

}  // namespace lance_arrow::codecs
