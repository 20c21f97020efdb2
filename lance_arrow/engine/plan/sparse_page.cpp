#include "engine/plan/sparse_page.hpp"

#include "engine/common/layer_kinds.hpp"
#include "engine/common/scratch.hpp"

namespace lance_arrow::engine {

namespace {

// Rows, or slots of a leaf, that are opened together.
constexpr int64_t kBatchSlots = 32 << 10;

// Selected slots of a layer.
struct SlotRuns {
  std::vector<int64_t> starts, stops;

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

// Levels in the making, and the slot of each entry in the layer that is next; -1 where none is left.
struct Entries {
  std::vector<uint16_t> rep, def;
  std::vector<int64_t> slots;

  // Makes room for as many entries, whose levels are 0.
  void clear(size_t most) {
    rep.assign(most, 0);
    def.assign(most, 0);
    slots.resize(most);
  }
  void shrink(size_t count) {
    rep.resize(count);
    def.resize(count);
    slots.resize(count);
  }
};

int64_t kept_bytes(const Entries& held) {
  return engine::kept_bytes(held.rep) + engine::kept_bytes(held.def) + engine::kept_bytes(held.slots);
}

// Slots that a layer lists, asked for in ascending order.
class Listed {
 public:
  Listed(const int64_t* slots, int64_t count) : slots_(slots), count_(count) {}

  bool has(int64_t slot) {
    if (at_ < count_ && slots_[at_] < slot) at_ = gallop(slots_, at_, count_, slot);
    return at_ < count_ && slots_[at_] == slot;
  }
  int64_t place() const { return at_; }

 private:
  const int64_t* slots_;
  int64_t count_, at_ = 0;
};

class SparsePage : public Page {
 public:
  SparsePage(const std::vector<SlotLayer>& layers, const Page* values) : layers_(layers), inner_(values) {
    value_bits = values->value_bits;
    parts = values->parts;
    for (const SlotLayer& layer : layers_) num_lists_ += layer.list_slots != nullptr ? 1 : 0;
  }

  const Items* kept_items() const override { return inner_->kept_items(); }

