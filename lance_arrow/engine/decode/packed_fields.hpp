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

// Rows that are not back to back, whose fields may have a length before them. field_bytes[f] > 0 is a fixed width; -4
// and -8 are the negative size of the length in bytes. out_starts and out_sizes are field-major. Rows of size 0 are
// null: their fields repeat the places of the row before them (or after, at the beginning), variable ones are empty.
Outcome locate_fields(const uint8_t* data, int64_t data_bytes, const int64_t* starts, const int64_t* sizes,
                      int64_t num_rows, const int64_t* field_bytes, int64_t num_fields, int64_t* out_starts,
                      int64_t* out_sizes, int64_t* num_valid);

}  // namespace lance_arrow::engine
