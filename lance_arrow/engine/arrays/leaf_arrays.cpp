#include "engine/arrays/leaf_arrays.hpp"

#include <algorithm>

#include "engine/common/bitmaps.hpp"
#include "engine/plan/level_masks.hpp"

namespace lance_arrow::engine {

namespace {

template <class Visit>
Outcome for_each_level_part(const Leaf& leaf, Visit&& visit) {
  for (const auto& part : leaf.parts)
    for (const LevelPart& levels : part->levels) {
      const LevelStreams streams{levels.rep_at < 0 ? nullptr : part->rep.data() + levels.rep_at,
                                 levels.def_at < 0 ? nullptr : part->def.data() + levels.def_at, levels.num_entries};
      const Outcome outcome = visit(streams, *levels.layers);
      if (outcome.message != nullptr) return outcome.in_page(levels.page_row);
    }
  return success();
}

bool has_lists(const Leaf& leaf) {
  for (const int bits : leaf.offset_bits)
    if (bits != 0) return true;
  return false;
}

// Whether nodes differ in their slots.
bool is_nested(const Leaf& leaf) { return has_lists(leaf) || !leaf.dimensions.empty(); }

// Level at which a node is null, 0 where it cannot be.
int null_level(const std::vector<uint8_t>& layers, size_t node) {
  if (layers[node] != kNullableItem) return 0;
  int level = 0;
  for (size_t layer = 0; layer <= node; ++layer) level += num_def_levels(layers[layer]);
  return level;
}

// Offsets may lie anywhere: what the loop reads is copied to variables first, or compilers would read it in each step.
template <class Offset>
void store_offsets(const int64_t* __restrict ends, int64_t count, int64_t base, uint8_t* __restrict offsets) {
  for (int64_t value = 0; value < count; ++value)
    store<Offset>(offsets, value, static_cast<Offset>(base + ends[value]));
}

template <class Offset>
void copy_variable(const Leaf& leaf, uint8_t* values, uint8_t* offsets) {
  int64_t base = 0;
  store<Offset>(offsets, 0, 0);
  uint8_t* to = offsets + sizeof(Offset);
  for (const auto& part : leaf.parts) {
    if (values != nullptr) copy_bytes(values + base, part->values.data(), part->num_bytes);
    store_offsets<Offset>(part->ends.data(), part->num_values, base, to);
    to += part->num_values * static_cast<int64_t>(sizeof(Offset));
    base += part->num_bytes;
  }
}

Outcome plan_leaf(const Leaf& leaf, const std::vector<uint8_t>& layers, LayerPlan* plan) {
  return plan_layers(layers.data(), static_cast<int64_t>(layers.size()), leaf.dimensions.data(),
                     static_cast<int64_t>(leaf.dimensions.size()), plan);
}

}  // namespace

Outcome share_levels(Leaf* leaf) {
  if (leaf->dimensions.empty() || !has_lists(*leaf)) return success();
  for (const auto& part : leaf->parts)
    for (const LevelPart& levels : part->levels) {
      if (levels.is_shared || levels.rep_at < 0) continue;
      if (levels.layers->size() != leaf->dimensions.size()) return misuse("layers and nodes differ in number");
      const uint16_t* def = levels.def_at < 0 ? nullptr : part->def.data() + levels.def_at;
      const Outcome outcome =
          share_levels(levels.layers->data(), static_cast<int64_t>(levels.layers->size()), leaf->dimensions.data(),
                       part->rep.data() + levels.rep_at, def, levels.num_entries);
      if (outcome.message != nullptr) return outcome.in_page(levels.page_row);
    }
  return success();
}

Outcome measure_leaf(const Leaf& leaf, int64_t* slots, bool* nullable) {
  const size_t num_nodes = leaf.offset_bits.size();
  std::fill(slots, slots + num_nodes, 0);
  const bool nested = is_nested(leaf);
  std::fill(nullable, nullable + num_nodes, nested);
  return for_each_level_part(leaf, [&](const LevelStreams& streams, const std::vector<uint8_t>& layers) {
    if (layers.size() != num_nodes) return misuse("layers and nodes differ in number");
    // Where a page has lists of its own, offsets of the schema's would be left unwritten.
    for (size_t node = 0; node < num_nodes; ++node)
      if (is_list_kind(layers[node]) != (leaf.offset_bits[node] != 0)) return misuse("layers and nodes differ in kind");
    if (!nested) {
      for (size_t node = 0; node < num_nodes; ++node) {
        slots[node] += streams.num_entries;
        const int level = null_level(layers, node);
        if (nullable[node] || level == 0 || streams.def == nullptr) continue;
        nullable[node] = find_above(streams.def, 0, streams.num_entries, static_cast<uint16_t>(level - 1)) >= 0;
      }
      return success();
    }
    LayerPlan plan;
    int64_t counts[kMaxLayers];
    Outcome outcome = plan_leaf(leaf, layers, &plan);
    if (outcome.message == nullptr) outcome = measure_layers(streams, plan, counts);
    if (outcome.message != nullptr) return outcome;
    for (size_t node = 0; node < num_nodes; ++node) slots[node] += counts[node];
    return success();
  });
}

namespace {

Outcome fill_flat(const Leaf& leaf, NodeOut* nodes) {
  for (size_t node = 0; node < leaf.offset_bits.size(); ++node) {
    if (nodes[node].validity == nullptr) continue;
    int64_t at = 0;
    const int64_t num_bytes = (nodes[node].slots + 7) / 8;
    const Outcome outcome =
        for_each_level_part(leaf, [&](const LevelStreams& streams, const std::vector<uint8_t>& layers) {
          const int level = null_level(layers, node);
          int64_t nulls = 0;
          const Outcome written = level == 0 || streams.def == nullptr
                                      ? fill_bits(nodes[node].validity, num_bytes, at, streams.num_entries, true)
                                      : validity_from_levels(streams.def, streams.num_entries, level,
                                                             nodes[node].validity, num_bytes, at, &nulls);
          at += streams.num_entries;
          nodes[node].null_count += nulls;
          return written;
        });
    if (outcome.message != nullptr) return outcome;
  }
  return success();
}

Outcome fill_nested(const Leaf& leaf, NodeOut* nodes) {
  const size_t num_nodes = leaf.offset_bits.size();
  LayerOut out[kMaxLayers];
  int64_t slots[kMaxLayers] = {}, null_counts[kMaxLayers] = {};
  for (size_t node = 0; node < num_nodes; ++node) {
    const int bits = leaf.offset_bits[node];
    out[node] = {nodes[node].validity, (nodes[node].slots + 7) / 8, nodes[node].offsets,
                 bits ? nodes[node].slots + 1 : 0, bits};
    if (bits != 0) std::memset(nodes[node].offsets, 0, static_cast<size_t>(bits / 8));
  }
  const Outcome outcome =
      for_each_level_part(leaf, [&](const LevelStreams& streams, const std::vector<uint8_t>& layers) {
        LayerPlan plan;
        const Outcome planned = plan_leaf(leaf, layers, &plan);
        return planned.message != nullptr ? planned : unravel(streams, plan, out, slots, null_counts);
      });
  for (size_t node = 0; node < num_nodes; ++node) nodes[node].null_count = null_counts[node];
  return outcome;
}

}  // namespace

Outcome fill_structure(const Leaf& leaf, NodeOut* nodes) {
  if (leaf.offset_bits.size() > kMaxLayers) return misuse("there must be 1 to 64 layers");
  return is_nested(leaf) ? fill_nested(leaf, nodes) : fill_flat(leaf, nodes);
}

namespace {

// One field of all rows, of whole bytes; a width that the compiler knows is one move.
template <int kWidth>
void split_bytes(const Leaf& leaf, int64_t first_byte, int64_t width, uint8_t* to) {
  const int64_t row_bytes = leaf.value_bits / 8;
  for (const auto& part : leaf.parts) {
    const uint8_t* from = part->values.data() + first_byte;
    for (int64_t row = 0; row < part->num_values; ++row, from += row_bytes, to += width) {
      if (kWidth > 0) std::memcpy(to, from, kWidth);
      else copy_bytes(to, from, width);
    }
  }
}

// One field of all rows, of bits: the bits of each row behind those of the row before, words at a time.
void split_bits(const Leaf& leaf, int64_t first_byte, int64_t bits, uint8_t* to) {
  const int64_t row_bytes = leaf.value_bits / 8;
  uint64_t held = 0;
  int64_t num_held = 0;
  for (const auto& part : leaf.parts) {
    const uint8_t* row_start = part->values.data() + first_byte;
    for (int64_t row = 0; row < part->num_values; ++row, row_start += row_bytes) {
      for (int64_t at = 0; at < bits; at += 64) {
        const int64_t some = std::min<int64_t>(bits - at, 64);
        const uint64_t word = peek_word(row_start, at, some);
        held |= word << num_held;
        num_held += some;
        if (num_held < 64) continue;
        store<uint64_t>(to, 0, held);
        to += 8;
        num_held -= 64;
        held = num_held == 0 ? 0 : word >> (some - num_held);
      }
    }
  }
  std::memcpy(to, &held, static_cast<size_t>((num_held + 7) / 8));
}

}  // namespace

void split_fields(const Leaf& leaf, uint8_t* const* fields) {
  int64_t first_byte = 0;
  for (size_t field = 0; field < leaf.field_bits.size(); ++field) {
    const int64_t bits = leaf.field_bits[field], width = (bits + 7) / 8;
    uint8_t* to = fields[field];
    if (bits % 8 != 0) {
      split_bits(leaf, first_byte, bits, to);
    } else {
      switch (width) {
        case 0: break;
        case 1: split_bytes<1>(leaf, first_byte, width, to); break;
        case 2: split_bytes<2>(leaf, first_byte, width, to); break;
        case 4: split_bytes<4>(leaf, first_byte, width, to); break;
        case 8: split_bytes<8>(leaf, first_byte, width, to); break;
        case 32: split_bytes<32>(leaf, first_byte, width, to); break;
        default: split_bytes<0>(leaf, first_byte, width, to);
      }
    }
    first_byte += width;
  }
}

void copy_values(const Leaf& leaf, uint8_t* values, uint8_t* offsets, int offset_bits) {
  if (leaf.lent) return;
  if (leaf.value_bits == 0) {
    if (offset_bits == 32) copy_variable<int32_t>(leaf, values, offsets);
    else copy_variable<int64_t>(leaf, values, offsets);
    return;
  }
  int64_t at = 0;
  for (const auto& part : leaf.parts) {
    if (leaf.value_bits == 1) copy_bit_run(part->values.data(), 0, values, at, part->num_values);
    else copy_bytes(values + at * (leaf.value_bits / 8), part->values.data(), part->num_values * (leaf.value_bits / 8));
    at += part->num_values;
  }
}

}  // namespace lance_arrow::engine
