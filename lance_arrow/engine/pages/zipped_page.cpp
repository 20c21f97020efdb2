#include "engine/pages/zipped_page.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "engine/bind/called_codecs.hpp"
#include "engine/pages/page_buffers.hpp"

namespace lance_arrow::engine {

namespace {

class ZippedPage : public Page {
 public:
  ZippedPage(const StreamForm& form, int64_t row_bytes)
      : form_(form),
        row_bytes_(row_bytes),
        batch_bytes_(CalledValues::is(form.values) ? kCalledBytes : kBatchBytes),
        is_indexed_(row_bytes >= 0) {
    value_bits = form.values->bits;
    is_plain = row_bytes >= 0 && form.zip.bits_rep + form.zip.bits_def == 0 && form.values->is_plain != 0 &&
               form.zip.bytes_per_value * 8 == value_bits;
  }

  bool is_indexed() const override { return is_indexed_.load(std::memory_order_acquire); }

  int64_t index_bytes() const override { return is_indexed() ? lance_arrow::kept_bytes(own_starts_) : 0; }

  Outcome load_index(const PageBuffers& buffers, Fetcher* fetcher) const override {
    const std::lock_guard<std::mutex> guard(lock_);
    if (is_indexed()) return success();
    if (buffers.count != 2) return misuse("a page has another number of buffers");
    const int64_t count = num_rows + 1;
    // A byte for each entry at least: no memory is taken on the word of a description.
    if (buffers.sizes[1] < count) return corrupt("the row index does not have 1, 2, 4 or 8 bytes for each row", -1);
    const Leased<std::vector<uint8_t>> stored;
    Outcome outcome = read_buffer(buffers, 1, fetcher, &*stored);
    if (outcome.message != nullptr) return outcome;
    own_starts_.resize(static_cast<size_t>(count));
    outcome = read_row_index(stored->data(), buffers.sizes[1], num_rows, buffers.sizes[0], own_starts_.data(), count);
    if (outcome.message != nullptr) return outcome;
    row_starts_ = own_starts_.data();
    is_indexed_.store(true, std::memory_order_release);
    return success();
  }

  int64_t batch_stop(int64_t row) const override {
    if (is_plain) return num_rows;
    if (row_starts_ != nullptr) {
      // Entries of rows that are lists are counted when all of them are opened.
      if (form_.max_rep > 0) return num_rows;
      const int64_t* stop = row_starts_ + num_rows + 1;
      const int64_t* behind = std::upper_bound(row_starts_ + row, stop, row_starts_[row] + batch_bytes_);
      return std::max(row + 1, static_cast<int64_t>(behind - row_starts_) - 1);
    }
    return std::min(num_rows, row + std::max<int64_t>(1, batch_bytes_ / std::max<int64_t>(1, row_bytes_)));
  }

  int64_t expected_bytes(const LaRuns& rows) const override {
    if (row_starts_ == nullptr || value_bits != 0) return 0;
    const int64_t bytes = row_bytes_of(rows);
    return bytes >= kExpectedRow * num_selected(rows) ? bytes : 0;
  }

  bool may_be_stored(const LaRuns& rows) const override {
    const bool has_stored = row_starts_ != nullptr && form_.max_rep == 0 && value_bits == 0 &&
                            (form_.stored != nullptr || form_.values->is_plain != 0);
    return has_stored && is_hopeful() && row_bytes_of(rows) >= kDirectRow * num_selected(rows);
  }

  bool stored_row(int64_t row, StoredRow* out) const override {
    const int64_t prefix = control_bytes() + form_.zip.bits_per_offset / 8;
    const int64_t size = row_starts_[row + 1] - row_starts_[row] - prefix;
    if (size < kLargeRow || !is_hopeful()) return false;
    const int64_t head = form_.stored == nullptr ? 0 : form_.stored->head_bytes(form_.stored->self, size);
    if (head < 0 || head > kMostHead - prefix || head > size) return false;
    *out = {row_starts_[row], prefix + head, size - head};
    return true;
  }

  bool has_def() const override { return form_.zip.bits_def > 0; }

