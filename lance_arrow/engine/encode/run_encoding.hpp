// Run-length encoding: parts of values of 1, 2, 4 or 8 bytes to runs of at most 255 (spec 5.7).
#pragma once

#include <bit>

#include "engine/common/parts.hpp"
#include "engine/decode/runs.hpp"

namespace lance_arrow::kernels {

inline constexpr int64_t kLongestRun = 255;

// First place from `at` on whose value is another than `value`. Eight bytes are compared with copies of the value at
// once; in what differs, the lowest set bit tells where, so that short runs cost no mispredicted branch.
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

template <class Value>
int64_t count_entries_of(const uint8_t* values, int64_t num_values) {
  int64_t entries = 0;
  for_each_run<Value>(values, num_values,
                      [&](Value, int64_t length) { entries += (length + kLongestRun - 1) / kLongestRun; });
  return entries;
}

inline Outcome count_run_entries(const Parts& parts, int64_t width, int64_t* out_counts) {
  return with_value_type(width, [&]<class Value>() {
    return for_each_part(parts, width, [&](const Part& part) {
      out_counts[part.index] = count_entries_of<Value>(parts.values + part.first_value * width, part.num_values);
      return success();
    });
  });
}

// Where the entries of a part go, and for how many there is room.
struct RunRoom {
  uint8_t* values;
  uint8_t* lengths;
  int64_t entries;
};

// Returns how many entries the part has, or -1 when they have no room.
template <class Value>
int64_t encode_part(const uint8_t* values, int64_t num_values, const RunRoom& room) {
  int64_t entry = 0;
  bool fits = true;
  for_each_run<Value>(values, num_values, [&](Value value, int64_t length) {
    for (; length > 0 && fits; length -= kLongestRun) {
      fits = entry < room.entries;
      if (fits) {
        store<Value>(room.values, entry, value);
        room.lengths[entry++] = static_cast<uint8_t>(length < kLongestRun ? length : kLongestRun);
      }
    }
  });
  return fits ? entry : -1;
}

// Run values and run lengths of all parts, each one after another; out_counts is the entries of each part.
inline Outcome encode_runs(const Parts& parts, int64_t width, uint8_t* out_values, uint8_t* out_lengths, int64_t room,
                           int64_t* out_counts, int64_t* total) {
  *total = 0;
  return with_value_type(width, [&]<class Value>() {
    return for_each_part(parts, width, [&](const Part& part) {
      const RunRoom rest{out_values + *total * width, out_lengths + *total, room - *total};
      const int64_t entries = encode_part<Value>(parts.values + part.first_value * width, part.num_values, rest);
      if (entries < 0) return misuse("the output is too small", part.index);
      out_counts[part.index] = entries;
      *total += entries;
      return success();
    });
  });
}

// Each part as a block: the bytes of its run values, the run values, then the run lengths.
inline Outcome encode_run_blocks(const Parts& parts, int64_t width, int64_t* out_sizes, uint8_t* out, int64_t out_bytes,
                                 int64_t* total) {
  constexpr int64_t header = 8;
  *total = 0;
  return with_value_type(width, [&]<class Value>() {
    return for_each_part(parts, width, [&](const Part& part) {
      const uint8_t* values = parts.values + part.first_value * width;
      const int64_t entries = count_entries_of<Value>(values, part.num_values);
      const int64_t size = header + entries * (width + 1);
      if (size > out_bytes - *total) return misuse("the output is too small", part.index);
      uint8_t* block = out + *total;
      store<uint64_t>(block, 0, static_cast<uint64_t>(entries * width));
      encode_part<Value>(values, part.num_values, {block + header, block + header + entries * width, entries});
      out_sizes[part.index] = size;
      *total += size;
      return success();
    });
  });
}

}  // namespace lance_arrow::kernels