  // Rows are mapped to slots anew for each batch: so many of them that it costs little, and few enough for the cache.
  int64_t batch_stop(int64_t row) const override {
    const int64_t most = std::min(num_rows, row + kBatchSlots), first = leaf_slot(row);
    if (first >= leaf_slot(most)) return most;
    const int64_t stop = std::min(inner_->batch_stop(first), first + kBatchSlots);
    int64_t low = row + 1, high = most;  // the last row border whose slots end at or before `stop`
    while (low < high) {
      const int64_t middle = high - (high - low) / 2;
      if (leaf_slot(middle) <= stop) low = middle;
      else high = middle - 1;
    }
    return low;
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
      if (layer.list_slots != nullptr)
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

  SlotRuns leaf_runs(const LaRuns& rows) const {
    SlotRuns runs;
    for (int64_t run = 0; run < rows.num_runs; ++run) runs.add(rows.starts[run], rows.stops[run]);
    for (size_t at = layers_.size(); at-- > 0;)
      if (layers_[at].list_slots != nullptr) runs = inside(layers_[at], runs.view());
    return runs;
  }

  // Without lists, each row is an entry: the outer-most layer that is null tells its level.
  Outcome add_flat(const LaRuns& rows, LeafPart* out) const {
    int64_t count = 0;
    for (int64_t run = 0; run < rows.num_runs; ++run) count += rows.stops[run] - rows.starts[run];
    const size_t at = out->def.size();
    if (count > out->limit / 2 - static_cast<int64_t>(at)) return above_limit();
    out->def.resize(at + static_cast<size_t>(count), 0);
    for (size_t layer = 0; layer < layers_.size(); ++layer)
      mark_nulls(layers_[layer], rows, static_cast<uint16_t>(layer + 1), out->def.data() + at);
    return success();
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
    const Leased<Entries> first, second;
    Entries *entries = &*first, *inner = &*second;
    SlotRuns runs;
    for (int64_t run = 0; run < rows.num_runs; ++run) runs.add(rows.starts[run], rows.stops[run]);
    entries->clear(static_cast<size_t>(runs.count()));
    std::fill(entries->rep.begin(), entries->rep.end(), static_cast<uint16_t>(num_lists_));
    size_t entry = 0;
    for (size_t run = 0; run < runs.starts.size(); ++run)
      for (int64_t row = runs.starts[run]; row < runs.stops[run]; ++row) entries->slots[entry++] = row;
    int rank = num_lists_;  // of the next list: the outer-most has the highest
    uint16_t level = 0;  // of the layers inside
    for (const SlotLayer& layer : layers_) level = static_cast<uint16_t>(level + (layer.list_slots != nullptr ? 2 : 1));
    int64_t visible = static_cast<int64_t>(entry);
    for (size_t at = layers_.size(); at-- > 0;) {
      const SlotLayer& layer = layers_[at];
      level = static_cast<uint16_t>(level - (layer.list_slots != nullptr ? 2 : 1));
      const auto null_level = static_cast<uint16_t>(level + 1);
      if (layer.list_slots == nullptr) {
        if (layer.num_positions > 0 || !layer.lists_nulls) note_nulls(layer, null_level, entries);
        continue;
      }
      runs = inside(layer, runs.view());
      // A few bytes may declare any number of items.
      const int64_t most = out->limit / 16 - static_cast<int64_t>(entries->slots.size());
      if (runs.count() > most) return above_limit();
      inner->clear(entries->slots.size() + static_cast<size_t>(runs.count()));
      const Outcome outcome = enter_lists(layer, null_level, rank--, *entries, inner, &visible);
      if (outcome.message != nullptr) return outcome;
      std::swap(entries, inner);
    }
    if (visible != num_values) return corrupt("null structs hold lists with items", rows.starts[0]);
    out->rep.insert(out->rep.end(), entries->rep.begin(), entries->rep.end());
    out->def.insert(out->def.end(), entries->def.begin(), entries->def.end());
    return success();
  }

  // An entry that is null already keeps the level of the layer further out.
  static void note_nulls(const SlotLayer& layer, uint16_t null_level, Entries* entries) {
    Listed listed(layer.positions, layer.num_positions);
    for (size_t entry = 0; entry < entries->slots.size(); ++entry) {
      const int64_t slot = entries->slots[entry];
      if (slot >= 0 && entries->def[entry] == 0 && listed.has(slot) == layer.lists_nulls)
        entries->def[entry] = null_level;
    }
  }

  // Replaces lists by their items, and counts these. Null and empty lists, and those in null structs, stay as entries
  // without a slot. `out` has room for all.
  static Outcome enter_lists(const SlotLayer& layer, uint16_t null_level, int rank, const Entries& entries,
                             Entries* out, int64_t* num_items) {
    Listed listed(layer.positions, layer.num_positions), filled(layer.list_slots, layer.num_lists);
    size_t to = 0;
    *num_items = 0;
    for (size_t entry = 0; entry < entries.slots.size(); ++entry) {
      const int64_t slot = entries.slots[entry];
      const uint16_t rep = entries.rep[entry], def = entries.def[entry];
      const bool is_null = slot >= 0 && listed.has(slot) == layer.lists_nulls;
      const bool is_filled = slot >= 0 && filled.has(slot);
      if (!is_filled) {
        out->rep[to] = rep;
        out->def[to] = slot < 0 || def > 0 ? def : static_cast<uint16_t>(null_level + (is_null ? 0 : 1));
        out->slots[to++] = -1;
        continue;
      }
      if (is_null || def > 0) return corrupt("a null list has items", slot);
      const int64_t* starts = layer.item_starts + filled.place();
      const auto count = static_cast<size_t>(starts[1] - starts[0]);
      if (rank > 1) std::fill_n(out->rep.begin() + static_cast<std::ptrdiff_t>(to), count, rank - 1);
      out->rep[to] = rep;
      for (size_t item = 0; item < count; ++item) out->slots[to + item] = starts[0] + static_cast<int64_t>(item);
      to += count;
      *num_items += starts[1] - starts[0];
    }
    out->shrink(to);
    return success();
  }

  const std::vector<SlotLayer> layers_;
  const Page* inner_;
  int num_lists_ = 0;
};

}  // namespace

Page* new_sparse_page(const std::vector<SlotLayer>& layers, const Page* values) {
  return new SparsePage(layers, values);
}

std::vector<uint8_t> sparse_layer_kinds(const std::vector<SlotLayer>& layers) {
  std::vector<uint8_t> kinds;
  for (const SlotLayer& layer : layers)
    kinds.push_back(layer.list_slots != nullptr ? kNullAndEmptyList : kNullableItem);
  return kinds;
}

}  // namespace lance_arrow::engine
