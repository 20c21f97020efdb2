// Variable-width values selected by index or by run: measured first, then copied into exact space.
#pragma once

#include "lance_arrow/outcome.hpp"
#include "lance_arrow/variable.hpp"

namespace lance_arrow::engine {

struct Span {
  int64_t start;
  int64_t size;  // -1: the offsets descend or leave the data
};

template <class Offset>
inline int64_t count_items(const StoredOffsets& offsets) {
  const int64_t num_offsets = offsets.num_bytes / static_cast<int64_t>(sizeof(Offset));
  return num_offsets > 0 ? num_offsets - 1 : 0;
}

Outcome measure_take_variable(const StoredOffsets& offsets, const uint8_t* indices, int64_t indices_bytes,
                              int index_bits, int64_t* total);
Outcome take_variable(const StoredOffsets& offsets, const uint8_t* data, int64_t data_bytes, const uint8_t* indices,
                      int64_t indices_bytes, int index_bits, const VariableOut& out);

// Calls visit(run, stored offsets, number of values, first byte, bytes) for each run that is not empty, after checking
// its offsets.
template <class Offset, class Visit>
Outcome for_each_run(const StoredOffsets& offsets, int64_t data_bytes, const int64_t* run_starts,
                     const int64_t* run_stops, int64_t num_runs, Visit&& visit) {
  const int64_t num_items = count_items<Offset>(offsets);
  for (int64_t run = 0; run < num_runs; ++run) {
    const int64_t start = run_starts[run];
    const int64_t stop = run_stops[run];
    if (start < 0 || stop < start || stop > num_items) return misuse("a run leaves the source", run);
    if (start == stop) continue;
    const uint8_t* stored = offsets.bytes + start * static_cast<int64_t>(sizeof(Offset));
    const Offset first = load<Offset>(stored, 0);
    const Offset last = load<Offset>(stored, stop - start);
    if (!ascending<Offset>(stored, stop - start) || static_cast<uint64_t>(last) > static_cast<uint64_t>(data_bytes))
      return corrupt("the offsets of a run are wrong", run);
    const Outcome outcome =
        visit(run, stored, stop - start, static_cast<int64_t>(first), static_cast<int64_t>(last - first));
    if (outcome.message != nullptr) return outcome;
  }
  return success();
}

Outcome measure_take_runs_variable(const StoredOffsets& offsets, const int64_t* run_starts, const int64_t* run_stops,
                                   int64_t num_runs, int64_t* total);
Outcome take_runs_variable(const StoredOffsets& offsets, const uint8_t* data, int64_t data_bytes,
                           const int64_t* run_starts, const int64_t* run_stops, int64_t num_runs,
                           const VariableOut& out);

}  // namespace lance_arrow::engine
