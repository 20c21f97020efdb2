// Values to FSST codes. Four runs of values are encoded side by side. Each step waits for its lookup, and four
// independent steps wait at the same time.
#pragma once

#include "lance_arrow/outcome.hpp"
#include "lance_arrow/variable.hpp"
#include "lance_arrow_codecs/fsst/symbols.hpp"

namespace lance_arrow::codecs {

// Writes the codes of all values back to back with their offsets. The first offset is already set and is the base.
// `out` must have twice the bytes of the values; returns the bytes used in *total.
Outcome compress_symbols(const uint8_t* table, int64_t table_bytes, const StoredOffsets& stored, const uint8_t* data,
                         int64_t data_bytes, const VariableOut& out, int64_t* total);

}  // namespace lance_arrow::codecs
