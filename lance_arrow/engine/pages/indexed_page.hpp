// Pages of 2.0 whose values are indices into items of the same page.
#pragma once

#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

struct IndexedForm {
  const Page* indices;  // integers of whole bytes
  const Page* items;
  int64_t num_items;
  int item_buffers[3];  // numbers of the buffers that the page of items reads, or -1
  bool keeps_items;  // whether values are the indices, which count items from 0; else index 0 is null, and k item k - 1
  int64_t most_item_bytes;
};

// Both pages outlive it, and the caller owns it. Its rows lie where those of `indices` do.
Page* new_indexed_page(const IndexedForm& form);

}  // namespace lance_arrow::engine
