// Binary JSON (`lance.json`) as text.
//
//   container   u32 kind and number of entries, u32 per entry (kind and bytes; of objects keys first), contents
//   scalar      u32 0x20000000, one entry, its content
//
// All numbers are big-endian. The text has no white space; it is that of the reference package, number by number.
#pragma once

#include <string>
#include <vector>

#include "lance_arrow/outcome.hpp"
#include "lance_arrow/variable.hpp"

namespace lance_arrow::engine {

// Texts of values one after the other, and where each ends.
struct JsonTexts {
  std::string text;
  std::vector<int64_t> ends;
};

// Writes the text of each value data[offsets[i] : offsets[i + 1]]; nothing for those whose bit in `validity` is clear
// (null: all are valid). A text has at most 20 times the bytes of its value, and nesting takes no stack.
Outcome json_texts(StoredOffsets stored, const uint8_t* data, int64_t data_bytes, const uint8_t* validity,
                   JsonTexts* out);

}  // namespace lance_arrow::engine
