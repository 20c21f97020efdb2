#include "engine/pages/array_pages.hpp"

#include <atomic>
#include <mutex>

#include "engine/arrays/unravel.hpp"
#include "engine/common/bitmaps.hpp"
#include "engine/pages/page_buffers.hpp"

namespace lance_arrow::engine {

namespace {

// End of the rows from `row` on whose values stay in a core's cache.
int64_t cached_stop(const Page& page, int64_t row) {
  return std::min(page.num_rows, row + std::max<int64_t>(1, 8 * kBatchBytes / page.value_bits));
}

void add_runs(const LaRuns& rows, int64_t bits, Ranges* out) {
  for (int64_t run = 0; run < rows.num_runs; ++run)
    out->add_shared(rows.starts[run] * bits / 8, (rows.stops[run] * bits + 7) / 8);
}

// Copies the values of all runs one after the other, out of ranges from number `range` on.
void copy_runs(const LaRuns& rows, int64_t bits, const Ranges& ranges, const Fetched& fetched, size_t range,
               uint8_t* to, int64_t to_bit) {
  for (int64_t run = 0; run < rows.num_runs; ++run) {
    const int64_t start = rows.starts[run] * bits, size = (rows.stops[run] - rows.starts[run]) * bits;
    while (8 * ranges.stops[range] < start + size) ++range;
    const uint8_t* from = fetched.data + fetched.places[range];
    const int64_t at = start - 8 * ranges.starts[range];
    if (bits % 8 == 0) copy_bytes(to + to_bit / 8, from + at / 8, size / 8);
    else copy_bit_run(from, at, to, to_bit, size);
    to_bit += size;
  }
}

// Turns the bits of rows, in ranges from number `range` on, into levels.
void add_validity(const LaRuns& rows, int64_t count, const Ranges& ranges, const Fetched& fetched, size_t range,
                  LeafPart* out) {
  const Leased<std::vector<uint8_t>> leased;
  std::vector<uint8_t>& bits = *leased;
  bits.resize(static_cast<size_t>((count + 7) / 8));
  copy_runs(rows, 1, ranges, fetched, range, bits.data(), 0);
  const size_t at = out->def.size();
  out->def.resize(at + static_cast<size_t>(count));
  uint16_t* levels = out->def.data() + at;
  for (int64_t value = 0; value < count; ++value) levels[value] = (bits[value / 8] >> (value % 8) & 1) == 0;
}

// Copies so many bits of each list to its row, out of ranges from number `range` on.
void copy_list_rows(const LaRuns& rows, int64_t bits, const Ranges& ranges, const Fetched& fetched, size_t range,
                    int64_t row_bytes, uint8_t* to) {
  for (int64_t run = 0; run < rows.num_runs; ++run) {
    while (8 * ranges.stops[range] < rows.stops[run] * bits) ++range;
    const uint8_t* from = fetched.data + fetched.places[range];
    int64_t at = rows.starts[run] * bits - 8 * ranges.starts[range];
    for (int64_t row = rows.starts[run]; row < rows.stops[run]; ++row, at += bits, to += row_bytes) {
      if (bits % 8 == 0) copy_bytes(to, from + at / 8, bits / 8);
      else copy_padded_bits(from, at, bits, to);
    }
  }
}

// Values of one width, or bits, back to back; where some may be null, a bit for each value in the second buffer.
class FlatPage : public Page {
 public:
  FlatPage(int64_t bits, bool has_validity) : has_validity_(has_validity) {
    value_bits = bits;
    is_plain = !has_validity && bits % 8 == 0;
  }

  int64_t batch_stop(int64_t row) const override { return is_plain ? num_rows : close_stop(row); }

  int64_t close_stop(int64_t row) const override { return cached_stop(*this, row); }

  bool picks_selected(int64_t rows_per_wanted) const override {
    return is_plain && rows_per_wanted * value_bits / 8 <= kCloseBytes;
  }

  Outcome plan_all(int64_t start, int64_t stop, Ranges* out) const override {
    out->clear();
    out->add(start * value_bits / 8, stop * value_bits / 8);
    return success();
  }

  Outcome open_selected(int64_t start, int64_t stop, const SelectionBitmap& selection, int64_t first_row, int64_t count,
                        const Ranges&, const Fetched& fetched, LeafPart* out) const override {
    const LaValues place = out->place(count, value_bits);
    if (place.values == nullptr) return above_limit();
    selection.pick(value_bits / 8, fetched.data + fetched.places[0], first_row + start, first_row + stop, place.values);
    out->took(count, place);
    return success();
  }

  Outcome plan(const LaRuns& rows, Ranges* out) const override {
    out->clear();
    add_runs(rows, value_bits, out);
    if (has_validity_) {
      out->begin_second();
      add_runs(rows, 1, out);
    }
    return success();
  }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    int64_t count = 0;
    for (int64_t run = 0; run < rows.num_runs; ++run) count += rows.stops[run] - rows.starts[run];
    const LaValues place = out->place(count, value_bits);
    if (place.values == nullptr) return above_limit();
    copy_runs(rows, value_bits, ranges, fetched, 0, place.values, value_bits % 8 == 0 ? 0 : place.bit_offset);
    if (has_validity_) add_validity(rows, count, ranges, fetched, ranges.second, out);
    out->took(count, place);
    return success();
  }

