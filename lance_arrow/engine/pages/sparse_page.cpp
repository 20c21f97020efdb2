#include "engine/pages/sparse_page.hpp"

#include <algorithm>
#include <limits>

#include "engine/arrays/slot_levels.hpp"
#include "engine/common/layer_kinds.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kMostSlots = std::numeric_limits<int64_t>::max();

// Selected slots of a layer.
struct SlotRuns {
  std::vector<int64_t> starts, stops;

  // The slots inside, where each has so many.
  void scale(int64_t dimension) {
    for (size_t run = 0; run < starts.size(); ++run) starts[run] *= dimension, stops[run] *= dimension;
  }
  void add(int64_t start, int64_t stop) {
    if (start >= stop) return;
    if (!stops.empty() && stops.back() == start) {
      stops.back() = stop;
    } else {
      starts.push_back(start);
      stops.push_back(stop);
    }
  }
  LaRuns view() const { return {starts.data(), stops.data(), static_cast<int64_t>(starts.size())}; }
  int64_t count() const {
    int64_t count = 0;
    for (size_t run = 0; run < starts.size(); ++run) count += stops[run] - starts[run];
    return count;
  }
};

class SparsePage : public Page {
 public:
  SparsePage(const std::vector<SlotLayer>& layers, int64_t lengths_per_row, const Page* values)
      : layers_(layers), lengths_(lengths_per_row), inner_(values) {
    value_bits = values->value_bits;
    has_shared_levels = true;
    for (const SlotLayer& layer : layers_) dimensions.push_back(layer.dimension);
    if (std::all_of(dimensions.begin(), dimensions.end(), [](int64_t one) { return one == 0; })) dimensions.clear();
    parts = values->parts;
    for (const SlotLayer& layer : layers_) num_lists_ += layer.list_slots != nullptr ? 1 : 0;
  }

  const Items* kept_items() const override { return inner_->kept_items(); }

  // Rows are mapped to slots anew for each batch: so many of them that it costs little, and few enough for the cache.
  int64_t batch_stop(int64_t row) const override {
    row /= lengths_;
    const int64_t most = std::min(num_rows / lengths_, row + kBatchSlots), first = leaf_slot(row);
    if (first >= leaf_slot(most)) return most * lengths_;
    const int64_t stop = std::min(inner_->batch_stop(first), first + kBatchSlots);
    int64_t low = row + 1, high = most;  // the last row border whose slots end at or before `stop`
    while (low < high) {
      const int64_t middle = high - (high - low) / 2;
      if (leaf_slot(middle) <= stop) low = middle;
      else high = middle - 1;
    }
    return low * lengths_;
  }

