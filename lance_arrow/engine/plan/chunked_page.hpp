// Mini-block pages: chunks whose places are known before their bytes are read.
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
  Items items;
};

// Tables of (num_chunks + 1) entries; the last two are null without lists.
struct ChunkPlaces {
  const int64_t* chunk_starts;
  const int64_t* value_starts;
  const int64_t* rows_started;
  const int64_t* rows_finished;
  const int64_t* rows_left;  // level entries of an unfinished row before each chunk
  int64_t num_chunks;
};

// The caller owns it; what `form` and `places` point to outlives it.
Page* new_chunked_page(const ChunkForm& form, const ChunkPlaces& places);

}  // namespace lance_arrow::engine
