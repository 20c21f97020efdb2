// Run-length encoding: parts of values of 1, 2, 4 or 8 bytes to runs of at most 255 (spec 5.7).
#pragma once

#include <bit>

#include "lance_arrow/outcome.hpp"
#include "lance_arrow/parts.hpp"

namespace lance_arrow::codecs {

// First position from `at` on with a value other than `value`. Eight bytes are compared with copies of the value at
// once. The lowest set bit of the difference is the position, so short runs cost no mispredicted branch.
template <class Value>
int64_t run_stop(const uint8_t* values, int64_t at, int64_t num_values, Value value) {
  constexpr int64_t stride = 8 / sizeof(Value);
  constexpr uint64_t ones = ~uint64_t{0} / static_cast<Value>(~Value{0});
  const uint64_t copies = static_cast<uint64_t>(value) * ones;
  for (; at + stride <= num_values; at += stride) {
    const uint64_t different = load<uint64_t>(values + at * static_cast<int64_t>(sizeof(Value)), 0) ^ copies;
    if (different != 0) return at + std::countr_zero(different) / static_cast<int>(8 * sizeof(Value));
  }
  while (at < num_values && load<Value>(values, at) == value) ++at;
  return at;
}

// Calls visit(value, length) for each run of equal values, however long.
template <class Value, class Visit>
void for_each_run(const uint8_t* values, int64_t num_values, Visit&& visit) {
  for (int64_t start = 0; start < num_values;) {
    const Value value = load<Value>(values, start);
    const int64_t stop = run_stop<Value>(values, start + 1, num_values, value);
    visit(value, stop - start);
    start = stop;
  }
}

Outcome count_run_entries(const Parts& parts, int64_t width, int64_t* out_counts);

// Run values and run lengths of all parts, each one after another; out_counts is the entries of each part.
Outcome encode_runs(const Parts& parts, int64_t width, uint8_t* out_values, uint8_t* out_lengths, int64_t room,
                    int64_t* out_counts, int64_t* total);

// Each part as a block: the bytes of its run values, the run values, then the run lengths.
Outcome encode_run_blocks(const Parts& parts, int64_t width, int64_t* out_sizes, uint8_t* out, int64_t out_bytes,
                          int64_t* total);

}  // namespace lance_arrow::codecs
