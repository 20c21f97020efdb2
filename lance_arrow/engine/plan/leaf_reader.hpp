// The engine: rows of one leaf, page by page: plan, read, open; then levels to offsets and validity, values to Arrow.
//
// Bytes are read in small batches into memory that stays in the cache and is used again; a batch is opened at once.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/plan/pages.hpp"
#include "engine/plan/reader.hpp"
#include "engine/plan/selection_bitmap.hpp"

namespace lance_arrow::engine {

// A page of the leaf and where its rows and its data buffers lie.
struct PageRef {
  const Page* page;
  int64_t first_row;
  int64_t data_start;  // in the file
  int64_t data_bytes;
  int64_t second_start = 0;
  int64_t second_bytes = 0;
  int64_t third_start = 0;
  int64_t third_bytes = 0;
  int64_t first_item = 0;  // of lists: of the column of items, where those of the page begin
  PageBuffers buffers;  // of a page that is not indexed yet

  // Where the buffer of a range begins in the file.
  int64_t base_of(const Ranges& ranges, size_t range) const {
    return range < ranges.second ? data_start : range < ranges.third ? second_start : third_start;
  }
  int64_t size_of(const Ranges& ranges, size_t range) const {
    return range < ranges.second ? data_bytes : range < ranges.third ? second_bytes : third_bytes;
  }
  // Whether all ranges lie in their buffers.
  bool holds(const Ranges& ranges) const {
    const size_t num_ranges = ranges.starts.size();
    for (size_t range = 0; range < num_ranges;) {
      const size_t next = range < ranges.second ? ranges.second : range < ranges.third ? ranges.third : num_ranges;
      const size_t end = std::min(next, num_ranges);
      if (ranges.starts[range] < 0 || ranges.stops[end - 1] > size_of(ranges, range)) return false;
      range = end;
    }
    return true;
  }
};

// Rows as pages count them: several for one row, where each row is a fixed-size list of structs.
class CountedRows {
 public:
  CountedRows(const LaRuns& rows, int64_t lengths_per_row) : rows_(rows) {
    if (lengths_per_row == 1) return;
    starts_.reserve(static_cast<size_t>(rows.num_runs));
    stops_.reserve(static_cast<size_t>(rows.num_runs));
    for (int64_t run = 0; run < rows.num_runs; ++run) {
      starts_.push_back(rows.starts[run] * lengths_per_row);
      stops_.push_back(rows.stops[run] * lengths_per_row);
    }
    rows_ = {starts_.data(), stops_.data(), rows.num_runs};
  }
  CountedRows(const CountedRows&) = delete;
  CountedRows& operator=(const CountedRows&) = delete;

  bool are_rows() const { return starts_.empty(); }
  const LaRuns& view() const { return rows_; }

 private:
  LaRuns rows_;
  std::vector<int64_t> starts_, stops_;
};

// What the values of rows will take, where each page knows: memory of that size is filled without growing. Else 0.
int64_t expected_bytes(const std::vector<PageRef>& pages, const LaRuns& rows);

// Lets pages read what they must know before rows are read, and adds what that cost to `count`.
Outcome load_indices(const std::vector<PageRef>& pages, const Reader& reader, ReadCount* count);

// Appends rows (of the column, within the pages given) to `out` and adds what that cost to `count`. `selection` has
// the rows too; null, or without any, where they do not lie close together.
Outcome read_leaf(const std::vector<PageRef>& pages, const Reader& reader, const SelectionBitmap* selection,
                  const LaRuns& rows, LeafPart* out, ReadCount* count);

// Lists the bytes that `read_leaf` will read of a reader of segments and that were not fetched, as far as they are
// known: pages whose index is missing want that first. Fetch them and ask again until nothing is wanted.
// `indices_only`: only the indices of the pages are wanted, and loaded. `limit`: most bytes of what is read on the way.
Outcome want_leaf(const std::vector<PageRef>& pages, const Reader& reader, const SelectionBitmap* selection,
                  const LaRuns& rows, bool indices_only, int64_t limit, Wanted* out);

// The same for rows of which pages count so many for each.
inline Outcome want_rows(const std::vector<PageRef>& pages, const Reader& reader, const SelectionBitmap* selection,
                         const LaRuns& rows, int64_t lengths_per_row, bool indices_only, int64_t limit, Wanted* out) {
  const CountedRows counted(rows, lengths_per_row);
  return want_leaf(pages, reader, counted.are_rows() ? selection : nullptr, counted.view(), indices_only, limit, out);
}

}  // namespace lance_arrow::engine
