// Parts of a far file: those that were fetched, those that must be, and those where few rows probably lie.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "lance_arrow/variable.hpp"

namespace lance_arrow::engine {

// Fetched parts: sorted, disjoint, found by binary search, and read where they lie.
class Segments {
 public:
  // Bytes start .. start + size of the file, which outlive this object; what is there already stays as it is.
  void add(int64_t start, const uint8_t* bytes, int64_t size) {
    std::vector<Segment> fresh;
    each_missing(start, start + size,
                 [&](int64_t from, int64_t to) { fresh.push_back({from, to, bytes + (from - start)}); });
    if (fresh.empty()) return;
    const auto at = std::lower_bound(held_.begin(), held_.end(), fresh.front().start,
                                     [](const Segment& one, int64_t wanted) { return one.start < wanted; });
    const auto middle = held_.insert(at, fresh.begin(), fresh.end());
    // Pieces of one part may lie between older ones.
    if (fresh.size() > 1)
      std::sort(middle, held_.end(),
                [](const Segment& left, const Segment& right) { return left.start < right.start; });
  }

  // Calls visit(start, stop) for each part of a range that was not fetched, ascending.
  template <class Visit>
  void each_missing(int64_t start, int64_t stop, Visit&& visit) const {
    for (auto one = first_behind(start); start < stop; ++one) {
      const int64_t border = one == held_.end() ? stop : std::min(stop, one->start);
      if (start < border) visit(start, border);
      if (one == held_.end()) return;
      start = std::max(start, one->stop);
    }
  }

  // Where a range lies as a whole; null where it does not. `behind` are the bytes of its segment from there on.
  const uint8_t* find(int64_t start, int64_t size, int64_t* behind) const {
    const auto one = first_behind(start);
    if (one == held_.end() || one->start > start || size > one->stop - start) return nullptr;
    *behind = one->stop - start;
    return one->bytes + (start - one->start);
  }

  // Copies a range out of neighbours; false where a part of it was not fetched.
  bool copy(int64_t start, int64_t size, uint8_t* out) const {
    const int64_t stop = start + size;
    for (auto one = first_behind(start); start < stop; ++one) {
      if (one == held_.end() || one->start > start) return false;
      const int64_t count = std::min(stop, one->stop) - start;
      copy_bytes(out, one->bytes + (start - one->start), count);
      out += count;
      start += count;
    }
    return true;
  }

 private:
  struct Segment {
    int64_t start, stop;
    const uint8_t* bytes;
  };

  // The first segment that ends behind a place.
  std::vector<Segment>::const_iterator first_behind(int64_t place) const {
    return std::upper_bound(held_.begin(), held_.end(), place,
                            [](int64_t wanted, const Segment& one) { return wanted < one.stop; });
  }

  std::vector<Segment> held_;
};

// Ranges of the file that must be fetched, in any order; they may overlap.
struct Wanted {
  std::vector<int64_t> starts, stops;
  bool guesses = false;  // whether the probable bytes of few rows are listed with the index of their page

  void add(const Segments& held, int64_t start, int64_t size) {
    held.each_missing(start, start + size, [&](int64_t from, int64_t to) {
      starts.push_back(from);
      stops.push_back(to);
    });
  }
};

// Where few rows of a page probably lie, before its index is there: rows of most pages take about the same bytes.
//
// A guess is fetched together with the index. A wrong one costs its bytes, and a request for the right ones afterwards.
struct GuessedRows {
  static constexpr size_t kMostRuns = 4;
  static constexpr int64_t kAround = 16 << 10;  // more bytes on both sides, at most
  static constexpr int64_t kChunksAround = 2;  // where all chunks have about as many bytes
  static constexpr int64_t kMostBytes = 256 << 10;  // else the index comes first

  size_t count = 0;
  std::array<int64_t, kMostRuns> starts{}, stops{};

  // Guesses for runs of rows, of a page with `num_rows` rows in `data_bytes`; nothing where there are many.
  // `chunk_bytes`: as `Page::even_chunk_bytes`.
  template <class Runs>
  static GuessedRows of(const Runs& rows, int64_t run, int64_t first_row, int64_t num_rows, int64_t data_bytes,
                        int64_t chunk_bytes) {
    GuessedRows made;
    const int64_t around = chunk_bytes > 0 ? std::min(kChunksAround * chunk_bytes, kAround) : kAround;
    const double row_bytes = static_cast<double>(data_bytes) / static_cast<double>(std::max<int64_t>(num_rows, 1));
    const auto place = [&](int64_t row) {
      return static_cast<int64_t>(row_bytes * static_cast<double>(std::clamp<int64_t>(row - first_row, 0, num_rows)));
    };
    int64_t num_bytes = 0;
    for (; run < rows.num_runs && rows.starts[run] < first_row + num_rows; ++run) {
      const int64_t start = std::max<int64_t>(place(rows.starts[run]) - around, 0);
      const int64_t stop = std::min(place(rows.stops[run]) + around, data_bytes);
      num_bytes += stop - start;
      if (made.count == kMostRuns || num_bytes > kMostBytes) return {};
      made.starts[made.count] = start;
      made.stops[made.count++] = stop;
    }
    return made;
  }
};

}  // namespace lance_arrow::engine
