// Packed rows cut apart into their fields (spec 5.9).
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

// One field of packed rows: where it lies in a row and where its values go.
struct PackedField {
  int64_t first_byte;
  int64_t num_bytes;
  uint8_t* out;
  int64_t out_bytes;
};

// Rows lie back to back in a chunk; each field's values go to memory of its own.
Outcome split_rows(const Chunks& chunks, const PackedField* fields, int64_t num_fields, int64_t row_bytes);

}  // namespace lance_arrow::engine
