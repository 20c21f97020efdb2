// The C tables of FSST codes (lance_arrow_native.h): of chunks and blocks, whose child says where the codes are, and of
// zipped values.
#pragma once

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

// Null where `child` has values of one width, or the table is refused.
HeldChunkCodec* hold_symbols(const LaChunkCodec* child, const uint8_t* table, int64_t table_bytes, Outcome* outcome);

// What compares the values of such codes, which it must not outlive; null where `codec` is none of them.
HeldChunkMarks* hold_symbol_marks(const LaChunkCodec* codec);

// Null where the table is refused.
HeldValueCodec* hold_zipped_symbols(const uint8_t* table, int64_t table_bytes, Outcome* outcome);

}  // namespace lance_arrow::codecs
