// Pages of lists whose items lie in another column: the end of each list, as in files of 2.0.
#pragma once

#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

// Bits of a "value" of such pages: no leaf has them.
constexpr int64_t kListEnds = -2;

// A page with `num_items` items, which are counted from its first. The ends of null lists have `null_adjustment` added;
// 0: none is null. The caller owns it.
Page* new_list_page(uint64_t null_adjustment, int64_t num_items);

}  // namespace lance_arrow::engine