  bool is_stored(const uint8_t* head, const StoredRow& row) const override {
    const int64_t control = control_bytes(), prefix = control + form_.zip.bits_per_offset / 8;
    const int64_t size = row.head_bytes - prefix + row.value_bytes;
    bool is = true;
    for (int64_t byte = 0; byte < control; ++byte) is = is && head[byte] == 0;  // no level: neither null nor hidden
    const auto length =
        form_.zip.bits_per_offset == 32 ? load<uint32_t>(head + control, 0) : load<uint64_t>(head + control, 0);
    is = is && length == static_cast<uint64_t>(size) &&
         (form_.stored == nullptr || form_.stored->is_stored(form_.stored->self, head + prefix, size) != 0);
    (is ? found_ : others_).fetch_add(1, std::memory_order_relaxed);
    return is;
  }

  Outcome plan(const LaRuns& rows, Ranges* out) const override {
    out->clear();
    for (int64_t run = 0; run < rows.num_runs; ++run) {
      if (row_starts_ == nullptr) out->add(rows.starts[run] * row_bytes_, rows.stops[run] * row_bytes_);
      else out->add(row_starts_[rows.starts[run]], row_starts_[rows.stops[run]]);
    }
    return success();
  }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    const int64_t num_ranges = static_cast<int64_t>(ranges.starts.size());
    const Leased<std::vector<int64_t>> leased[4];  // of this call: the values' codec may be Python
    auto &stops = *leased[0], &region_entries = *leased[1], &starts = *leased[2], &sizes = *leased[3];
    stops.resize(ranges.starts.size());
    region_entries.resize(ranges.starts.size());
    int64_t data_bytes = 0, num_rows = 0;
    for (int64_t range = 0; range < num_ranges; ++range) {
      stops[range] = fetched.places[range] + ranges.stops[range] - ranges.starts[range];
      data_bytes = std::max(data_bytes, stops[range]);
    }
    for (int64_t run = 0; run < rows.num_runs; ++run) num_rows += rows.stops[run] - rows.starts[run];
    const Regions regions{fetched.data, data_bytes, fetched.places, stops.data(), num_ranges};
    int64_t entries = num_rows, values = num_rows;
    if (row_starts_ != nullptr) {
      const Outcome counted = count_entries(regions, form_.zip, region_entries.data(), &entries, &values);
      if (counted.message != nullptr) return counted;
    }
    if (form_.max_rep == 0 && row_starts_ != nullptr && !rows_are_entries(rows, ranges, region_entries.data()))
      return corrupt("the row index and the entries of a page disagree", -1);
    // Without lists each row is an entry with a value: the last rows tell of the others.
    const bool is_end = form_.num_entries >= 0 && (form_.max_rep == 0 ? rows.stops[rows.num_runs - 1] == this->num_rows
                                                                      : num_rows == this->num_rows);
    const int64_t before = form_.max_rep == 0 ? this->num_rows - num_rows : 0;
    if (is_end && (before + entries != form_.num_entries || before + values != form_.num_values))
      return corrupt("the entries or values of a page contradict its description", -1);
    const size_t rep_at = out->rep.size(), def_at = out->def.size();
    const bool has_rep = form_.zip.bits_rep > 0, has_def = form_.zip.bits_def > 0;
    if (has_rep) out->rep.resize(rep_at + entries);
    if (has_def) out->def.resize(def_at + entries);
    starts.resize(static_cast<size_t>(values));
    sizes.resize(static_cast<size_t>(values));
    const ZipOut places{has_rep ? out->rep.data() + rep_at : nullptr,
                        has_def ? out->def.data() + def_at : nullptr,
                        entries,
                        starts.data(),
                        sizes.data(),
                        values};
    int64_t entries_seen = 0, values_seen = 0;
    Outcome outcome = unzip(regions, form_.zip, places, &entries_seen, &values_seen);
    if (outcome.message == nullptr && (entries_seen != entries || values_seen != values))
      outcome = corrupt("the row index and the entries of a page disagree", -1);
    if (outcome.message == nullptr && (has_rep || has_def))
      outcome = check_levels({places.rep, places.def, entries}, form_.max_rep, form_.max_def);
    if (outcome.message == nullptr && has_rep) outcome = check_rows(rows, ranges, region_entries.data(), places.rep);
    if (outcome.message != nullptr) return outcome;
    LaValues place = out->place(values, value_bits);
    if (place.values == nullptr) return above_limit();
    outcome =
        refused(form_.values->expand(form_.values->self, fetched.data, starts.data(), sizes.data(), values, &place));
    if (outcome.message == nullptr) out->took(values, place);
    return outcome;
  }

