// Mini-block chunk words and chunk headers: many chunks per call, every place checked before it is written down.
//
// A word holds log2 of the chunk's values (low 4 bits) and its bytes / 8 - 1 (spec 3). A header holds the number of
// level entries, the sizes of existing level streams, and the sizes of the value buffers. Each part is padded to 8
// bytes, counted from the start of the chunk.
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

Outcome parse_chunk_words(const uint8_t* words, int64_t words_bytes, bool large, int64_t num_values, int64_t data_bytes,
                          int64_t* starts, int64_t num_starts, int64_t* value_starts, int64_t num_value_starts);

// Of each chunk and at the end, `num_chunks + 1`: rows that have started or finished before it, and level entries of an
// unfinished row.
struct RowsOut {
  int64_t* started;
  int64_t* finished;
  int64_t* left;
};
// The repetition index: per chunk, rows that finish in it, and entries of one that does not, 64 bits each.
Outcome parse_row_index(const uint8_t* index, int64_t index_bytes, int64_t num_chunks, int64_t num_rows,
                        const RowsOut& out);

struct HeaderForm {
  bool has_rep;
  bool has_def;
  int64_t num_buffers;
  bool large;
};

struct HeaderOut {
  int64_t* num_levels;
  int64_t* rep_starts;
  int64_t* rep_sizes;
  int64_t* def_starts;
  int64_t* def_sizes;
  int64_t* starts;  // buffer-major: starts[buffer * num_chunks + chunk]
  int64_t* sizes;
};
Outcome parse_header(const uint8_t* data, int64_t start, int64_t size, int64_t chunk, int64_t num_chunks,
                     const HeaderForm& form, const HeaderOut& out);
Outcome parse_chunk_headers(const uint8_t* data, int64_t data_bytes, const int64_t* chunk_starts,
                            const int64_t* chunk_stops, int64_t num_chunks, const HeaderForm& form,
                            const HeaderOut& out);

}  // namespace lance_arrow::engine
