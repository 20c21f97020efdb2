#include "engine/pages/list_page.hpp"

#include <atomic>

namespace lance_arrow::engine {

namespace {

// Lists are appended as values are, with their ends, and with levels where they are null. Items that nobody sees lie in
// null lists.
class ListPage : public Page {
 public:
  ListPage(uint64_t null_adjustment, int64_t num_items) : adjustment_(null_adjustment), num_items_(num_items) {
    value_bits = kListEnds;
  }

  int64_t batch_stop(int64_t row) const override { return std::min(num_rows, row + kMostTogether); }

  int64_t close_stop(int64_t row) const override { return batch_stop(row); }

  // The ends of the wanted lists, and of the list before each run of them. Where these are more than a few, once for
  // the page, all ends if they are read together anyway; else the last one, which tells how many items there are.
  Outcome plan(const LaRuns& rows, Ranges* out) const override {
    out->clear();
    const bool is_to_check = !is_checked_ && !are_few(rows);
    if (is_to_check && num_rows <= kMostTogether) {
      out->add(0, num_rows * kEndBytes);
      return success();
    }
    for (int64_t run = 0; run < rows.num_runs; ++run)
      out->add_shared(std::max<int64_t>(0, rows.starts[run] - 1) * kEndBytes, rows.stops[run] * kEndBytes);
    if (is_to_check) out->add_shared((num_rows - 1) * kEndBytes, num_rows * kEndBytes);
    return success();
  }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    const Outcome outcome = check_around(ranges, fetched);
    if (outcome.message != nullptr) return outcome;
    size_t range = 0;
    int64_t behind = 0;  // the end of the run before
    for (int64_t run = 0; run < rows.num_runs; ++run) {
      const int64_t start = rows.starts[run], stop = rows.stops[run];
      while (ranges.stops[range] < stop * kEndBytes) ++range;
      const uint8_t* ends = fetched.data + fetched.places[range];
      const int64_t before = ranges.starts[range] / kEndBytes;  // lists whose ends lie before those
      int64_t last = start == 0 ? 0 : end_of(ends, start - 1 - before);
      if (last < behind) return corrupt("a list ends before it begins", start);
      const auto count = static_cast<size_t>(stop - start);
      const size_t at = out->ends.size(), level = out->def.size();
      out->ends.resize(at + count);
      out->def.resize(level + count);
      int64_t* to = out->ends.data() + at;
      uint16_t* levels = out->def.data() + level;
      int64_t seen = last, shift = out->num_bytes - last;  // items from `seen` on are seen; what is hidden is taken off
      for (int64_t row = start; row < stop; ++row) {
        const bool is_null = is_null_end(ends, row - before);
        const int64_t end = end_of(ends, row - before);
        if (end < last || end > num_items_) return corrupt("a list ends before it begins, or behind all items", row);
        if (is_null && end > last) {
          add_items(seen, last, out);
          seen = end;
          shift -= end - last;
        }
        to[row - start] = shift + end;
        levels[row - start] = is_null;
        last = end;
      }
      add_items(seen, last, out);
      out->num_bytes = shift + last;
      out->num_values += stop - start;
      behind = last;
    }
    return success();
  }

 private:
  static constexpr int64_t kEndBytes = 8;
  static constexpr int64_t kMostTogether = kBatchBytes / kEndBytes;
  static constexpr int64_t kFewRows = 64;  // one row in so many, of those that are opened together, is few

  bool are_few(const LaRuns& rows) const {
    int64_t count = 0;
    for (int64_t run = 0; run < rows.num_runs; ++run) count += rows.stops[run] - rows.starts[run];
    return count <= std::min(num_rows, kMostTogether) / kFewRows;
  }

  // Checks what was read of lists beside the wanted ones: all ends, or where the last list ends.
  Outcome check_around(const Ranges& ranges, const Fetched& fetched) const {
    if (ranges.starts.empty() || ranges.stops.back() != num_rows * kEndBytes) return success();
    const int64_t before = ranges.starts.back() / kEndBytes;
    const uint8_t* ends = fetched.data + fetched.places[ranges.starts.size() - 1];
    if (end_of(ends, num_rows - 1 - before) != num_items_)
      return corrupt("the last list of a page ends before or behind its items", num_rows - 1);
    if (before > 0) {
      if (num_rows > kMostTogether) is_checked_ = true;
      return success();
    }
    int64_t last = 0;
    for (int64_t row = 0; row < num_rows && !is_checked_; ++row) {
      const int64_t end = end_of(ends, row);
      if (end < last || end > num_items_) return corrupt("a list ends before it begins, or behind all items", row);
      last = end;
    }
    is_checked_ = true;
    return success();
  }

  // Items are counted from the first of the page.
  static void add_items(int64_t start, int64_t stop, LeafPart* out) {
    if (start == stop) return;
    start += out->first_item;
    stop += out->first_item;
    if (!out->item_stops.empty() && out->item_stops.back() == start) {
      out->item_stops.back() = stop;
    } else {
      out->item_starts.push_back(start);
      out->item_stops.push_back(stop);
    }
  }

  bool is_null_end(const uint8_t* ends, int64_t list) const {
    return adjustment_ != 0 && load<uint64_t>(ends, list) >= adjustment_;
  }

  // Negative where it is beyond 63 bits.
  int64_t end_of(const uint8_t* ends, int64_t list) const {
    return static_cast<int64_t>(load<uint64_t>(ends, list) - (is_null_end(ends, list) ? adjustment_ : 0));
  }

  uint64_t adjustment_;
  int64_t num_items_;
  mutable std::atomic<bool> is_checked_{false};
};

}  // namespace

Page* new_list_page(uint64_t null_adjustment, int64_t num_items) { return new ListPage(null_adjustment, num_items); }

}  // namespace lance_arrow::engine
