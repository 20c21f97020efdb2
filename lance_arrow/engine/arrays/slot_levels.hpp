// Levels of a page whose structure is kept as positions: made of the slots of its layers.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/arrays/slots.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

// Rows, or slots of a leaf, of which the levels are made together.
constexpr int64_t kBatchSlots = 32 << 10;

// Slots that a layer lists, asked for in ascending order.
class Listed {
 public:
  Listed(const int64_t* slots, int64_t count) : slots_(slots), count_(count) {}

  // Calls `visit` for those from start to stop.
  template <class Visit>
  void each(int64_t start, int64_t stop, Visit&& visit) {
    skip_to(start);
    for (; at_ < count_ && slots_[at_] < stop; ++at_) visit(slots_[at_]);
  }
  bool has(int64_t slot) {
    skip_to(slot);
    return at_ < count_ && slots_[at_] == slot;
  }
  // The first one from start to stop; stop if there is none.
  int64_t next(int64_t start, int64_t stop) {
    skip_to(start);
    return at_ < count_ ? std::min(slots_[at_], stop) : stop;
  }
  // How many of them follow each other, from `start`, which is one, to stop.
  int64_t run(int64_t start, int64_t stop) const {
    const int64_t most = std::min(stop - start, count_ - at_);
    int64_t count = 1;
    while (count < most && slots_[at_ + count] == start + count) ++count;
    return count;
  }
  int64_t place() const { return at_; }

 private:
  void skip_to(int64_t slot) {
    if (at_ < count_ && slots_[at_] < slot) ++at_;
    if (at_ < count_ && slots_[at_] < slot) at_ = gallop(slots_, at_, count_, slot);
  }

  const int64_t* slots_;
  int64_t count_, at_ = 0;
};

// Makes levels of slots, list after list: rows, the items of each that is filled, and so on.
class SlotLevels {
 public:
  // `layers` are inner-most first. `rep` and `def` are 0, with room for all entries.
  SlotLevels(const std::vector<SlotLayer>& layers, int num_lists, uint16_t* rep, uint16_t* def)
      : num_lists_(static_cast<uint16_t>(num_lists)), rep_(rep), def_(def) {
    uint16_t level = 0;  // of the layers inside
    for (const SlotLayer& layer : layers) level = static_cast<uint16_t>(level + num_levels(layer));
    auto rank = static_cast<uint16_t>(num_lists);  // of the next list: the outer-most has the highest
    groups_.resize(1);
    for (size_t at = layers.size(); at-- > 0;) {
      const SlotLayer& layer = layers[at];
      Group& group = groups_.back();
      level = static_cast<uint16_t>(level - num_levels(layer));
      const auto null_level = static_cast<uint16_t>(level + 1);
      const Nulls nulls{Listed(layer.positions, layer.num_positions), layer.lists_nulls, null_level, 1};
      group.rep = rank;
      if (layer.list_slots == nullptr) {
        if (layer.num_positions > 0 || !layer.lists_nulls) group.nulls.push_back(nulls);
        if (layer.dimension == 0) continue;
        // What lies further out has as many slots of the group for each of its own.
        for (Nulls& outer : group.nulls) outer.slots_each *= layer.dimension;
        group.slots_each *= layer.dimension;
        continue;
      }
      group.lists.emplace(Lists{nulls, Listed(layer.list_slots, layer.num_lists), layer.item_starts});
      groups_.emplace_back();
      --rank;
    }
    groups_.back().rep = rank;
  }

  Outcome add_rows(int64_t start, int64_t stop) {
    const int64_t starts[] = {start, stop};
    return add(0, starts, &num_lists_, 1);
  }

  int64_t num_entries() const { return num_entries_; }
  int64_t num_values() const { return num_values_; }

 private:
  struct Nulls {
    Listed listed;
    bool lists_nulls;  // or else the slots that are valid
    uint16_t level;
    int64_t slots_each;  // of the group, in one slot of the layer

