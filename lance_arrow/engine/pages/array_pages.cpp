#include "engine/pages/array_pages.hpp"

#include <limits>

#include "engine/arrays/unravel.hpp"
#include "engine/common/bitmaps.hpp"

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
    copy_rows(rows, size_, ranges, fetched, ranges.second, place.values);
    copy_rows(rows, bits_, ranges, fetched, 0, place.values + (size_ + 7) / 8);
    if (has_validity_) add_validity(rows, count, ranges, fetched, ranges.third, out);
    out->took(count, place);
    return success();
  }

 private:
  // Copies so many bits of each list to its row.
  void copy_rows(const LaRuns& rows, int64_t bits, const Ranges& ranges, const Fetched& fetched, size_t range,
                 uint8_t* to) const {
    for (int64_t run = 0; run < rows.num_runs; ++run) {
      while (8 * ranges.stops[range] < rows.stops[run] * bits) ++range;
      const uint8_t* from = fetched.data + fetched.places[range];
      int64_t at = rows.starts[run] * bits - 8 * ranges.starts[range];
      for (int64_t row = rows.starts[run]; row < rows.stops[run]; ++row, at += bits, to += value_bits / 8) {
        if (bits % 8 == 0) copy_bytes(to, from + at / 8, bits / 8);
        else copy_padded_bits(from, at, bits, to);
      }
    }
  }

  int64_t size_, bits_;
  bool has_validity_;
};

// Strings: the second buffer says where each of them ends, a null's end has the adjustment added.
class BinaryPage : public Page {
 public:
  BinaryPage(int64_t end_bytes, uint64_t null_adjustment) : end_bytes_(end_bytes), adjustment_(null_adjustment) {
    in_two_steps = true;
  }

  int64_t batch_stop(int64_t row) const override { return std::min(num_rows, row + kBatchBytes / end_bytes_); }

  // The ends of the wanted rows, and of the row before each run of them.
  Outcome plan(const LaRuns& rows, Ranges* out) const override {
    out->clear();
    out->begin_second();
    for (int64_t run = 0; run < rows.num_runs; ++run)
      out->add_shared(std::max<int64_t>(0, rows.starts[run] - 1) * end_bytes_, rows.stops[run] * end_bytes_);
    return success();
  }

  Outcome plan_values(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, Ranges* values,
                      LeafPart* out) const override {
    values->clear();
    size_t range = 0;
    int64_t behind = 0;  // the end of what was planned so far
    for (int64_t run = 0; run < rows.num_runs; ++run) {
      const int64_t start = rows.starts[run], stop = rows.stops[run];
      while (ranges.stops[range] < stop * end_bytes_) ++range;
      const uint8_t* ends = fetched.data + fetched.places[range];
      const int64_t before = ranges.starts[range] / end_bytes_;  // rows whose ends lie before those
      bool is_null = false;
      const int64_t first = start == 0 ? 0 : end_of(ends, start - 1 - before, &is_null);
      if (first < behind) return corrupt("a string ends before it begins", start);
      const auto at = static_cast<size_t>(out->num_values);
      out->ends.resize(at + static_cast<size_t>(stop - start));
      const size_t level = out->def.size();
      out->def.resize(level + static_cast<size_t>(stop - start));
      uint16_t* levels = out->def.data() + level;
      const int64_t shift = out->num_bytes - first;
      int64_t* to = out->ends.data() + at;
      const uint8_t* from = ends + (start - before) * end_bytes_;
      const int64_t last = end_bytes_ == 8 ? copy_ends<uint64_t>(from, stop - start, first, shift, to, levels)
                                           : copy_ends<uint32_t>(from, stop - start, first, shift, to, levels);
      if (last < 0) return corrupt("a string ends before it begins", start);
      if (last > first) values->add(first, last);
      out->num_bytes += last - first;
      out->num_values += stop - start;
      behind = last;
    }
    return success();
  }

  Outcome open(const LaRuns&, const Ranges&, const Fetched&, LeafPart*) const override {
    return misuse("strings are opened in two steps");
  }

 private:
  // Copies ends of strings, the first of which begins at `last`, and notes which are null. Returns the last end, or -1
  // where they do not ascend.
  template <class End>
  int64_t copy_ends(const uint8_t* from, int64_t count, int64_t last, int64_t shift, int64_t* to,
                    uint16_t* levels) const {
    const uint64_t adjustment = adjustment_ != 0 ? adjustment_ : std::numeric_limits<uint64_t>::max();
    bool is_wrong = false;
    for (int64_t value = 0; value < count; ++value) {
      const uint64_t stored = load<End>(from, value);
      const bool is_null = stored >= adjustment;
      const auto end = static_cast<int64_t>(stored - (is_null ? adjustment : 0));
      is_wrong |= end < last || (is_null && adjustment_ == 0);
      // Ends that are wrong may be any number.
      to[value] = static_cast<int64_t>(static_cast<uint64_t>(shift) + static_cast<uint64_t>(end));
      levels[value] = is_null;
      last = end;
    }
    return is_wrong ? -1 : last;
  }

  // Negative where it is beyond 63 bits.
  int64_t end_of(const uint8_t* ends, int64_t item, bool* is_null) const {
    uint64_t end = end_bytes_ == 8 ? load<uint64_t>(ends, item) : load<uint32_t>(ends, item);
    *is_null = adjustment_ != 0 && end >= adjustment_;
    if (*is_null) end -= adjustment_;
    return end > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ? -1 : static_cast<int64_t>(end);
  }

  int64_t end_bytes_;
  uint64_t adjustment_;
};

}  // namespace

Page* new_flat_page(int64_t bits, bool has_validity) { return new FlatPage(bits, has_validity); }

Page* new_nullable_items_page(int64_t list_size, int64_t item_bits, bool has_validity) {
  return new NullableItemsPage(list_size, item_bits, has_validity);
}

Page* new_binary_page(int64_t end_bytes, uint64_t null_adjustment) {
  return new BinaryPage(end_bytes, null_adjustment);
}

}  // namespace lance_arrow::engine
