#include "engine/pages/spread_page.hpp"

#include <algorithm>
#include <cstring>

#include "engine/arrays/slot_levels.hpp"

namespace lance_arrow::engine {

namespace {

class SpreadPage : public Page {
 public:
  SpreadPage(const SlotLayer& slots, const Page* stored) : slots_(slots), stored_(stored) {
    value_bits = stored->value_bits;
    parts = stored->parts;
  }

  int64_t batch_stop(int64_t row) const override {
    const int64_t border = stored_->batch_stop(stored_before(row));
    int64_t low = row + 1, high = std::min(num_rows, row + kBatchSlots);
    while (low < high) {
      const int64_t middle = high - (high - low) / 2;
      if (stored_before(middle) <= border) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  Outcome plan(const LaRuns& rows, Ranges* out) const override {
    out->clear();
    const StoredRuns runs = stored_runs(rows);
    return runs.starts.empty() ? success() : stored_->plan(runs.view(), out);
  }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    std::unique_ptr<LeafPart> found = borrow_part();
    found->limit = out->limit;
    const StoredRuns runs = stored_runs(rows);
    Outcome outcome = runs.starts.empty() ? success() : stored_->open(runs.view(), ranges, fetched, found.get());
    if (outcome.message == nullptr && found->num_values != num_selected(runs.view()))
      outcome = misuse("values and slots differ in number");
    if (outcome.message == nullptr) outcome = spread(rows, *found, out);
    give_back_part(std::move(found));
    return outcome;
  }

 private:
  struct StoredRuns {
    std::vector<int64_t> starts, stops;
    LaRuns view() const { return {starts.data(), stops.data(), static_cast<int64_t>(starts.size())}; }
  };

  // Slots below one that are not null.
  int64_t stored_before(int64_t slot) const {
    const int64_t* end = slots_.positions + slots_.num_positions;
    const int64_t listed = std::lower_bound(slots_.positions, end, slot) - slots_.positions;
    return slots_.lists_nulls ? slot - listed : listed;
  }

  StoredRuns stored_runs(const LaRuns& rows) const {
    StoredRuns found;
    for (int64_t run = 0; run < rows.num_runs; ++run) {
      const int64_t start = stored_before(rows.starts[run]), stop = stored_before(rows.stops[run]);
      if (start == stop) continue;
      if (!found.stops.empty() && found.stops.back() == start) {
        found.stops.back() = stop;
      } else {
        found.starts.push_back(start);
        found.stops.push_back(stop);
      }
    }
    return found;
  }

  // Calls visit(place among the rows, or -1 where it is null) for each slot.
  template <class Visit>
  void each_slot(const LaRuns& rows, Visit&& visit) const {
    Listed listed(slots_.positions, slots_.num_positions);
    int64_t place = 0;
    for (int64_t run = 0; run < rows.num_runs; ++run)
      for (int64_t slot = rows.starts[run]; slot < rows.stops[run]; ++slot)
        visit(listed.has(slot) == slots_.lists_nulls ? -1 : place++);
  }

  Outcome spread(const LaRuns& rows, const LeafPart& found, LeafPart* out) const {
    const int64_t count = num_selected(rows);
    if (value_bits == kNoValues) {
      out->num_values += count;
      return success();
    }
    LaValues place = out->place(count, value_bits);
    if (place.values == nullptr) return above_limit();
    const uint8_t* from = found.values.data();
    if (value_bits == 0) {
      uint8_t* to = place.reserve(place.host, place.end, found.num_bytes);
      if (to == nullptr) return above_limit();
      copy_bytes(to, from, found.num_bytes);
      int64_t value = 0, end = place.end;
      each_slot(rows, [&](int64_t stored) {
        if (stored >= 0) end = place.end + found.ends[static_cast<size_t>(stored)];
        place.ends[value++] = end;
      });
      place.end += found.num_bytes;
    } else if (value_bits == 1) {
      int64_t bit = place.bit_offset;
      each_slot(rows, [&](int64_t stored) {
        const bool is_set = stored >= 0 && (from[stored / 8] >> (stored % 8) & 1) != 0;
        const auto one = static_cast<uint8_t>(1u << (bit % 8));
        uint8_t& to = place.values[bit++ / 8];
        to = static_cast<uint8_t>(is_set ? to | one : to & ~one);
      });
    } else {
      const int64_t width = value_bits / 8;
      uint8_t* to = place.values;
      each_slot(rows, [&](int64_t stored) {
        if (stored >= 0) copy_bytes(to, from + stored * width, width);
        else std::memset(to, 0, static_cast<size_t>(width));
        to += width;
      });
    }
    out->took(count, place);
    return success();
  }

  const SlotLayer slots_;
  const Page* stored_;
};

}  // namespace

Page* new_spread_page(const SlotLayer& slots, const Page* stored) { return new SpreadPage(slots, stored); }

}  // namespace lance_arrow::engine