 private:
  bool has_validity_;
};

// Lists of one length: items in the first buffer, a bit for each of them in the second, one for each list in the third.
class NullableItemsPage : public Page {
 public:
  NullableItemsPage(int64_t list_size, int64_t item_bits, bool has_validity)
      : size_(list_size), bits_(list_size * item_bits), has_validity_(has_validity) {
    parts = {size_, bits_};
    value_bits = 8 * ((size_ + 7) / 8 + (bits_ + 7) / 8);
  }

  int64_t batch_stop(int64_t row) const override { return close_stop(row); }

  int64_t close_stop(int64_t row) const override { return cached_stop(*this, row); }

  Outcome plan(const LaRuns& rows, Ranges* out) const override {
    out->clear();
    add_runs(rows, bits_, out);
    out->begin_second();
    add_runs(rows, size_, out);
    if (has_validity_) {
      out->begin_third();
      add_runs(rows, 1, out);
    }
    return success();
  }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    const int64_t count = num_selected(rows);
    const LaValues place = out->place(count, value_bits);
    if (place.values == nullptr) return above_limit();
    copy_list_rows(rows, size_, ranges, fetched, ranges.second, value_bits / 8, place.values);
    copy_list_rows(rows, bits_, ranges, fetched, 0, value_bits / 8, place.values + (size_ + 7) / 8);
    if (has_validity_) add_validity(rows, count, ranges, fetched, ranges.third, out);
    out->took(count, place);
    return success();
  }

 private:
  int64_t size_, bits_;
  bool has_validity_;
};

class ListRowsPage : public Page {
 public:
  explicit ListRowsPage(const ListRowsForm& form) : form_(form), bitmaps_(form.bits.size()) {
    const size_t items = form.bits.size() - 1;
    for (size_t part = 0; part < form.bits.size(); ++part) {
      const bool is_there = part == items || form.buffers[part] != ListRowsForm::kAllValid;
      parts.push_back(is_there ? form.bits[part] : 0);
      value_bits += 8 * ((parts.back() + 7) / 8);
    }
  }

  bool is_indexed() const override { return is_indexed_.load(std::memory_order_acquire); }

  int64_t index_bytes() const override {
    int64_t bytes = 0;
    if (is_indexed())
      for (const auto& bitmap : bitmaps_) bytes += lance_arrow::kept_bytes(bitmap);
    return bytes;
  }

  Outcome load_index(const PageBuffers& buffers, Fetcher* fetcher) const override {
    const std::lock_guard<std::mutex> guard(lock_);
    if (is_indexed()) return success();
    for (size_t part = 0; part + 1 < parts.size(); ++part) {
      if (form_.buffers[part] < 0) continue;
      const Outcome outcome = read_buffer(buffers, static_cast<size_t>(form_.buffers[part]), fetcher, &bitmaps_[part]);
      if (outcome.message != nullptr) return outcome;
      if (static_cast<int64_t>(bitmaps_[part].size()) < (num_rows * parts[part] + 7) / 8)
        return corrupt("a bitmap is shorter than its items", 0);
    }
    is_indexed_.store(true, std::memory_order_release);
    return success();
  }

  int64_t batch_stop(int64_t row) const override { return close_stop(row); }
  int64_t close_stop(int64_t row) const override { return cached_stop(*this, row); }

  Outcome plan(const LaRuns& rows, Ranges* out) const override {
    out->clear();
    if (form_.buffers.back() >= 0) add_runs(rows, parts.back(), out);
    if (form_.has_validity) {
      out->begin_second();
      add_runs(rows, 1, out);
    }
    return success();
  }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    const int64_t count = num_selected(rows);
    const LaValues place = out->place(count, value_bits);
    if (place.values == nullptr) return above_limit();
    uint8_t* to = place.values;
    for (size_t part = 0; part < parts.size(); to += (parts[part++] + 7) / 8) {
      const bool is_items = part + 1 == parts.size();
      if (parts[part] == 0) continue;
      if (form_.buffers[part] < 0) clear_rows(count, (parts[part] + 7) / 8, to);
      else if (is_items) copy_list_rows(rows, parts[part], ranges, fetched, 0, value_bits / 8, to);
      else copy_held_rows(rows, parts[part], bitmaps_[part].data(), to);
    }
    if (form_.has_validity) add_validity(rows, count, ranges, fetched, ranges.second, out);
    out->took(count, place);
    return success();
  }

 private:
  void clear_rows(int64_t count, int64_t num_bytes, uint8_t* to) const {
    for (int64_t row = 0; row < count; ++row, to += value_bits / 8) std::memset(to, 0, static_cast<size_t>(num_bytes));
  }

  void copy_held_rows(const LaRuns& rows, int64_t bits, const uint8_t* from, uint8_t* to) const {
    for (int64_t run = 0; run < rows.num_runs; ++run)
      for (int64_t row = rows.starts[run]; row < rows.stops[run]; ++row, to += value_bits / 8)
        copy_padded_bits(from, row * bits, bits, to);
  }

  const ListRowsForm form_;
  mutable std::mutex lock_;
  mutable std::vector<std::vector<uint8_t>> bitmaps_;  // written by one thread, before `is_indexed_`
  mutable std::atomic<bool> is_indexed_ = false;
};

}  // namespace

Page* new_list_rows_page(const ListRowsForm& form) { return new ListRowsPage(form); }

Page* new_flat_page(int64_t bits, bool has_validity) { return new FlatPage(bits, has_validity); }

Page* new_nullable_items_page(int64_t list_size, int64_t item_bits, bool has_validity) {
  return new NullableItemsPage(list_size, item_bits, has_validity);
}

}  // namespace lance_arrow::engine
