// Pages whose structure is kept as positions: which slots are null, and which lists hold items (spec 11).
#pragma once

#include "engine/arrays/slots.hpp"
#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

// Whether the slots of layers ascend, each list that is named holds items, and all of them lie in their layer: that of
// num_rows, or of the items of the lists outside. The inner-most one has at most num_values.
Outcome check_slot_layers(const std::vector<SlotLayer>& layers, int64_t num_rows, int64_t num_values);

// `layers` are inner-most first, without runs, and checked; the first one is no list. `lengths_per_row` are rows that
// the page counts for one slot of the outer-most layer: as many as it has structs, where it is a fixed-size list of
// these. `values` has a row for each slot of the leaf, and levels that are not looked at. Both outlive the page, which
// the caller owns.
Page* new_sparse_page(const std::vector<SlotLayer>& layers, int64_t lengths_per_row, const Page* values);

// The kinds of its layers for `Page::layers`: any item may be null, and any list null or empty.
std::vector<uint8_t> sparse_layer_kinds(const std::vector<SlotLayer>& layers);

}  // namespace lance_arrow::engine
