// Pages whose values are indices in memory, into items in memory: a layout has read both as its index.
#pragma once

#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

struct HeldForm {
  const uint8_t* indices;  // one for each row; those of nulls are below the number of items
  int64_t index_bytes;
  Items items;
  bool keeps_items;  // whether values are the indices
};

// What the form points to outlives it, and the caller owns it.
Page* new_held_page(const HeldForm& form);

}  // namespace lance_arrow::engine
