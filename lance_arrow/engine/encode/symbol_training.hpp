// Choosing the symbols of an FSST table (Boncz, Neumann, Leis: FSST, VLDB 2020): a sample is encoded a few times, and
// after each time the table becomes those of the symbols seen, and of those that follow each other, that save most.
#pragma once

#include "engine/common/outcome.hpp"
#include "engine/common/variable.hpp"
#include "engine/decode/symbols.hpp"

namespace lance_arrow::engine {

Outcome train_symbols(const StoredOffsets& stored, const uint8_t* data, int64_t data_bytes, uint8_t* table,
                      int64_t table_bytes);

}  // namespace lance_arrow::engine
