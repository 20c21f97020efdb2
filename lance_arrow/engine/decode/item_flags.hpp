// What codes of dictionary items are replaced by: a bit each, the flag of the item; or 16 bytes each, its view. And
// views of values that lie one after the other.
#pragma once

#include "engine/common/view_bytes.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

// Bit i of `out`, least significant first, is the flag (0 or 1) of the item of code i; 0 for codes of no item, which
// nulls may have. Bits behind the last code are 0. Codes have 1, 2, 4 or 8 bytes.
Outcome flags_of_codes(const uint8_t* codes, int64_t code_bytes, int64_t num_codes, const uint8_t* flags,
                       int64_t num_items, uint8_t* out, int64_t out_bytes);

// Bytes that are 0 or 1 as bits, least significant first; bits behind the last one are 0.
void bits_of_marks(const uint8_t* marks, int64_t count, uint8_t* out);

// The view of the item of each code; codes of no item get that of the last one. There is at least one item.
Outcome views_of_codes(const uint8_t* codes, int64_t code_bytes, int64_t num_codes, const uint8_t* views,
                       int64_t num_items, uint8_t* out, int64_t out_bytes);

// Views of values that `offsets` (of 32 or 64 bits) say the places of in `data`, which is shown as buffers that begin
// `buffer_bytes` after each other. Null ones, of which `validity` has no bit from `first_bit` on, are empty; none is
// null where it is null.
struct StoredValues {
  const uint8_t* offsets;
  int offset_bits;
  int64_t num_values;
  const uint8_t* data;
  int64_t data_bytes;
  const uint8_t* validity;
  int64_t first_bit;
};
Outcome views_of_values(const StoredValues& stored, int64_t buffer_bytes, uint8_t* out, int64_t out_bytes,
                        int64_t* bytes_behind_views);

}  // namespace lance_arrow::engine
