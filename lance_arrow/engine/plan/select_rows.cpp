#include "engine/plan/select_rows.hpp"

namespace lance_arrow::engine {

Outcome check_open_rows(const uint16_t* rep, int64_t num_entries, int max_rep, const int64_t* level_starts,
                        const int64_t* left_before, const int64_t* left_after, int64_t num_chunks) {
  if (max_rep < 1 || max_rep > 0xFFFF) return misuse("rows need repetition levels of at least one list");
  for (int64_t index = 0; index < num_chunks; ++index) {
    const int64_t start = level_starts[index];
    const int64_t stop = level_starts[index + 1];
    if (start < 0 || stop < start || stop > num_entries) return misuse("level_starts leave the levels", index);
    if (start == stop) return corrupt("a chunk has no levels", index);
    if ((rep[start] == max_rep) == (left_before[index] > 0))
      return corrupt("the start of a chunk contradicts the repetition index", index);
    if (left_after[index] == 0) continue;
    if (left_after[index] < 0 || left_after[index] > stop - start)
      return corrupt("a chunk leaves more entries of a row open than it has", index);
    // All of the chunk may lie inside a row; else what is left over begins with the last row that starts.
    const int64_t open = stop - left_after[index];
    const bool begins = rep[open] == max_rep || (open == start && left_before[index] > 0);
    if (!begins || count_at_most(rep, open + 1, stop, static_cast<uint16_t>(max_rep - 1)) != stop - open - 1)
      return corrupt("the unfinished row of a chunk contradicts the repetition index", index);
  }
  return success();
}

Outcome count_rows_and_values(const LevelStreams& streams, int max_rep, int max_visible, int64_t* rows,
                              int64_t* values) {
  if (max_rep < 0 || max_rep > 0xFFFF || max_visible < 0 || max_visible > 0xFFFF)
    return misuse("a bound is not a 16-bit level");
  *rows = *values = streams.num_entries;
  if (max_rep == 0) return success();
  const Outcome outcome = check_levels({streams.rep, nullptr, streams.num_entries}, max_rep, 0);
  if (outcome.message != nullptr) return outcome;
  *rows -= count_at_most(streams.rep, 0, streams.num_entries, static_cast<uint16_t>(max_rep - 1));
  if (streams.def != nullptr)
    *values = count_at_most(streams.def, 0, streams.num_entries, static_cast<uint16_t>(max_visible));
  return success();
}

}  // namespace lance_arrow::engine
