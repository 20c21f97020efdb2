// What codes of dictionary items are replaced by: a bit each, the flag of the item; or 16 bytes each, its view.
#pragma once

#include "engine/common/outcome.hpp"

namespace lance_arrow::engine {

constexpr int64_t kViewBytes = 16;

// Bit i of `out`, least significant first, is the flag (0 or 1) of the item of code i; 0 for codes of no item, which
// nulls may have. Bits behind the last code are 0. Codes have 1, 2, 4 or 8 bytes.
Outcome flags_of_codes(const uint8_t* codes, int64_t code_bytes, int64_t num_codes, const uint8_t* flags,
                       int64_t num_items, uint8_t* out, int64_t out_bytes);

// The view of the item of each code; codes of no item get that of the last one. There is at least one item.
Outcome views_of_codes(const uint8_t* codes, int64_t code_bytes, int64_t num_codes, const uint8_t* views,
                       int64_t num_items, uint8_t* out, int64_t out_bytes);

}  // namespace lance_arrow::engine
