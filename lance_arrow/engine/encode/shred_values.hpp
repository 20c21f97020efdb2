// Visible values of a leaf without what lies under nulls: slots cleared, byte strings cut out.
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

// Definition levels of the values at hand; def may be null: then no value is. An entry owns a value iff its level is at
// most max_visible, and the value is null iff its level is not 0.
struct ValueLevels {
  const uint16_t* def;
  int64_t num_entries;
  uint16_t max_visible;
};
Outcome clear_null_values(const ValueLevels& levels, int64_t bytes_per_value, uint8_t* values, int64_t num_bytes);
Outcome fill_null_bits(const ValueLevels& levels, int64_t bits_per_value, uint8_t* bits, int64_t num_bytes, bool to);

// Byte strings; runs of them are selected.
struct ByteStrings {
  const void* offsets;
  int64_t num_offsets;
  int offset_bits;
  int64_t data_bytes;
  const int64_t* run_starts;
  const int64_t* run_stops;
  int64_t num_runs;
};

struct StringsOut {
  void* offsets;
  int64_t num_offsets;
  int64_t base;
  int64_t num_bytes;  // of all valid values
  int64_t span_start;  // where they lie in the data one after another; -1 when they do not
};
Outcome shred_offsets(const ByteStrings& strings, const ValueLevels& levels, StringsOut& out);

// After shred_offsets, which checked the offsets in between: the bytes of all valid values.
Outcome shred_bytes(const ByteStrings& strings, const ValueLevels& levels, const uint8_t* data, uint8_t* out,
                    int64_t out_bytes);

}  // namespace lance_arrow::engine
