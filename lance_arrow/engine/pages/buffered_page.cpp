#include "engine/pages/buffered_page.hpp"

namespace lance_arrow::engine {

namespace {

class BufferedPage : public Page {
 public:
  BufferedPage(const Page* page, const uint8_t* data, int64_t num_bytes)
      : inner_(page), data_(data), num_bytes_(num_bytes) {
    value_bits = page->value_bits;
    parts = page->parts;
    layers = page->layers;
  }

  int64_t batch_stop(int64_t row) const override { return inner_->batch_stop(row); }
  int64_t close_stop(int64_t row) const override { return inner_->close_stop(row); }
  bool has_few_items() const override { return inner_->has_few_items(); }
  const Items* items() const override { return inner_->items(); }
  const Items* kept_items() const override { return inner_->kept_items(); }

  Outcome plan(const LaRuns&, Ranges* out) const override {
    out->clear();
    return success();
  }

  Outcome open(const LaRuns& rows, const Ranges&, const Fetched&, LeafPart* out) const override {
    Ranges wanted;
    const Outcome outcome = inner_->plan(rows, &wanted);
    if (outcome.message != nullptr) return outcome;
    for (size_t range = 0; range < wanted.starts.size(); ++range)
      if (!inside(wanted.starts[range], wanted.stops[range] - wanted.starts[range], num_bytes_))
        return corrupt("rows lie outside the data of their page", -1);
    return inner_->open(rows, wanted, {data_, wanted.starts.data()}, out);
  }

 private:
  const Page* inner_;
  const uint8_t* data_;
  const int64_t num_bytes_;
};

}  // namespace

Page* new_buffered_page(const Page* page, const uint8_t* data, int64_t num_bytes) {
  return new BufferedPage(page, data, num_bytes);
}

}  // namespace lance_arrow::engine
