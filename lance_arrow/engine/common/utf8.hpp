// Whether every value of a string column is valid UTF-8 by itself.
//
// All bytes are checked as one text, and no border between values may be inside a character. The result equals a check
// of each value, at the speed of one text.
#pragma once

#include "lance_arrow/outcome.hpp"
#include "lance_arrow/variable.hpp"

namespace lance_arrow::engine {

bool valid_utf8(const uint8_t* text, int64_t size);
Outcome check_utf8(const StoredOffsets& stored, const uint8_t* data, int64_t data_bytes);

}  // namespace lance_arrow::engine