  Outcome plan(const LaRuns& rows, Ranges* out) const override {
    out->clear();
    const SlotRuns slots = leaf_runs(rows);
    return slots.starts.empty() ? success() : inner_->plan(slots.view(), out);
  }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    const SlotRuns slots = leaf_runs(rows);
    const size_t rep_at = out->rep.size(), def_at = out->def.size();
    const int64_t before = out->num_values;
    if (!slots.starts.empty()) {
      const Outcome outcome = inner_->open(slots.view(), ranges, fetched, out);
      if (outcome.message != nullptr) return outcome;
    }
    out->rep.resize(rep_at);
    out->def.resize(def_at);
    if (out->num_values - before != slots.count()) return misuse("values and slots differ in number");
    return num_lists_ == 0 ? add_flat(rows, out) : add_nested(rows, slots.count(), out);
  }

 private:
  // The slot of the leaf at which the slots of a row begin.
  int64_t leaf_slot(int64_t row) const {
    for (size_t at = layers_.size(); at-- > 0;) {
      const SlotLayer& layer = layers_[at];
      if (layer.dimension != 0) row *= layer.dimension;
      else if (layer.list_slots != nullptr)
        row = layer.item_starts[std::lower_bound(layer.list_slots, layer.list_slots + layer.num_lists, row) -
                                layer.list_slots];
    }
    return row;
  }

  // Selected slots of the layer inside, found in ascending order.
  static SlotRuns inside(const SlotLayer& layer, const LaRuns& runs) {
    SlotRuns found;
    int64_t place = 0;
    for (int64_t run = 0; run < runs.num_runs; ++run) {
      place = gallop(layer.list_slots, place, layer.num_lists, runs.starts[run]);
      const int64_t start = layer.item_starts[place];
      place = gallop(layer.list_slots, place, layer.num_lists, runs.stops[run]);
      found.add(start, layer.item_starts[place]);
    }
    return found;
  }

  // Slots of the outer-most layer: rows, of which the page counts several where that is a fixed-size list of structs.
  SlotRuns whole_runs(const LaRuns& rows) const {
    SlotRuns runs;
    for (int64_t run = 0; run < rows.num_runs; ++run) runs.add(rows.starts[run] / lengths_, rows.stops[run] / lengths_);
    return runs;
  }

  SlotRuns leaf_runs(const LaRuns& rows) const {
    SlotRuns runs = whole_runs(rows);
    for (size_t at = layers_.size(); at-- > 0;) {
      if (layers_[at].dimension != 0) runs.scale(layers_[at].dimension);
      else if (layers_[at].list_slots != nullptr) runs = inside(layers_[at], runs.view());
    }
    return runs;
  }

  // Without lists, each slot of the leaf is an entry: the outer-most layer that is null tells its level.
  Outcome add_flat(const LaRuns& selected, LeafPart* out) const {
    const SlotRuns slots = leaf_runs(selected);
    const LaRuns rows = slots.view();
    const int64_t count = slots.count();
    const size_t at = out->def.size();
    if (count > out->limit / 2 - static_cast<int64_t>(at)) return above_limit();
    out->def.resize(at + static_cast<size_t>(count), 0);
    int64_t slots_each = 1;  // of the leaf, in one slot of the layer
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      slots_each *= std::max<int64_t>(1, layers_[layer].dimension);
      const auto level = static_cast<uint16_t>(layer + 1);
      if (slots_each == 1) mark_nulls(layers_[layer], rows, level, out->def.data() + at);
      else mark_null_lists(layers_[layer], slots_each, rows, level, out->def.data() + at);
    }
    return success();
  }

  static void mark_null_lists(const SlotLayer& layer, int64_t slots_each, const LaRuns& slots, uint16_t level,
                              uint16_t* def) {
    Listed listed(layer.positions, layer.num_positions);
    for (int64_t run = 0; run < slots.num_runs; ++run)
      for (int64_t slot = slots.starts[run]; slot < slots.stops[run]; ++slot, ++def)
        if (listed.has(slot / slots_each) == layer.lists_nulls) *def = level;
  }

  static void mark_nulls(const SlotLayer& layer, const LaRuns& rows, uint16_t level, uint16_t* def) {
    const int64_t* listed = layer.positions;
    const int64_t* end = listed + layer.num_positions;
    for (int64_t run = 0; run < rows.num_runs; ++run) {
      const int64_t start = rows.starts[run], stop = rows.stops[run];
      listed = std::lower_bound(listed, end, start);
      if (layer.lists_nulls) {
        for (; listed != end && *listed < stop; ++listed) def[*listed - start] = level;
      } else {
        for (int64_t row = start; row < stop; ++row) {
          if (listed != end && *listed == row) ++listed;
          else def[row - start] = level;
        }
      }
      def += stop - start;
    }
  }

  Outcome add_nested(const LaRuns& rows, int64_t num_values, LeafPart* out) const {
    SlotRuns runs = whole_runs(rows);
    // Each slot is one entry at most. A few bytes may declare any number of them.
    const auto rep_at = static_cast<int64_t>(out->rep.size()), def_at = static_cast<int64_t>(out->def.size());
    const int64_t limit = out->limit / 4 - rep_at;
    int64_t most = runs.count();
    for (size_t at = layers_.size(); at-- > 0 && most <= limit;) {
      if (layers_[at].list_slots == nullptr && layers_[at].dimension == 0) continue;
      if (layers_[at].dimension != 0) runs.scale(layers_[at].dimension);
      else runs = inside(layers_[at], runs.view());
      most = runs.count() > limit - most ? limit + 1 : most + runs.count();
    }
    if (most > limit) return above_limit();
    out->rep.resize(static_cast<size_t>(rep_at + most));
    out->def.resize(static_cast<size_t>(def_at + most));
    SlotLevels levels(layers_, num_lists_, out->rep.data() + rep_at, out->def.data() + def_at);
    Outcome outcome = success();
    for (int64_t run = 0; run < rows.num_runs && outcome.message == nullptr; ++run)
      outcome = levels.add_rows(rows.starts[run] / lengths_, rows.stops[run] / lengths_);
    out->rep.resize(static_cast<size_t>(rep_at + levels.num_entries()));
    out->def.resize(static_cast<size_t>(def_at + levels.num_entries()));
    if (outcome.message != nullptr) return outcome;
    return levels.num_values() == num_values ? success() : misuse("values and slots differ in number");
  }

  const std::vector<SlotLayer> layers_;
  const int64_t lengths_;  // rows that the page counts for one slot of the outer-most layer
  const Page* inner_;
  int num_lists_ = 0;
};

// Whether numbers ascend from `first`, and end below `stop`.
bool ascend(const int64_t* numbers, int64_t count, int64_t first, int64_t stop) {
  for (int64_t at = 0; at < count; first = numbers[at++] + 1)
    if (numbers[at] < first) return false;
  return first <= stop;
}

}  // namespace

Outcome check_slot_layers(const std::vector<SlotLayer>& layers, int64_t num_rows, int64_t num_values) {
  int64_t num_slots = num_rows;
  for (size_t at = layers.size(); at-- > 0;) {
    const SlotLayer& layer = layers[at];
    if (!ascend(layer.positions, layer.num_positions, 0, num_slots)) return misuse("positions do not ascend");
    if (layer.dimension < 0 || (layer.dimension > 0 && num_slots > kMostSlots / layer.dimension))
      return misuse("there are more slots than can be counted");
    if (layer.dimension != 0) num_slots *= layer.dimension;
    if (layer.list_slots == nullptr) continue;
    if (!ascend(layer.list_slots, layer.num_lists, 0, num_slots)) return misuse("lists do not ascend");
    num_slots = kMostSlots;
    if (!ascend(layer.item_starts, layer.num_lists + 1, 0, num_slots)) return misuse("a list holds no items");
    num_slots = layer.item_starts[layer.num_lists];
  }
  if (layers.empty() || layers.front().list_slots != nullptr) return misuse("the inner-most layer is a list");
  return num_slots <= num_values ? success() : misuse("there are fewer values than slots");
}

Page* new_sparse_page(const std::vector<SlotLayer>& layers, int64_t lengths_per_row, const Page* values) {
  return new SparsePage(layers, lengths_per_row, values);
}

std::vector<uint8_t> sparse_layer_kinds(const std::vector<SlotLayer>& layers) {
  std::vector<uint8_t> kinds;
  for (const SlotLayer& layer : layers)
    kinds.push_back(layer.list_slots != nullptr ? kNullAndEmptyList : kNullableItem);
  return kinds;
}

}  // namespace lance_arrow::engine
