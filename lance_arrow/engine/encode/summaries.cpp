#include "engine/encode/summaries.hpp"

#include <bit>

namespace lance_arrow::engine {

namespace {

// A group's values or-ed together have the width of its largest. Changes are counted in words of T, which vectorise,
// over so few values that the smallest T cannot overflow. `before` is the value before the first one.
template <class T>
void measure_group(const uint8_t* values, int64_t num_values, T before, int64_t* bits, int64_t* changes) {
  constexpr int64_t stride = 128;
  T any = num_values > 0 ? load<T>(values, 0) : T{0};
  int64_t total = num_values > 0 && any != before;
  for (int64_t start = 1; start < num_values; start += stride) {
    const int64_t stop = start + stride < num_values ? start + stride : num_values;
    T found = 0;
    for (int64_t value = start; value < stop; ++value) {
      const T here = load<T>(values, value);
      any |= here;
      found = static_cast<T>(found + (here != load<T>(values, value - 1)));
    }
    total += static_cast<int64_t>(found);
  }
  *bits = std::bit_width(any);
  *changes = total;
}

template <class T>
Outcome measure_groups_as(const Parts& groups, int64_t* out_bits, int64_t* out_changes) {
  return for_each_part(groups, sizeof(T), [&](const Part& group) {
    const uint8_t* values = groups.values + group.first_value * static_cast<int64_t>(sizeof(T));
    T before = 0;
    if (group.num_values > 0) before = load<T>(values, group.first_value > 0 ? -1 : 0);
    measure_group<T>(values, group.num_values, before, out_bits + group.index, out_changes + group.index);
    return success();
  });
}

}  // namespace

Outcome measure_groups(const Parts& groups, int word_bits, int64_t* out_bits, int64_t* out_changes) {
  switch (word_bits) {
    case 8: return measure_groups_as<uint8_t>(groups, out_bits, out_changes);
    case 16: return measure_groups_as<uint16_t>(groups, out_bits, out_changes);
    case 32: return measure_groups_as<uint32_t>(groups, out_bits, out_changes);
    case 64: return measure_groups_as<uint64_t>(groups, out_bits, out_changes);
    default: return misuse("word_bits is none of 8, 16, 32, 64");
  }
}

Outcome all_equal(const uint8_t* values, int64_t num_bytes, int64_t width, bool* equal) {
  if (width < 1) return misuse("bytes_per_value is not positive");
  if (num_bytes % width != 0) return misuse("the bytes are not a whole number of values");
  *equal = num_bytes <= width || std::memcmp(values, values + width, static_cast<size_t>(num_bytes - width)) == 0;
  return success();
}

}  // namespace lance_arrow::engine
