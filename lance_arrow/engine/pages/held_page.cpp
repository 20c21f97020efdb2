#include "engine/pages/held_page.hpp"

#include <vector>

#include "lance_arrow/scratch.hpp"

namespace lance_arrow::engine {

namespace {

class HeldPage : public Page {
 public:
  explicit HeldPage(const HeldForm& form) : form_(form) {
    value_bits = form.keeps_items ? 8 * form.index_bytes : form.items.bits;
  }

  bool has_few_items() const override { return !form_.keeps_items && form_.items.num_items <= num_rows / kRowsPerItem; }
  const Items* items() const override { return form_.keeps_items ? nullptr : &form_.items; }
  const Items* kept_items() const override { return form_.keeps_items ? &form_.items : nullptr; }

  Outcome plan(const LaRuns&, Ranges* out) const override {
    out->clear();
    return success();
  }

  Outcome open(const LaRuns& rows, const Ranges&, const Fetched&, LeafPart* out) const override {
    if (!runs_fit(rows, num_rows)) return misuse("rows lie outside the pages");
    const int64_t count = num_selected(rows);
    if (form_.keeps_items) {
      const LaValues place = out->place(count, value_bits);
      if (place.values == nullptr) return above_limit();
      copy_fixed_runs(form_.indices, form_.index_bytes, rows, place.values);
      const Outcome outcome = form_.items.settle(place.values, form_.index_bytes, nullptr, count);
      if (outcome.message == nullptr) out->took(count, place);
      return outcome;
    }
    const Leased<std::vector<uint8_t>> chosen;
    if (count > out->limit / form_.index_bytes) return above_limit();
    chosen->resize(static_cast<size_t>(count * form_.index_bytes));
    copy_fixed_runs(form_.indices, form_.index_bytes, rows, chosen->data());
    return out->append_items({chosen->data(), nullptr, count}, form_.index_bytes, form_.items);
  }

 private:
  const HeldForm form_;
};

}  // namespace

Page* new_held_page(const HeldForm& form) { return new HeldPage(form); }

}  // namespace lance_arrow::engine
