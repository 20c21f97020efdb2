// The values of a leaf as encoders take them: nulls to levels, and nothing under nulls.
#pragma once

#include <vector>

#include "engine/encode/leaves/leaf_levels.hpp"
#include "lance_arrow/block_facts.hpp"

namespace lance_arrow::engine {

// Whether the offsets of some slots of an array of byte strings go back.
bool offsets_go_back(const ArrowArray& array, SlotRange slots, int64_t offset_bits);

// Bytes of byte strings with `offset_bits`, their offsets included.
int64_t string_bytes(const ArrowArray& array, SlotRange slots, int64_t offset_bits);

// Used again from leaf to leaf, so that memory is allocated once.
class LeafValues {
 public:
  // Values of one width, or (`bits` is 0) byte strings with ascending offsets of `offset_bits`. They may stay where
  // they are in Arrow's memory.
  Outcome open(const std::vector<LeafRows>& parts, const std::vector<PathStep>& path, int64_t bits,
               int64_t offset_bits);

  const LaBlock& block() const { return facts_.block; }
  const LeafLevels& levels() const { return levels_; }
  int64_t present_bytes() const { return static_cast<int64_t>(present_.size()); }
  // Of each value 0 if it is not null; NULL without nulls. Without lists these are the definition levels.
  const uint16_t* value_levels() const;

  bool is_text() const;

 private:
  using Run = LeafLevels::Run;

  bool is_null(int64_t value) const { return (present_[static_cast<size_t>(value / 8)] >> (value % 8) & 1) == 0; }
  Outcome open_nulls();
  const uint8_t* open_fixed(int64_t bits);
  template <class Offset>
  const uint8_t* open_strings();

  FactsOfBlock facts_;
  LeafLevels levels_;
  int64_t num_nulls_ = 0;
  std::vector<uint16_t> value_levels_;  // with lists
  std::vector<uint8_t> present_, copy_;
  std::vector<int64_t> offsets_;
};

}  // namespace lance_arrow::engine
