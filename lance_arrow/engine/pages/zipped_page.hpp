// Full-zip pages in the engine: rows are cut out of the stream, then split into levels and places of values.
#pragma once

#include "engine/decode/interleave.hpp"
#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

struct StreamForm {
  ZipForm zip;
  int max_rep = 0, max_def = 0;
  int64_t num_entries = 0, num_values = 0;  // of the whole page
  const LaValueCodec* values = nullptr;
  const LaStoredValues* stored = nullptr;  // null: none is stored as it is, or all are
};

// row_starts: (num_rows + 1,) in the stream, null where every row has row_bytes. The caller owns the page.
Page* new_zipped_page(const StreamForm& form, const int64_t* row_starts, int64_t row_bytes);

}  // namespace lance_arrow::engine