 private:
  static constexpr int64_t kLargeRow = 1 << 10;  // of smaller ones, what is not their values weighs too much
  static constexpr int64_t kExpectedRow = 64;  // of smaller ones, levels and lengths take too much room beside values
  static constexpr int64_t kDirectRow = 4 << 10;  // a request costs about what copying this much costs

  // Whether enough of the values that were looked at are stored as they are.
  bool is_hopeful() const {
    constexpr int64_t chances = 8;
    return others_.load(std::memory_order_relaxed) < chances + found_.load(std::memory_order_relaxed);
  }

  int64_t row_bytes_of(const LaRuns& rows) const {
    int64_t bytes = 0;
    for (int64_t run = 0; run < rows.num_runs; ++run)
      bytes += row_starts_[rows.stops[run]] - row_starts_[rows.starts[run]];
    return bytes;
  }

  int64_t control_bytes() const {
    const int bits = form_.zip.bits_rep + form_.zip.bits_def;
    return bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
  }

  // Rows that the plan put into range number `range`; `*run` is the first of them, and becomes the first behind them.
  int64_t rows_of(const LaRuns& rows, const Ranges& ranges, size_t range, int64_t* run) const {
    int64_t wanted = 0;
    for (; *run < rows.num_runs && row_starts_[rows.stops[*run]] <= ranges.stops[range]; ++*run)
      wanted += rows.stops[*run] - rows.starts[*run];
    return wanted;
  }

  // Without lists a row is an entry. Their sum is not enough: one range must not lend an entry to another.
  bool rows_are_entries(const LaRuns& rows, const Ranges& ranges, const int64_t* region_entries) const {
    int64_t run = 0;
    for (size_t range = 0; range < ranges.starts.size(); ++range)
      if (rows_of(rows, ranges, range, &run) != region_entries[range]) return false;
    return run == rows.num_runs;
  }

  // Every row must begin where the index says: as many rows in a range as were planned, and one at its first entry.
  Outcome check_rows(const LaRuns& rows, const Ranges& ranges, const int64_t* region_entries,
                     const uint16_t* rep) const {
    int64_t run = 0, entry = 0;
    for (size_t range = 0; range < ranges.starts.size(); ++range) {
      const int64_t wanted = rows_of(rows, ranges, range, &run);
      int64_t found = 0;
      const int64_t stop = entry + region_entries[range];
      if (entry < stop && rep[entry] != form_.max_rep)
        return corrupt("the row index and the repetition levels of a page disagree", static_cast<int64_t>(range));
      for (; entry < stop; ++entry) found += rep[entry] == form_.max_rep;
      if (found != wanted)
        return corrupt("the row index and the repetition levels of a page disagree", static_cast<int64_t>(range));
    }
    return success();
  }

  StreamForm form_;
  const int64_t row_bytes_;
  const int64_t batch_bytes_;
  // What was read, by one thread, before `is_indexed_`.
  mutable std::mutex lock_;
  mutable std::vector<int64_t> own_starts_;
  mutable const int64_t* row_starts_ = nullptr;  // null where every row has row_bytes_
  mutable std::atomic<bool> is_indexed_;
  mutable std::atomic<int64_t> found_{0}, others_{0};  // values that were, and were not, stored as they are
};

}  // namespace

Page* new_zipped_page(const StreamForm& form, int64_t row_bytes) { return new ZippedPage(form, row_bytes); }

}  // namespace lance_arrow::engine
