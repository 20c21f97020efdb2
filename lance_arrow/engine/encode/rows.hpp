// Fields put together to packed rows, and bits spread over whole bytes: the inverse of what `streams` and `bits` read.
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

// Values of one field. Those without a fixed width have offsets, counted from the first byte, and in the row their
// length in front of them.
struct RowField {
  const uint8_t* data;
  int64_t data_bytes;
  int64_t num_bytes;  // of a value, or minus the bytes of its length
  const int64_t* offsets;  // nullptr for a fixed width
};
Outcome join_rows(const RowField* fields, int64_t num_fields, int64_t num_rows, uint8_t* out, int64_t out_bytes);

// Rows with fields of variable width, after their lengths. row_offsets gets the start of each row, then the end of the
// last.
Outcome join_fields(const RowField* fields, int64_t num_fields, int64_t num_rows, int64_t* row_offsets, uint8_t* out,
                    int64_t out_bytes);

// Bits bit_offset .. bit_offset + num_bits in runs of bits_per_run, each from a byte border on; unused bits become 0.
Outcome spread_bits(const uint8_t* bits, int64_t bits_bytes, int64_t bit_offset, int64_t num_bits, int64_t bits_per_run,
                    uint8_t* out, int64_t out_bytes);

}  // namespace lance_arrow::engine
