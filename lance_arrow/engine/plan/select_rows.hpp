// From selected rows to the level entries and values that belong to them, with the repetition index put to the test.
#pragma once

#include <bit>

#include "engine/plan/level_masks.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

// Chunks in page order, not necessarily neighbours. Rows are numbered within the page. A row belongs to the chunk in
// which it starts. Entries of a chunk before its first row continue a row of the previous chunk.
struct ChunkRows {
  const int64_t* level_starts;  // (num_chunks + 1,) in the levels
  const int64_t* value_starts;  // (num_chunks + 1,) in the values
  const int64_t* first_rows;
  const int64_t* num_rows;
  int64_t num_chunks;
};

struct RowRuns {
  const int64_t* starts;
  const int64_t* stops;
  int64_t num_runs;
};

struct RunPlaces {
  int64_t* level_starts;
  int64_t* level_stops;
  int64_t* value_starts;
  int64_t* value_stops;
};

class RowSelector {
 public:
  RowSelector(const LevelStreams& streams, int max_rep, int max_visible, const RowRuns& runs, const RunPlaces& places)
      : streams_(streams),
        below_row_(static_cast<uint16_t>(max_rep - 1)),
        max_visible_(static_cast<uint16_t>(max_visible)),
        runs_(runs),
        places_(places) {}

  Outcome chunk(const ChunkRows& chunks, int64_t index) {
    const int64_t start = chunks.level_starts[index];
    const int64_t stop = chunks.level_starts[index + 1];
    const int64_t first_row = chunks.first_rows[index];
    const int64_t num_rows = chunks.num_rows[index];
    if (start < 0 || stop < start || stop > streams_.num_entries) return misuse("level_starts leave the levels", index);
    if (first_row < next_row_ || num_rows < 0) return misuse("the chunks are not in row order", index);
    if (find_above(streams_.rep, start, stop, static_cast<uint16_t>(below_row_ + 1)) >= 0)
      return corrupt("a repetition level is above the number of lists", index);
    if (stop - start - count_at_most(streams_.rep, start, stop, below_row_) != num_rows)
      return corrupt("the rows of a chunk contradict the repetition index", index);
    if (visible(start, stop) != chunks.value_starts[index + 1] - chunks.value_starts[index])
      return corrupt("the numbers of visible levels and values of a chunk differ", index);
    if (open_ && first_row != next_row_ && !end_at(next_row_, chunk_stop_, value_stop_))
      return misuse("a run is not covered by the chunks", run_);
    const Outcome outcome = boundaries(start, stop, chunks.value_starts[index], first_row, first_row + num_rows);
    next_row_ = first_row + num_rows;
    chunk_stop_ = stop;
    value_stop_ = chunks.value_starts[index + 1];
    return outcome;
  }

  Outcome finish() {
    if (open_ && !end_at(next_row_, chunk_stop_, value_stop_))
      return misuse("a run is not covered by the chunks", run_);
    return run_ == runs_.num_runs ? success() : misuse("a run is not covered by the chunks", run_);
  }

 private:
  int64_t visible(int64_t start, int64_t stop) const {
    return streams_.def == nullptr ? stop - start : count_at_most(streams_.def, start, stop, max_visible_);
  }

  bool end_at(int64_t row, int64_t level, int64_t value) {
    if (runs_.stops[run_] != row) return false;
    places_.level_stops[run_] = level;
    places_.value_stops[run_] = value;
    open_ = false;
    ++run_;
    return true;
  }

  // Entry at which the row `skip` rows after the next row start begins; it exists.
  int64_t row_start(int64_t from, int64_t stop, int64_t skip) const {
    int64_t found = stop;
    for_each_mask(streams_.rep, from, stop, below_row_, [&](uint64_t mask, uint64_t live, int64_t start) {
      uint64_t rows = ~mask & live;
      const int64_t count = std::popcount(rows);
      if (skip >= count) {
        skip -= count;
        return true;
      }
      for (; skip > 0; --skip) rows &= rows - 1;
      found = start + std::countr_zero(rows);
      return false;
    });
    return found;
  }

  // Finds the first and last entries of runs that begin or end at rows row .. stop_row, which start in start .. stop.
  Outcome boundaries(int64_t start, int64_t stop, int64_t value, int64_t row, int64_t stop_row) {
    while (run_ < runs_.num_runs) {
      const int64_t wanted = open_ ? runs_.stops[run_] : runs_.starts[run_];
      if (open_ ? wanted <= runs_.starts[run_] : (run_ > 0 && wanted < runs_.stops[run_ - 1]))
        return misuse("the runs are not sorted, disjoint and full", run_);
      if (wanted >= stop_row) return success();
      if (wanted < row) return misuse("a run is not covered by the chunks", run_);
      const int64_t found = row_start(start, stop, wanted - row);
      value += visible(start, found);
      start = found;
      row = wanted;
      if (open_) {
        end_at(wanted, start, value);
      } else {
        places_.level_starts[run_] = start;
        places_.value_starts[run_] = value;
        open_ = true;
      }
    }
    return success();
  }

  const LevelStreams& streams_;
  uint16_t below_row_;
  uint16_t max_visible_;
  RowRuns runs_;
  RunPlaces places_;
  int64_t run_ = 0;
  bool open_ = false;  // the run's start is found, its stop is not
  int64_t next_row_ = 0;
  int64_t chunk_stop_ = 0;
  int64_t value_stop_ = 0;
};

inline Outcome select_rows(const LevelStreams& streams, int max_rep, int max_visible, const ChunkRows& chunks,
                           const RowRuns& runs, const RunPlaces& places) {
  if (max_rep < 1 || max_rep > 0xFFFF || max_visible < 0 || max_visible > 0xFFFF)
    return misuse("rows are selected by repetition levels of at least one list");
  RowSelector selector(streams, max_rep, max_visible, runs, places);
  for (int64_t index = 0; index < chunks.num_chunks; ++index) {
    const Outcome outcome = selector.chunk(chunks, index);
    if (outcome.message != nullptr) return outcome;
  }
  return selector.finish();
}

// Verifies the repetition index at the borders of chunks. `left_before` and `left_after` are the level entries of an
// unfinished row at the end of the chunk before, and of the chunk, by the index. 0: a row ends with the chunk.
Outcome check_open_rows(const uint16_t* rep, int64_t num_entries, int max_rep, const int64_t* level_starts,
                        const int64_t* left_before, const int64_t* left_after, int64_t num_chunks);
Outcome count_rows_and_values(const LevelStreams& streams, int max_rep, int max_visible, int64_t* rows,
                              int64_t* values);

}  // namespace lance_arrow::engine
