// From levels to the slots of every layer: offsets of lists, validity of everything (spec 2).
//
// Layers are divided into groups. Group 0 is everything inside the inner-most list. Group g is the g-th list (counted
// from the inside) with the items around it up to the next list. An entry gives every layer of group g a slot iff
//
//     rep >= g            the g-th list, or a list around it, starts here, and
//     def <= reach[g]     nothing further out is a null or empty list.
//
// So one word of bits per group marks the slots of 64 entries. A layer's validity is one more comparison, and a list's
// offsets count the slots of the group inside. A null struct around a list leaves the list a slot of length 0.
//
// A list that is null, empty or a placeholder (def > reach[g - 1]) must start at its entry, and the next entry cannot
// continue it. So def > reach[g - 1], here or one entry before, requires rep >= g.
//
// A fixed-size list of structs is an item layer with one slot for every `dimension` slots of the layer inside. Each
// entry is repeated for it. Layers with the same slots form a tier: a list or a fixed-size list begins the next one.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/common/layer_kinds.hpp"
#include "engine/plan/level_masks.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

constexpr int kMaxLayers = 64;

struct LayerRule {
  int tier;
  bool is_list;
  bool nullable;
  uint16_t valid_def;  // largest level at which the layer itself is valid
  uint16_t empty_def;  // the level of an empty list where it follows a null level, else 0
};

// Layers that share their slots. The slots of a tier of dimension 0 are those of its group. A tier of another dimension
// has one slot for each `dimension` slots of the tier inside. Their entries must have the same levels above `below`.
struct Tier {
  int group;
  int64_t dimension;
  uint16_t below;
};

// Levels of fixed-size lists of structs as layers want them: only the entry of the first struct begins the lists around
// them. Writers repeat each entry for all structs, also the level that begins a list. Null or empty lists around them
// are refused: no writer says how many entries these have.
Outcome share_levels(const uint8_t* layers, int64_t num_layers, const int64_t* dimensions, uint16_t* rep,
                     const uint16_t* def, int64_t num_entries);

struct LayerPlan {
  int num_layers;
  int num_lists;
  int num_tiers;
  uint16_t reach[kMaxLayers + 1];  // per group: largest def that gives it slots
  Tier tiers[kMaxLayers + 1];
  LayerRule rules[kMaxLayers];  // inner-most first
};
Outcome plan_layers(const uint8_t* layers, int64_t num_layers, const int64_t* dimensions, int64_t num_dimensions,
                    LayerPlan* plan);

// One block of 64 entries: where each list starts or one around it, the slots of each group, and those of each tier.
struct SlotMasks {
  uint64_t starts[kMaxLayers + 1];
  uint64_t groups[kMaxLayers + 1];
  uint64_t slots[kMaxLayers + 1];
  uint64_t live;
};

// How far the fixed-size list that is being filled has come, and the level its first entry had.
struct OpenTuple {
  int64_t filled;
  uint16_t level;
};

// The slots of one block, after the check that every entry may stand where it stands.
inline Outcome slots_of_block(const LevelBlock* rep, const LevelBlock* def, int64_t start, const LayerPlan& plan,
                              uint64_t* closed, SlotMasks* masks) {
  const uint64_t live = masks->live;
  if (def != nullptr) {
    const uint64_t above = ~def->at_most(plan.reach[plan.num_lists]) & live;
    if (above != 0) return corrupt("a definition level is above what the layers use", start + std::countr_zero(above));
  }
  masks->groups[0] = live;
  if (plan.num_lists == 0) return success();
  const uint64_t above = ~rep->at_most(static_cast<uint16_t>(plan.num_lists)) & live;
  if (above != 0) return corrupt("a repetition level is above the number of lists", start + std::countr_zero(above));
  for (int list = 1; list <= plan.num_lists; ++list) {
    const uint64_t starts = ~rep->at_most(static_cast<uint16_t>(list - 1)) & live;
    const uint64_t reached = def == nullptr ? live : def->at_most(plan.reach[list - 1]) & live;
    const uint64_t ends = live & ~reached;
    const uint64_t wrong = (ends | (ends << 1) | closed[list]) & ~starts & live;
    if (wrong != 0) return corrupt("an entry continues a list that is not open", start + std::countr_zero(wrong));
    closed[list] = ends >> 63;
    masks->groups[list - 1] &= reached;
    masks->groups[list] = masks->starts[list] = starts;
  }
  return success();
}

