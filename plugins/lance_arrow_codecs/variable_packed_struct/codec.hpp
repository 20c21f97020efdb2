// Zipped rows of packed structs with fields of any length: those of any field codecs become rows of plain fields.
#pragma once

#include <vector>

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

// Fields of packed structs: the bytes of each that are stored, and of the rows that are made; minus those of a length.
HeldValueCodec* hold_packed_rows(const std::vector<const LaValueCodec*>& codecs,
                                 const std::vector<int64_t>& stored_bytes, const std::vector<int64_t>& row_bytes);

}  // namespace lance_arrow::codecs
