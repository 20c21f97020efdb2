// The C tables of one value that is repeated.
#pragma once

#include <string>

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

// One value of `bits`, repeated, without a buffer; a single bit is one byte.
HeldChunkCodec* hold_constant(int64_t bits, const std::string& value);

// Blocks without a value, which hold nothing.
HeldChunkCodec* hold_nothing(int64_t bits);

// The same, zipped: values without bytes.
HeldValueCodec* hold_zipped_constant(const std::string& value);

}  // namespace lance_arrow::codecs
