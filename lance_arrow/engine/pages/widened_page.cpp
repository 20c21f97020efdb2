#include "engine/pages/widened_page.hpp"

#include <cstring>

#include "engine/common/bitmaps.hpp"

namespace lance_arrow::engine {

namespace {

class WidenedPage : public Page {
 public:
  WidenedPage(const Page* page, const std::vector<int64_t>& all_parts) : inner_(page) {
    num_rows = page->num_rows;
    layers = page->layers;
    has_shared_levels = page->has_shared_levels;
    dimensions = page->dimensions;
    parts = all_parts;
    for (size_t part = 0; part < parts.size(); ++part) {
      const bool is_items = part + 1 == parts.size();
      const bool is_there = is_items || (!page->parts.empty() && page->parts[part] != 0);
      add_step(is_there, bytes_of(parts[part]));
      value_bits += 8 * bytes_of(parts[part]);
    }
  }

  bool is_indexed() const override { return inner_->is_indexed(); }
  Outcome load_index(const PageBuffers& buffers, Fetcher* fetcher) const override {
    return inner_->load_index(buffers, fetcher);
  }
  int64_t batch_stop(int64_t row) const override { return inner_->batch_stop(row); }
  int64_t close_stop(int64_t row) const override { return inner_->close_stop(row); }
  Outcome plan(const LaRuns& rows, Ranges* out) const override { return inner_->plan(rows, out); }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    std::unique_ptr<LeafPart> narrow = borrow_part();
    narrow->limit = out->limit;
    Outcome outcome = inner_->open(rows, ranges, fetched, narrow.get());
    if (outcome.message == nullptr) {
      out->rep.insert(out->rep.end(), narrow->rep.begin(), narrow->rep.end());
      out->def.insert(out->def.end(), narrow->def.begin(), narrow->def.end());
      const LaValues place = out->place(narrow->num_values, value_bits);
      if (place.values == nullptr) outcome = above_limit();
      else widen(narrow->values.data(), narrow->num_values, place.values);
      if (outcome.message == nullptr) out->took(narrow->num_values, place);
    }
    give_back_part(std::move(narrow));
    return outcome;
  }

 private:
  // Bytes of a row that are copied, or bits that are set.
  struct Step {
    bool is_copied;
    int64_t num_bytes;
  };

  void add_step(bool is_copied, int64_t num_bytes) {
    if (steps_.empty() || steps_.back().is_copied != is_copied) steps_.push_back({is_copied, 0});
    steps_.back().num_bytes += num_bytes;
  }

  void widen(const uint8_t* from, int64_t num_values, uint8_t* to) const {
    for (int64_t value = 0; value < num_values; ++value)
      for (const Step& step : steps_) {
        if (step.is_copied) {
          copy_bytes(to, from, step.num_bytes);
          from += step.num_bytes;
        } else {
          std::memset(to, 0xFF, static_cast<size_t>(step.num_bytes));
        }
        to += step.num_bytes;
      }
  }

  const Page* inner_;
  std::vector<Step> steps_;
};

}  // namespace

std::unique_ptr<Page> new_widened_page(const Page* page, const std::vector<int64_t>& parts) {
  return std::make_unique<WidenedPage>(page, parts);
}

bool unite_values(const std::vector<int64_t>& list_parts, std::vector<PageRef>* pages,
                  std::vector<std::unique_ptr<Page>>* made) {
  bool are_equal = true;
  for (const PageRef& ref : *pages) {
    const Page& first = *pages->front().page;
    are_equal = are_equal && ref.page->value_bits == first.value_bits && ref.page->parts == first.parts;
  }
  if (are_equal || list_parts.empty()) return are_equal;
  for (PageRef& ref : *pages) {
    if (ref.page->parts == list_parts) continue;
    made->push_back(new_widened_page(ref.page, list_parts));
    ref.page = made->back().get();
  }
  return true;
}

}  // namespace lance_arrow::engine
