// What encodings are chosen by: whether all values are equal. How wide they are, and how often they change, is in
// lance_arrow/block_facts.hpp.
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

// Values are equal exactly when the bytes equal themselves one value on; stops at the first difference.
Outcome all_equal(const uint8_t* values, int64_t num_bytes, int64_t width, bool* equal);

}  // namespace lance_arrow::engine
