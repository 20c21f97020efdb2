#include "engine/encode/block_facts.hpp"

#include <algorithm>

#include "engine/encode/summaries.hpp"

namespace lance_arrow::engine {

Outcome FactsOfBlock::set(const uint8_t* values, int64_t bits, int64_t num_values) {
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

void FactsOfBlock::set_strings(const uint8_t* values, const int64_t* offsets, int64_t offset_bits, int64_t num_values) {
  block = {};
  block.num_values = num_values;
  block.values = values;
  block.num_bytes = offsets[num_values];
  block.offsets = offsets;
  block.offset_bits = offset_bits;
  for (int64_t value = 0; value < num_values; ++value)
    block.max_value_bytes = std::max(block.max_value_bytes, offsets[value + 1] - offsets[value]);
}

}  // namespace lance_arrow::engine
