// Where few rows of a page probably lie, before its index is there: rows of most pages take about the same bytes.
//
// A guess is fetched together with the index. A wrong one costs its bytes, and a request for the right ones afterwards.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace lance_arrow::engine {

struct GuessedRows {
  static constexpr size_t kMostRuns = 4;
  static constexpr int64_t kAround = 16 << 10;  // more bytes on both sides
  static constexpr int64_t kMostBytes = 256 << 10;  // else the index comes first

  size_t count = 0;
  std::array<int64_t, kMostRuns> starts{}, stops{};

  // Guesses for runs of rows, of a page with `num_rows` rows in `data_bytes`; nothing where there are many.
  template <class Runs>
  static GuessedRows of(const Runs& rows, int64_t run, int64_t first_row, int64_t num_rows, int64_t data_bytes) {
    GuessedRows made;
    const double row_bytes = static_cast<double>(data_bytes) / static_cast<double>(std::max<int64_t>(num_rows, 1));
    const auto place = [&](int64_t row) {
      return static_cast<int64_t>(row_bytes * static_cast<double>(std::clamp<int64_t>(row - first_row, 0, num_rows)));
    };
    int64_t num_bytes = 0;
    for (; run < rows.num_runs && rows.starts[run] < first_row + num_rows; ++run) {
      const int64_t start = std::max<int64_t>(place(rows.starts[run]) - kAround, 0);
      const int64_t stop = std::min(place(rows.stops[run]) + kAround, data_bytes);
      num_bytes += stop - start;
      if (made.count == kMostRuns || num_bytes > kMostBytes) return {};
      made.starts[made.count] = start;
      made.stops[made.count++] = stop;
    }
    return made;
  }
};

}  // namespace lance_arrow::engine
