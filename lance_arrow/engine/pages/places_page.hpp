// Pages of places in the engine: position and size of each value, told by another page, and the nulls among them.
#pragma once

#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

constexpr int64_t kPlaceBits = 128;

// `inner` outlives this page; `highest` is the largest definition level of this page's own layers. The caller owns it.
Page* new_places_page(const Page* inner, int highest);

}  // namespace lance_arrow::engine
