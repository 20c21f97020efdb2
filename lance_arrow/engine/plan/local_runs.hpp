// Runs of rows, cut to a part of them and counted from its first.
#pragma once

#include <algorithm>
#include <vector>

#include "lance_arrow/scratch.hpp"
#include "lance_arrow_native.h"

namespace lance_arrow::engine {

// Parts of runs that fall into one chunk, counted from its first value.
struct LocalRuns {
  std::vector<int64_t> starts, stops;
  int64_t count = 0;

  // Takes from runs (from `*run` on) what lies in first .. stop, counted from `base`; leaves `*run` at the first that
  // reaches beyond.
  void cut(const int64_t* run_starts, const int64_t* run_stops, int64_t num_runs, int64_t first, int64_t stop,
           int64_t base, int64_t* run) {
    starts.clear();
    stops.clear();
    // Numbers of their own: those of the callers could be among what is stored.
    int64_t at = *run, num_rows = 0;
    for (; at < num_runs && run_starts[at] < stop; ++at) {
      const int64_t begin = std::max(run_starts[at], first);
      const int64_t end = std::min(run_stops[at], stop);
      if (begin < end) {
        starts.push_back(begin - base);
        stops.push_back(end - base);
        num_rows += end - begin;
      }
      if (run_stops[at] > stop) break;
    }
    *run = at;
    count = num_rows;
  }
  LaRuns view() const { return {starts.data(), stops.data(), static_cast<int64_t>(starts.size())}; }
};

inline int64_t kept_bytes(const LocalRuns& runs) {
  return lance_arrow::kept_bytes(runs.starts) + lance_arrow::kept_bytes(runs.stops);
}

}  // namespace lance_arrow::engine
