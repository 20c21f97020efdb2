// Full-zip pages in the engine: rows are cut out of the stream, then split into levels and places of values.
#pragma once

#include "engine/decode/interleave.hpp"
#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

struct StreamForm {
  ZipForm zip;
  int max_rep = 0, max_def = 0;
  int64_t num_entries = 0, num_values = 0;  // of the whole page; -1 where that is not told
  const LaValueCodec* values = nullptr;
  const LaStoredValues* stored = nullptr;  // null: none is stored as it is, or all are
};

// row_bytes: of every row; -1 where rows differ, and the page reads from its buffer 1 where each begins. The caller
// owns the page.
Page* new_zipped_page(const StreamForm& form, int64_t row_bytes);

}  // namespace lance_arrow::engine
