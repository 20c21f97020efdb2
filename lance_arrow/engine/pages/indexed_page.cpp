#include "engine/pages/indexed_page.hpp"

#include <atomic>
#include <mutex>

#include "engine/plan/fetch.hpp"
#include "engine/plan/leaf_reader.hpp"

namespace lance_arrow::engine {

namespace {

class IndexedPage : public Page {
 public:
  explicit IndexedPage(const IndexedForm& form) : form_(form) {
    value_bits = form.keeps_items ? form.indices->value_bits : form.items->value_bits;
  }

  bool is_indexed() const override { return is_indexed_.load(std::memory_order_acquire); }

  int64_t index_bytes() const override {
    if (!is_indexed()) return 0;
    return kept_bytes(held_) + lance_arrow::kept_bytes(offsets_) + lance_arrow::kept_bytes(nulls_);
  }

  Outcome load_index(const PageBuffers& buffers, Fetcher* fetcher) const override {
    const std::lock_guard<std::mutex> guard(lock_);
    if (is_indexed()) return success();
    PageRef ref{};
    ref.page = form_.items;
    ref.buffers = buffers;
    int64_t* starts[] = {&ref.data_start, &ref.second_start, &ref.third_start};
    int64_t* sizes[] = {&ref.data_bytes, &ref.second_bytes, &ref.third_bytes};
    for (size_t place = 0; place < 3; ++place) {
      const int buffer = form_.item_buffers[place];
      if (buffer < 0) continue;
      if (static_cast<size_t>(buffer) >= std::min(buffers.count, PageBuffers::kMost))
        return misuse("a page has another number of buffers");
      *starts[place] = buffers.starts[buffer];
      *sizes[place] = buffers.sizes[buffer];
    }
    held_.clear();
    held_.limit = form_.most_item_bytes;
    const int64_t start = 0, stop = form_.num_items;
    if (stop < 0 || stop > held_.limit) return above_limit(kDictionary);
    if (stop > 0) {
      Outcome outcome = read_leaf({ref}, fetcher->reader(), nullptr, {&start, &stop, 1}, &held_, &fetcher->count());
      // Items have no page of the column: what reads this one tells where it is.
      outcome.page_row = -1;
      if (outcome.blame == kLimit) outcome.index = kDictionary;
      if (outcome.message != nullptr) return outcome;
    }
    if (held_.num_values != stop) return misuse("a page has another number of items");
    note_items();
    is_indexed_.store(true, std::memory_order_release);
    return success();
  }

  int64_t batch_stop(int64_t row) const override { return form_.indices->batch_stop(row); }
  int64_t close_stop(int64_t row) const override { return form_.indices->close_stop(row); }
  Outcome plan(const LaRuns& rows, Ranges* out) const override { return form_.indices->plan(rows, out); }

  bool has_few_items() const override { return !form_.keeps_items && form_.num_items <= num_rows / kRowsPerItem; }
  const Items* items() const override { return form_.keeps_items ? nullptr : &items_; }
  const Items* kept_items() const override { return form_.keeps_items ? &items_ : nullptr; }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    std::unique_ptr<LeafPart> indices = borrow_part();
    indices->limit = out->limit;
    Outcome outcome = form_.indices->open(rows, ranges, fetched, indices.get());
    if (outcome.message == nullptr) outcome = append(*indices, out);
    give_back_part(std::move(indices));
    return outcome;
  }

 private:
  // Offsets of items of variable width, and which indices are null. Where index 0 is null, it is an empty item.
  void note_items() const {
    const auto count = static_cast<size_t>(form_.num_items);
    const size_t first = form_.keeps_items ? 0 : 1;
    if (first == 1 || !held_.def.empty()) {
      nulls_.assign(count + first, 0);
      if (first == 1) nulls_[0] = 1;
      for (size_t item = 0; item < held_.def.size() && item < count; ++item) nulls_[item + first] = held_.def[item] > 0;
    }
    items_.bits = form_.items->value_bits;
    items_.num_items = static_cast<int64_t>(count + first);
    items_.values = held_.values.data();
    items_.values_bytes = items_.bits == 0 ? held_.num_bytes : form_.num_items * (items_.bits / 8);
    if (items_.bits != 0) return;
    offsets_.assign(1 + first, 0);
    offsets_.insert(offsets_.end(), held_.ends.begin(), held_.ends.end());
    items_.offsets = reinterpret_cast<const uint8_t*>(offsets_.data());
    items_.offset_bits = 64;
  }

  Outcome append(const LeafPart& indices, LeafPart* out) const {
    const int64_t width = form_.indices->value_bits / 8, count = indices.num_values;
    const size_t at = out->def.size();
    out->def.resize(at + static_cast<size_t>(count));
    uint16_t* def = out->def.data() + at;
    const uint8_t* from = indices.values.data();
    for (int64_t value = 0; value < count; ++value) {
      const uint64_t index = index_at(from, width, value);
      const bool is_null = !indices.def.empty() && indices.def[static_cast<size_t>(value)] > 0;
      def[value] = is_null || (index < nulls_.size() && nulls_[static_cast<size_t>(index)] != 0) ? 1 : 0;
    }
    const ItemIndices wanted{from, def, count};
    if (form_.keeps_items) {
      const LaValues place = out->place(count, 8 * width);
      if (place.values == nullptr) return above_limit();
      copy_bytes(place.values, from, count * width);
      const Outcome outcome = items_.settle(place.values, width, def, count);
      if (outcome.message == nullptr) out->took(count, place);
      return outcome;
    }
    return out->append_items(wanted, width, items_);
  }

  static uint64_t index_at(const uint8_t* indices, int64_t width, int64_t value) {
    switch (width) {
      case 1: return load<uint8_t>(indices, value);
      case 2: return load<uint16_t>(indices, value);
      case 4: return load<uint32_t>(indices, value);
      default: return load<uint64_t>(indices, value);
    }
  }

  const IndexedForm form_;
  mutable std::mutex lock_;
  // What was read, by one thread, before `is_indexed_`.
  mutable LeafPart held_;
  mutable std::vector<int64_t> offsets_;
  mutable std::vector<uint8_t> nulls_;  // of each index; empty where none is null
  mutable Items items_;
  mutable std::atomic<bool> is_indexed_ = false;
};

}  // namespace

Page* new_indexed_page(const IndexedForm& form) { return new IndexedPage(form); }

}  // namespace lance_arrow::engine
