// The walk over parts of a caller's values that the encoding kernels share: chunks, blocks or groups to be.
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow {

// Values that lie side by side, `num_bytes` in all, and where each part of them begins: num_parts + 1 positions.
struct Parts {
  const uint8_t* values;
  int64_t num_bytes;
  const int64_t* value_starts;
  int64_t num_parts;  // -1: not even the first position is there
};

struct Part {
  int64_t index;
  int64_t first_value;
  int64_t num_values;
};

// Calls visit(Part) for each part, after its values are known to be inside the caller's.
template <class Visit>
Outcome for_each_part(const Parts& parts, int64_t width, Visit&& visit) {
  if (parts.num_parts < 0) return misuse("value_starts is empty");
  const int64_t num_values = parts.num_bytes / width;
  for (int64_t index = 0; index < parts.num_parts; ++index) {
    const int64_t first = parts.value_starts[index];
    const int64_t stop = parts.value_starts[index + 1];
    if (first < 0 || stop < first || stop > num_values) return misuse("value_starts leave the values", index);
    const Outcome outcome = visit(Part{index, first, stop - first});
    if (outcome.message != nullptr) return outcome;
  }
  return success();
}

}  // namespace lance_arrow
