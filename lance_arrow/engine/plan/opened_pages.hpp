// Pages of one leaf of one file, and which of them hold rows.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/plan/leaf_reader.hpp"

namespace lance_arrow::engine {

class OpenedPages {
 public:
  OpenedPages() = default;
  // First row of each page, and the number of rows.
  explicit OpenedPages(std::vector<int64_t> row_starts)
      : row_starts_(std::move(row_starts)), pages_(row_starts_.empty() ? 0 : row_starts_.size() - 1) {}

  // False where the page is none of these, or was opened before.
  bool open(const PageRef& page) {
    const size_t number = page_of(page.first_row);
    if (number >= pages_.size() || row_starts_[number] != page.first_row || pages_[number].page != nullptr)
      return false;
    pages_[number] = page;
    return true;
  }

  // Appends the pages that hold some of the rows; false where one of them is not open, or rows lie outside.
  bool select(const LaRuns& rows, std::vector<PageRef>* out) const {
    for (int64_t run = 0; run < rows.num_runs;) {
      const int64_t row = rows.starts[run];
      auto number =
          static_cast<size_t>(std::upper_bound(row_starts_.begin(), row_starts_.end(), row) - row_starts_.begin());
      // A page for each turn; a run of several pages goes on in those behind.
      for (;; ++number) {
        if (number == 0 || number > pages_.size()) return false;
        const int64_t stop = row_starts_[number];
        if (row_starts_[number - 1] == stop) continue;
        if (pages_[number - 1].page == nullptr) return false;
        out->push_back(pages_[number - 1]);
        run = std::upper_bound(rows.stops + run, rows.stops + rows.num_runs, stop) - rows.stops;
        if (run == rows.num_runs || rows.starts[run] >= stop) break;
      }
    }
    return true;
  }

  int64_t nbytes() const { return static_cast<int64_t>(row_starts_.size() * (sizeof(int64_t) + sizeof(PageRef))); }

 private:
  // The last page that begins at or before a row; beyond all pages where there is none.
  size_t page_of(int64_t row) const {
    return static_cast<size_t>(std::upper_bound(row_starts_.begin(), row_starts_.end(), row) - row_starts_.begin()) - 1;
  }

  std::vector<int64_t> row_starts_;
  std::vector<PageRef> pages_;
};

}  // namespace lance_arrow::engine
