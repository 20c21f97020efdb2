// Pages of fixed-size lists that are stored item by item: each item repeats the levels of its list.
#pragma once

#include <vector>

#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

struct FlattenedForm {
  int64_t items_per_list = 0;
  int own_levels = 0;  // definition levels of items and of lists inside the outer-most; higher ones are the list's
  // Outer-most first, of each layer inside: the bits of its bitmap, or 0, and from which level on its slots are null.
  std::vector<int64_t> bitmap_bits, null_levels;
  int64_t item_bits = 0;  // of all items of a list
};

// `items` has a row for each item, and its index already. It outlives the page, which the caller owns.
Page* new_flattened_page(const FlattenedForm& form, const Page* items);

}  // namespace lance_arrow::engine
