// Lists above a leaf whose ends have columns of their own: from rows to the leaf's values, list by list.
#pragma once

#include <memory>
#include <vector>

#include "engine/plan/leaf_reader.hpp"

namespace lance_arrow::engine {

// Pages of each column of lists above a leaf, outer-most first.
using ListPages = std::vector<std::vector<PageRef>>;

// What was read of such columns, in the same order: lists are values with ends, and levels where they are null.
// Leaves beside each other share them.
using ListParts = std::vector<std::shared_ptr<LeafPart>>;

// How many columns two leaves have in common.
size_t num_shared(const ListPages& left, const ListPages& right);

// Reads the lists of some rows, but those that `out` has already. `values` are those of the leaf then, which lie in the
// last of the parts.
Outcome read_lists(const ListPages& lists, const Reader& reader, const LaRuns& rows, int64_t limit, ListParts* out,
                   LaRuns* values, ReadCount* count);

// As `want_leaf`, of a leaf below lists: what is known of the outer-most column that misses some bytes.
Outcome want_below_lists(const ListPages& lists, const std::vector<PageRef>& pages, const Reader& reader,
                         const LaRuns& rows, int64_t limit, Wanted* out);

}  // namespace lance_arrow::engine