    bool has(int64_t slot) { return listed.has(slots_each == 1 ? slot : slot / slots_each) == lists_nulls; }
    template <class Visit>
    void each(int64_t start, int64_t stop, Visit&& visit) {
      if (slots_each == 1) return listed.each(start, stop, visit);
      listed.each(start / slots_each, stop / slots_each, [&](int64_t slot) {
        for (int64_t one = slot * slots_each; one < (slot + 1) * slots_each; ++one) visit(one);
      });
    }
  };
  struct Lists {
    Nulls nulls;
    Listed filled;
    const int64_t* item_starts;
  };
  // Layers with the same slots; fixed-size lists of structs have fewer, and count as these structs.
  struct Group {
    std::vector<Nulls> nulls;  // of layers that are no lists, outer-most first
    std::optional<Lists> lists;
    int64_t slots_each = 1;  // in one slot of the outer-most layer
    uint16_t rep = 0;  // of slots that are not the first of a list
    std::vector<uint16_t> reps;  // of lists that follow each other

    // Of the outer-most layer that is null; 0 where none is.
    uint16_t null_level(int64_t slot) {
      for (Nulls& one : nulls)
        if (one.has(slot)) return one.level;
      return 0;
    }
  };

  static int num_levels(const SlotLayer& layer) { return layer.list_slots != nullptr ? 2 : 1; }

  // Adds the slots of `count` lists that follow each other: list i has starts[i] .. starts[i + 1], of which the first
  // one begins what reps[i] says.
  Outcome add(size_t depth, const int64_t* starts, const uint16_t* reps, int64_t count) {
    Group& group = groups_[depth];
    const int64_t first = starts[0] * group.slots_each, stop = starts[count] * group.slots_each;
    if (!group.lists) {
      if (group.slots_each != 1) std::fill(rep_ + num_entries_, rep_ + num_entries_ + (stop - first), group.rep);
      for (int64_t list = 0; list < count; ++list)
        rep_[num_entries_ + starts[list] * group.slots_each - first] = reps[list];
      add_values(group, first, stop);
      return success();
    }
    Lists& lists = *group.lists;
    int64_t list = 0;
    const auto rep_of = [&](int64_t slot) {
      return list < count && starts[list] * group.slots_each == slot ? reps[list++] : group.rep;
    };
    for (int64_t slot = first; slot < stop;) {
      for (const int64_t filled = lists.filled.next(slot, stop); slot < filled; ++slot) {
        const uint16_t level = group.null_level(slot);
        rep_[num_entries_] = rep_of(slot);
        def_[num_entries_++] =
            level > 0 ? level : static_cast<uint16_t>(lists.nulls.level + (lists.nulls.has(slot) ? 0 : 1));
      }
      if (slot == stop) break;
      const int64_t place = lists.filled.place(), num_filled = lists.filled.run(slot, stop);
      group.reps.resize(static_cast<size_t>(num_filled));
      for (int64_t one = 0; one < num_filled; ++one, ++slot) {
        if (lists.nulls.has(slot) || group.null_level(slot) > 0)
          return corrupt("a null list, or struct, has items", slot);
        group.reps[static_cast<size_t>(one)] = rep_of(slot);
      }
      const Outcome outcome = add(depth + 1, lists.item_starts + place, group.reps.data(), num_filled);
      if (outcome.message != nullptr) return outcome;
    }
    return success();
  }

  void add_values(Group& group, int64_t start, int64_t stop) {
    uint16_t* to = def_ + num_entries_;
    // What is further out tells the level of what is null in several layers.
    for (size_t layer = group.nulls.size(); layer-- > 0;) {
      Nulls& nulls = group.nulls[layer];
      if (nulls.lists_nulls) {
        nulls.each(start, stop, [&](int64_t slot) { to[slot - start] = nulls.level; });
      } else {
        for (int64_t slot = start; slot < stop; ++slot)
          if (nulls.has(slot)) to[slot - start] = nulls.level;
      }
    }
    num_entries_ += stop - start;
    num_values_ += stop - start;
  }

  std::vector<Group> groups_;  // outer-most first
  uint16_t num_lists_;
  uint16_t *rep_, *def_;
  int64_t num_entries_ = 0, num_values_ = 0;
};

}  // namespace lance_arrow::engine
