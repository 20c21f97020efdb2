// The values of a leaf as encoders take them: nulls to levels, and nothing under nulls.
#pragma once

#include <vector>

#include "engine/encode/block_facts.hpp"
#include "engine/encode/leaves/leaf_levels.hpp"

namespace lance_arrow::engine {

// Whether the offsets of the first rows of an array of byte strings go back.
bool offsets_go_back(const ArrowArray& array, int64_t num_rows, int64_t offset_bits);

// Bytes of byte strings with `offset_bits`, rows `start` to `stop` of an array, their offsets included.
int64_t string_bytes(const ArrowArray& array, int64_t start, int64_t stop, int64_t offset_bits);

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

  bool is_text() const;

 private:
  bool is_null(int64_t row) const { return levels_.def()[static_cast<size_t>(row)] != 0; }
  const uint8_t* open_fixed(int64_t bits);
  template <class Offset>
  const uint8_t* open_strings();

  FactsOfBlock facts_;
  LeafLevels levels_;
  std::vector<uint8_t> present_, copy_;
  std::vector<int64_t> offsets_;
};

}  // namespace lance_arrow::engine