// Finds the slots of a tier of fixed-size lists: the first of every `dimension` slots of the tier inside. `borders` are
// the entries where a list around them starts, or nothing.
inline Outcome slots_of_tuples(const LevelStreams& streams, const Tier& tier, uint64_t inner, uint64_t borders,
                               int64_t start, OpenTuple* open, uint64_t* slots) {
  *slots = 0;
  for (uint64_t left = inner | borders; left != 0; left &= left - 1) {
    const uint64_t bit = left & -left;
    const int64_t entry = start + std::countr_zero(left);
    if ((borders & bit) != 0 && open->filled != 0) return corrupt("a list begins inside a fixed-size list", entry);
    if ((inner & bit) == 0) continue;
    const uint16_t level = streams.def == nullptr ? tier.below : std::max(streams.def[entry], tier.below);
    if (open->filled == 0) {
      *slots |= bit;
      open->level = level;
    } else if (level != open->level) {
      return corrupt("the entries of a fixed-size list disagree", entry);
    }
    if (++open->filled == tier.dimension) open->filled = 0;
  }
  return success();
}

inline Outcome slots_of_tiers(const LevelStreams& streams, const LayerPlan& plan, int64_t start, OpenTuple* open,
                              SlotMasks* masks) {
  for (int tier = 0; tier < plan.num_tiers; ++tier) {
    const Tier& one = plan.tiers[tier];
    if (one.dimension == 0) {
      masks->slots[tier] = masks->groups[one.group];
      continue;
    }
    const uint64_t borders = one.group < plan.num_lists ? masks->starts[one.group + 1] : 0;
    const Outcome outcome =
        slots_of_tuples(streams, one, masks->slots[tier - 1], borders, start, &open[tier], &masks->slots[tier]);
    if (outcome.message != nullptr) return outcome;
  }
  return success();
}

// Walks the entries, checks them, and calls visit(SlotMasks, def block or null).
template <class Visit>
Outcome for_each_block(const LevelStreams& streams, const LayerPlan& plan, Visit&& visit) {
  if ((streams.rep != nullptr) != (plan.num_lists > 0))
    return misuse("repetition levels exist exactly where there are lists");
  const uint16_t no_levels[kBlock] = {};
  uint64_t closed[kMaxLayers + 1];  // bit 0: the entry before the block left the g-th list closed
  std::fill(closed, closed + kMaxLayers + 1, uint64_t{1});
  OpenTuple open[kMaxLayers + 1] = {};
  SlotMasks masks;
  for (int64_t start = 0; start < streams.num_entries; start += kBlock) {
    masks.live = low_bits(streams.num_entries - start);
    const bool has_rep = streams.rep != nullptr;
    const bool has_def = streams.def != nullptr;
    const LevelBlock rep(has_rep ? streams.rep : no_levels, has_rep ? start : 0,
                         has_rep ? streams.num_entries : kBlock);
    const LevelBlock def(has_def ? streams.def : no_levels, has_def ? start : 0,
                         has_def ? streams.num_entries : kBlock);
    Outcome outcome = slots_of_block(&rep, has_def ? &def : nullptr, start, plan, closed, &masks);
    if (outcome.message == nullptr) outcome = slots_of_tiers(streams, plan, start, open, &masks);
    if (outcome.message == nullptr) outcome = visit(masks, has_def ? &def : nullptr);
    if (outcome.message != nullptr) return outcome;
  }
  for (int tier = 0; tier < plan.num_tiers; ++tier)
    if (open[tier].filled != 0) return corrupt("the last fixed-size list is not full", streams.num_entries);
  return success();
}

inline Outcome measure_layers(const LevelStreams& streams, const LayerPlan& plan, int64_t* out_slots) {
  int64_t slots[kMaxLayers + 1] = {};
  const Outcome outcome = for_each_block(streams, plan, [&](const SlotMasks& masks, const LevelBlock*) {
    for (int tier = 0; tier < plan.num_tiers; ++tier) slots[tier] += std::popcount(masks.slots[tier]);
    return success();
  });
  if (outcome.message != nullptr) return outcome;
  for (int layer = 0; layer < plan.num_layers; ++layer) out_slots[layer] = slots[plan.rules[layer].tier];
  return success();
}

// Memory of one layer; null pointers where the destination wants nothing.
struct LayerOut {
  uint8_t* validity;
  int64_t validity_bytes;
  void* offsets;
  int64_t num_offsets;
  int offset_bits;
};

template <class Offset>
inline void write_offsets(Offset* out, uint64_t slots, uint64_t items, int64_t first_item) {
  const bool dense = (items & (items + 1)) == 0;  // items are the low bits: below slot b there are min(b, all) of them
  if (dense) {
    const int all = std::popcount(items);
    for (; slots != 0; slots &= slots - 1)
      *out++ = static_cast<Offset>(first_item + std::min(std::countr_zero(slots), all));
    return;
  }
  for (; slots != 0; slots &= slots - 1)
    *out++ = static_cast<Offset>(first_item + std::popcount(items & ((slots & -slots) - 1)));
}

