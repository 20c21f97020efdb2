// Values of any length that a writer is given.
#pragma once

#include "lance_arrow/variable.hpp"

namespace lance_arrow {

// Values in memory as Arrow has them: offsets[0] is the base, the bytes of value 0 begin at data[0].
template <class In>
struct PlainValues {
  const uint8_t* offsets;
  int64_t num_values;

  // Bytes before value `value`.
  int64_t before(int64_t value) const { return static_cast<int64_t>(load<In>(offsets, value) - load<In>(offsets, 0)); }
};

template <class In>
Outcome open_values(const StoredOffsets& stored, int64_t data_bytes, PlainValues<In>* values) {
  constexpr int64_t width = sizeof(In);
  if (stored.num_bytes < width || stored.num_bytes % width != 0)
    return misuse("offsets are not a positive whole number of words");
  *values = {stored.bytes, stored.num_bytes / width - 1};
  if (!ascending<In>(stored.bytes, values->num_values)) return misuse("offsets descend");
  const uint64_t total = load<In>(stored.bytes, values->num_values) - load<In>(stored.bytes, 0);
  return total <= static_cast<uint64_t>(data_bytes) ? success() : misuse("offsets leave the data");
}

}  // namespace lance_arrow
