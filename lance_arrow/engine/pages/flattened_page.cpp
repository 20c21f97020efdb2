#include "engine/pages/flattened_page.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/common/bitmaps.hpp"
#include "engine/plan/local_runs.hpp"

namespace lance_arrow::engine {

namespace {

class FlattenedPage : public Page {
 public:
  FlattenedPage(const FlattenedForm& form, const Page* items) : form_(form), items_(items) {
    value_bits = 8 * bytes_of(form.item_bits);
    bool has_bitmaps = false;
    for (const int64_t bits : form.bitmap_bits) {
      value_bits += 8 * bytes_of(bits);
      has_bitmaps |= bits > 0;
    }
    if (!has_bitmaps && form.item_bits % 8 == 0) return;
    parts = form.bitmap_bits;
    parts.push_back(form.item_bits);
  }

  int64_t batch_stop(int64_t row) const override {
    return std::max(row + 1, items_->batch_stop(row * form_.items_per_list) / form_.items_per_list);
  }

  Outcome plan(const LaRuns& rows, Ranges* out) const override {
    const ScaledRuns scaled(rows, form_.items_per_list);
    return items_->plan(scaled.view(), out);
  }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    const ScaledRuns scaled(rows, form_.items_per_list);
    std::unique_ptr<LeafPart> found = borrow_part();
    found->limit = out->limit;
    Outcome outcome = items_->open(scaled.view(), ranges, fetched, found.get());
    const int64_t count = num_selected(rows);
    if (outcome.message == nullptr && found->num_values != count * form_.items_per_list)
      outcome = misuse("lists and their items differ in number");
    if (outcome.message == nullptr) outcome = append(*found, count, out);
    give_back_part(std::move(found));
    return outcome;
  }

 private:
  struct ScaledRuns {
    ScaledRuns(const LaRuns& rows, int64_t factor) {
      for (int64_t run = 0; run < rows.num_runs; ++run) {
        starts.push_back(rows.starts[run] * factor);
        stops.push_back(rows.stops[run] * factor);
      }
    }
    LaRuns view() const { return {starts.data(), stops.data(), static_cast<int64_t>(starts.size())}; }

    std::vector<int64_t> starts, stops;
  };

  Outcome append(const LeafPart& found, int64_t count, LeafPart* out) const {
    const uint16_t* levels = found.def.empty() ? nullptr : found.def.data();
    const LaValues place = out->place(count, value_bits);
    if (place.values == nullptr) return above_limit();
    uint8_t* to = place.values;
    for (int64_t list = 0; list < count; ++list) {
      const uint16_t* of_list = levels == nullptr ? nullptr : levels + list * form_.items_per_list;
      if (of_list != nullptr) {
        const uint16_t level = outer_level(of_list[0]);
        for (int64_t item = 1; item < form_.items_per_list; ++item)
          if (outer_level(of_list[item]) != level) return corrupt("items of a list differ in whether it is null", list);
        out->def.push_back(level);
      }
      for (size_t layer = 0; layer < form_.bitmap_bits.size(); ++layer) to = put_bitmap(layer, of_list, to);
      copy_padded_bits(found.values.data(), list * form_.item_bits, form_.item_bits, to);
      to += bytes_of(form_.item_bits);
    }
    out->took(count, place);
    return success();
  }

  uint16_t outer_level(uint16_t level) const {
    return level > form_.own_levels ? static_cast<uint16_t>(level - form_.own_levels) : 0;
  }

  // A bit for each slot of a layer, set where it is not null: its first item tells.
  uint8_t* put_bitmap(size_t layer, const uint16_t* levels, uint8_t* to) const {
    const int64_t bits = form_.bitmap_bits[layer];
    if (bits == 0) return to;
    const int64_t step = form_.items_per_list / bits;
    std::memset(to, 0, static_cast<size_t>(bytes_of(bits)));
    for (int64_t slot = 0; slot < bits; ++slot)
      if (levels == nullptr || levels[slot * step] < form_.null_levels[layer])
        to[slot / 8] = static_cast<uint8_t>(to[slot / 8] | 1u << slot % 8);
    return to + bytes_of(bits);
  }

  const FlattenedForm form_;
  const Page* items_;
};

}  // namespace

Page* new_flattened_page(const FlattenedForm& form, const Page* items) { return new FlattenedPage(form, items); }

}  // namespace lance_arrow::engine
