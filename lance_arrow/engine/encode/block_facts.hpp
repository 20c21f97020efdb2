// A block with the facts that encoders choose by, and who owns the numbers of its groups.
#pragma once

#include <vector>

#include "lance_arrow/outcome.hpp"
#include "lance_arrow_native.h"

namespace lance_arrow::engine {

// Bytes of the values without encoding, offsets included.
inline int64_t raw_bytes(const LaBlock& block) {
  return block.num_bytes + (block.bits == 0 ? (block.num_values + 1) * (block.offset_bits / 8) : 0);
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

}  // namespace lance_arrow::engine
