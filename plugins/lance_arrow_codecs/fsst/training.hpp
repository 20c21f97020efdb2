// Choosing the symbols of an FSST table (Boncz, Neumann, Leis: FSST, VLDB 2020). A sample is encoded a few times. After
// each time, candidates are the used symbols and pairs of consecutive ones; those that save most become the table.
#pragma once

#include "lance_arrow/outcome.hpp"
#include "lance_arrow/variable.hpp"
#include "lance_arrow_codecs/fsst/symbols.hpp"

namespace lance_arrow::codecs {

Outcome train_symbols(const StoredOffsets& stored, const uint8_t* data, int64_t data_bytes, uint8_t* table,
                      int64_t table_bytes);

}  // namespace lance_arrow::codecs
