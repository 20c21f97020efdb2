// A block with the facts that encoders choose by, and who owns the numbers of its groups.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "lance_arrow/parts.hpp"
#include "lance_arrow_native.h"

namespace lance_arrow {

// Bytes of the values without encoding, offsets included.
inline int64_t raw_bytes(const LaBlock& block) {
  return block.num_bytes + (block.bits == 0 ? (block.num_values + 1) * (block.offset_bits / 8) : 0);
}

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

// Bits of the largest value of each group, and changes of value within it and before it.
inline Outcome measure_groups(const Parts& groups, int word_bits, int64_t* out_bits, int64_t* out_changes) {
  switch (word_bits) {
    case 8: return measure_groups_as<uint8_t>(groups, out_bits, out_changes);
    case 16: return measure_groups_as<uint16_t>(groups, out_bits, out_changes);
    case 32: return measure_groups_as<uint32_t>(groups, out_bits, out_changes);
    case 64: return measure_groups_as<uint64_t>(groups, out_bits, out_changes);
    default: return misuse("word_bits is none of 8, 16, 32, 64");
  }
}

class FactsOfBlock {
 public:
  LaBlock block{};

  // Values of fixed width, without nulls until they are set; single bits begin with a byte. Used again, block by block.
  Outcome set(const uint8_t* values, int64_t bits, int64_t num_values);

  // Byte strings: `offsets` has num_values + 1 that ascend from 0.
  void set_strings(const uint8_t* values, const int64_t* offsets, int64_t offset_bits, int64_t num_values);

 private:
  std::vector<int64_t> starts_, group_bits_, changes_;
};

inline Outcome FactsOfBlock::set(const uint8_t* values, int64_t bits, int64_t num_values) {
  constexpr int64_t group_values = 1024;
  block = {};
  block.bits = bits;
  block.num_values = num_values;
  block.values = values;
  block.num_bytes = (bits * num_values + 7) / 8;
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return success();
  const int64_t num_groups = std::max<int64_t>((num_values + group_values - 1) / group_values, 1);
  starts_.resize(static_cast<size_t>(num_groups) + 1);
  group_bits_.resize(static_cast<size_t>(num_groups));
  changes_.resize(static_cast<size_t>(num_groups));
  for (int64_t group = 0; group <= num_groups; ++group)
    starts_[static_cast<size_t>(group)] = std::min(group * group_values, num_values);
  const Parts groups{values, block.num_bytes, starts_.data(), num_groups};
  const Outcome outcome = measure_groups(groups, static_cast<int>(bits), group_bits_.data(), changes_.data());
  if (outcome.message != nullptr) return outcome;
  block.num_groups = num_groups;
  block.group_bits = group_bits_.data();
  block.num_runs = num_values > 0;
  for (size_t group = 0; group < group_bits_.size(); ++group) {
    block.total_bits += group_bits_[group];
    block.max_bits = std::max(block.max_bits, group_bits_[group]);
    block.num_runs += changes_[group];
  }
  return success();
}

inline void FactsOfBlock::set_strings(const uint8_t* values, const int64_t* offsets, int64_t offset_bits,
                                      int64_t num_values) {
  block = {};
  block.num_values = num_values;
  block.values = values;
  block.num_bytes = offsets[num_values];
  block.offsets = offsets;
  block.offset_bits = offset_bits;
  for (int64_t value = 0; value < num_values; ++value)
    block.max_value_bytes = std::max(block.max_value_bytes, offsets[value + 1] - offsets[value]);
}

}  // namespace lance_arrow
