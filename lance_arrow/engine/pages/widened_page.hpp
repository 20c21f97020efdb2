// Pages of lists of one length that say different things of their items' nulls, as if each had all bitmaps.
#pragma once

#include <memory>
#include <vector>

#include "engine/plan/leaf_reader.hpp"

namespace lance_arrow::engine {

// A page whose values are rows of all `parts`, made of one that lacks some bitmaps; both have the same items. The page
// outlives it.
std::unique_ptr<Page> new_widened_page(const Page* page, const std::vector<int64_t>& parts);

// Makes the values of all pages of a leaf the same bits, where only bitmaps of some differ: `made` owns the pages that
// take the place of these. `list_parts` are the bits of each part, were there all bitmaps. False where values differ
// otherwise.
bool unite_values(const std::vector<int64_t>& list_parts, std::vector<PageRef>* pages,
                  std::vector<std::unique_ptr<Page>>* made);

}  // namespace lance_arrow::engine
