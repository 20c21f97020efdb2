// Mini-block chunks put together: where each chunk's levels end, and headers, padding and buffers of many chunks at
// once.
//
// The mirror of chunk_tables.hpp: the same words, headers and paddings (spec 3).
#pragma once

#include <vector>

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

struct LevelCut {
  const uint16_t* rep;
  const uint16_t* def;  // may be null
  int64_t num_entries;
  int max_rep;
  int max_visible;
};

// Cuts entries into chunks: each ends with the entry of its last value, the last chunk takes the rest. For each chunk
// `index` gets the rows that finish in it and the entries after the last of them.
Outcome cut_levels(const LevelCut& levels, const int64_t* value_starts, int64_t num_chunks, int64_t* level_starts,
                   int64_t* index);

// One buffer of every chunk: the bytes of all chunks one after another.
struct ChunkPart {
  const uint8_t* bytes;
  int64_t num_bytes;
  const int64_t* sizes;  // of each chunk
  int64_t done;
};

struct ChunkWriting {
  const int64_t* num_levels;
  std::vector<ChunkPart> levels;  // rep, def: those that exist
  std::vector<ChunkPart> values;
  const int64_t* value_counts;
  int64_t num_chunks;
  bool large;
};

inline int64_t padded(int64_t size) { return (size + 7) & ~int64_t{7}; }

Outcome write_chunks(ChunkWriting& page, uint8_t* words, int64_t words_bytes, uint8_t* out, int64_t out_bytes);

}  // namespace lance_arrow::engine
