// What encodings are chosen by: how wide the values of a group are, and how often they change.
#pragma once

#include "lance_arrow/outcome.hpp"
#include "lance_arrow/parts.hpp"

namespace lance_arrow::engine {

Outcome measure_groups(const Parts& groups, int word_bits, int64_t* out_bits, int64_t* out_changes);

// Values are equal exactly when the bytes equal themselves one value on; stops at the first difference.
Outcome all_equal(const uint8_t* values, int64_t num_bytes, int64_t width, bool* equal);

}  // namespace lance_arrow::engine
