#include "engine/pages/places_page.hpp"

namespace lance_arrow::engine {

namespace {

// (position, size): no size and a position above 0 is no value, but (definition level << 16) | repetition level.
class PlacesPage : public Page {
 public:
  // `inner` outlives this page; `highest` is the largest definition level of this page's own layers.
  PlacesPage(const Page* inner, int highest) : inner_(inner), highest_(static_cast<uint64_t>(highest)) {
    value_bits = kPlaceBits;
  }

  bool is_indexed() const override { return inner_->is_indexed(); }
  Outcome load_index(const PageBuffers& buffers, Fetcher* fetcher) const override {
    return inner_->load_index(buffers, fetcher);
  }
  int64_t index_bytes() const override { return inner_->index_bytes(); }
  int64_t batch_stop(int64_t row) const override { return inner_->batch_stop(row); }
  Outcome plan(const LaRuns& rows, Ranges* out) const override { return inner_->plan(rows, out); }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    const size_t rep_before = out->rep.size(), def_before = out->def.size();
    const int64_t first = out->num_values;
    const Outcome opened = inner_->open(rows, ranges, fetched, out);
    if (opened.message != nullptr) return opened;
    bool has_structure = out->rep.size() != rep_before;
    for (size_t at = def_before; at < out->def.size(); ++at) has_structure |= out->def[at] != 0;
    if (has_structure) return corrupt("the places of blobs must not have a structure", 0);
    const int64_t count = out->num_values - first;
    // Batches of a page must agree on whether there are levels.
    out->def.resize(def_before + static_cast<size_t>(highest_ > 0 ? count : 0));
    uint16_t* levels = highest_ > 0 ? out->def.data() + def_before : nullptr;
    uint8_t* places = out->values.data() + first * (kPlaceBits / 8);
    for (int64_t value = 0; value < count; ++value) {
      const auto told = load<uint64_t>(places, 2 * value);
      const bool is_null = told != 0 && load<uint64_t>(places, 2 * value + 1) == 0;
      if (is_null && ((told & 0xFFFF) != 0 || told >> 16 > highest_))
        return corrupt("a blob without bytes has levels above those of its layers", value);
      if (levels != nullptr) levels[value] = is_null ? static_cast<uint16_t>(told >> 16) : 0;
      if (is_null) store<uint64_t>(places, 2 * value, 0);
    }
    return success();
  }

 private:
  const Page* inner_;
  uint64_t highest_;
};

}  // namespace

Page* new_places_page(const Page* inner, int highest) { return new PlacesPage(inner, highest); }

}  // namespace lance_arrow::engine
