// Pages that store values of valid slots alone: each slot gets one.
#pragma once

#include "engine/arrays/slots.hpp"
#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

// `slots` tells which of the page's rows are null: its positions ascend and lie below their number, and `stored` has a
// row, without levels, for each of the others. Values of nulls are zeros, or empty. Both outlive the page, which the
// caller owns.
Page* new_spread_page(const SlotLayer& slots, const Page* stored);

}  // namespace lance_arrow::engine
