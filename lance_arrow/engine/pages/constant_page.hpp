// Constant pages: one scalar for every valid value, or no valid values; levels tell the structure.
#pragma once

#include <string>

#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

struct ConstantForm {
  int64_t value_bits = 0;  // 0: variable width; kNoValues
  int offset_bits = 0;  // of values of variable width
  bool has_scalar = false;  // it is part of the description: a value's bytes, one for a single bit
  std::string scalar;
  const LaChunkCodec* rep = nullptr;  // null: levels are 16-bit words
  const LaChunkCodec* def = nullptr;
  int64_t num_rep = 0, num_def = 0;  // as described; 0 where words are not counted
  int max_rep = 0, max_def = 0, max_visible = 0;
  bool is_null_without_levels = false;
  int64_t most_level_bytes = 0;
};

// A page of so many buffers, which it reads when its rows are first needed: none, a scalar, two of levels, or all
// three.
Page* new_constant_page(const ConstantForm& form, size_t num_buffers);

}  // namespace lance_arrow::engine
