// Fields of packed rows that lie one by one (spec 5.9).
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow {

// Rows that are not back to back, whose fields may have a length before them. field_bytes[f] > 0 is a fixed width; -4
// and -8 are the negative size of the length in bytes. out_starts and out_sizes are field-major. Rows of size 0 are
// null: their fields repeat the places of the row before them (or after, at the beginning), variable ones are empty.
inline Outcome locate_fields(const uint8_t* data, int64_t data_bytes, const int64_t* starts, const int64_t* sizes,
                             int64_t num_rows, const int64_t* field_bytes, int64_t num_fields, int64_t* out_starts,
                             int64_t* out_sizes, int64_t* num_valid) {
  for (int64_t field = 0; field < num_fields; ++field)
    if (field_bytes[field] < 1 && field_bytes[field] != -4 && field_bytes[field] != -8)
      return misuse("a packed field has neither a width nor lengths of 4 or 8 bytes", field);
  int64_t last_valid = -1;
  *num_valid = 0;
  for (int64_t row = 0; row < num_rows; ++row) {
    const int64_t start = starts[row];
    const int64_t size = sizes[row];
    if (!inside(start, size, data_bytes)) return corrupt("a packed row lies outside its page", row);
    if (size == 0) {
      for (int64_t field = 0; field < num_fields; ++field) {
        const int64_t at = field * num_rows + row;
        const bool fixed = field_bytes[field] > 0;
        out_starts[at] = fixed && last_valid >= 0 ? out_starts[field * num_rows + last_valid] : 0;
        out_sizes[at] = fixed ? field_bytes[field] : 0;
      }
      continue;
    }
    int64_t position = start;
    const int64_t stop = start + size;
    for (int64_t field = 0; field < num_fields; ++field) {
      int64_t length = field_bytes[field];
      if (length < 0) {
        const int64_t prefix = -length;
        if (stop - position < prefix) return corrupt("a packed row ends inside a field", row);
        const uint64_t stored = prefix == 4 ? load<uint32_t>(data + position, 0) : load<uint64_t>(data + position, 0);
        position += prefix;
        if (stored > static_cast<uint64_t>(stop - position)) return corrupt("a packed row ends inside a field", row);
        length = static_cast<int64_t>(stored);
      }
      if (stop - position < length) return corrupt("a packed row ends inside a field", row);
      out_starts[field * num_rows + row] = position;
      out_sizes[field * num_rows + row] = length;
      position += length;
    }
    if (position != stop) return corrupt("a packed row is longer than its fields", row);
    if (last_valid < 0)
      for (int64_t field = 0; field < num_fields; ++field)
        if (field_bytes[field] > 0)
          for (int64_t before = 0; before < row; ++before)
            out_starts[field * num_rows + before] = out_starts[field * num_rows + row];
    last_valid = row;
    ++*num_valid;
  }
  return success();
}

}  // namespace lance_arrow