class Unraveller {
 public:
  Unraveller(const LayerPlan& plan, const LayerOut* out, int64_t* slots, int64_t* null_counts)
      : plan_(plan), out_(out), slots_(slots), null_counts_(null_counts) {}

  Outcome open() {
    for (int layer = 0; layer < plan_.num_layers; ++layer) {
      const LayerOut& out = out_[layer];
      const int64_t slot = slots_[layer];
      if (slot < 0) return misuse("a layer begins at a negative slot", layer);
      if (out.validity != nullptr) {
        if (slot > out.validity_bytes * 8) return misuse("a layer's bitmap is too small", layer);
        bits_[layer] = BitAppender(out.validity, out.validity_bytes, slot);
      }
      if (out.offsets != nullptr && slot >= out.num_offsets) return misuse("a list's offsets are too few", layer);
    }
    return success();
  }

  Outcome block(const SlotMasks& masks, const LevelBlock* def) {
    // Outer layers first: a list's offsets count the slots that the layer inside had before this block.
    for (int layer = plan_.num_layers - 1; layer >= 0; --layer) {
      const LayerRule& rule = plan_.rules[layer];
      const uint64_t slots = masks.slots[rule.tier];
      const int count = std::popcount(slots);
      const Outcome validity = append_validity(layer, rule, slots, count, def);
      if (validity.message != nullptr) return validity;
      if (rule.is_list && out_[layer].offsets != nullptr) {
        if (count >= out_[layer].num_offsets - slots_[layer]) return misuse("a list's offsets are too few", layer);
        const uint64_t items = masks.slots[rule.tier - 1];
        if (!offsets(layer, slots, items)) return misuse("a list has more items than its offsets can count", layer);
      }
      slots_[layer] += count;
    }
    return success();
  }

  Outcome finish() {
    for (int layer = 0; layer < plan_.num_layers; ++layer) {
      if (bits_[layer].exists()) bits_[layer].finish();
      if (plan_.rules[layer].is_list && out_[layer].offsets != nullptr && !offsets(layer, 1, 0))
        return misuse("a list has more items than its offsets can count", layer);
    }
    return success();
  }

 private:
  Outcome append_validity(int layer, const LayerRule& rule, uint64_t slots, int count, const LevelBlock* def) {
    uint64_t valid = slots;
    if (rule.nullable && def != nullptr) {
      valid = def->at_most(rule.valid_def);
      if (rule.empty_def != 0)
        valid |= def->at_most(rule.empty_def) & ~def->at_most(static_cast<uint16_t>(rule.empty_def - 1));
      valid &= slots;
    }
    const int nulls = count - std::popcount(valid);
    null_counts_[layer] += nulls;
    if (!bits_[layer].exists()) return nulls == 0 ? success() : misuse("a layer has nulls but no bitmap", layer);
    // A word of low bits is packed already, and so is one without nulls.
    const uint64_t packed = nulls == 0                   ? low_bits(count)
                            : (slots & (slots + 1)) == 0 ? valid
                                                         : compress_bits(valid, slots);
    return bits_[layer].append(packed, count) ? success() : misuse("a layer's bitmap is too small", layer);
  }

  bool offsets(int layer, uint64_t slots, uint64_t items) {
    const int64_t first_item = slots_[layer - 1];
    if (out_[layer].offset_bits == 64) {
      write_offsets(static_cast<int64_t*>(out_[layer].offsets) + slots_[layer], slots, items, first_item);
      return true;
    }
    constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
    if (first_item + kBlock > kLargest && first_item + std::popcount(items) > kLargest) return false;
    write_offsets(static_cast<int32_t*>(out_[layer].offsets) + slots_[layer], slots, items, first_item);
    return true;
  }

  const LayerPlan& plan_;
  const LayerOut* out_;
  int64_t* slots_;
  int64_t* null_counts_;
  BitAppender bits_[kMaxLayers];
};

inline Outcome unravel(const LevelStreams& streams, const LayerPlan& plan, const LayerOut* out, int64_t* slots,
                       int64_t* null_counts) {
  Unraveller unraveller(plan, out, slots, null_counts);
  Outcome outcome = unraveller.open();
  if (outcome.message != nullptr) return outcome;
  outcome = for_each_block(streams, plan,
                           [&](const SlotMasks& masks, const LevelBlock* def) { return unraveller.block(masks, def); });
  return outcome.message != nullptr ? outcome : unraveller.finish();
}

}  // namespace lance_arrow::engine
