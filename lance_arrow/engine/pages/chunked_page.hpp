// Mini-block pages: chunks whose places a page reads before it reads them.
#pragma once

#include "engine/plan/dictionary_items.hpp"
#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

struct ChunkForm {
  bool large = false;
  const LaChunkCodec* values = nullptr;
  const LaChunkCodec* rep = nullptr;  // null: no such stream
  const LaChunkCodec* def = nullptr;
  int max_rep = 0, max_def = 0, max_visible = 0;
  bool has_items = false;
  bool keeps_items = false;  // values are the indices, and the items come beside them
  Items items;
};

// What a page must know to find its chunks, and its dictionary, by itself.
struct ChunkIndexForm {
  int64_t num_values = 0;
  const LaChunkCodec* items = nullptr;  // null: no dictionary
  int64_t num_items = 0;
  int64_t most_item_bytes = 0;
};

// A page that reads its tables when its rows are first needed. Buffer 0 has the sizes of chunks, buffer 2 the
// dictionary, if there is one. The last buffer has the rows of chunks, if there are lists. The caller owns the page;
// the codecs outlive it.
Page* new_chunked_page(const ChunkForm& form, const ChunkIndexForm& index);

}  // namespace lance_arrow::engine
