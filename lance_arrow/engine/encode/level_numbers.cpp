#include "engine/encode/level_numbers.hpp"

#include <vector>

#include "engine/common/layer_kinds.hpp"

namespace lance_arrow::engine {

namespace {

bool is_around_list(const NodeTraits* nodes, int64_t num_nodes, int64_t node) {
  for (int64_t inner = node + 1; inner < num_nodes; ++inner)
    if (nodes[inner].is_list) return true;
  return false;
}

// A struct around a list, of which the schema allows nulls.
bool always_has_nulls(const NodeTraits* nodes, int64_t num_nodes, int64_t node) {
  return !nodes[node].is_list && nodes[node].nullable && is_around_list(nodes, num_nodes, node);
}

// If a struct or list inside a struct is never null, the reference takes nulls of the outer struct for items, or fails.
// It also reads the nulls of a struct from one field, even if another field stores them.
//
// It counts structs around lists wrongly if only some pages of a batch store nulls for them. So they are always
// nullable if the schema allows it. If the schema does not, releases 4.0.0 and 8.0.0 abort at a level for their nulls.
// These releases also lose items of lists in lists, if a page has no level for an empty list and others follow.
void add_for_reference(const NodeTraits* nodes, int64_t num_nodes, NodeSeen* seen) {
  bool is_null = false;
  int64_t num_lists = 0;
  for (int64_t node = 0; node < num_nodes; ++node) {
    num_lists += nodes[node].is_list;
    if (node + 1 == num_nodes) break;
    is_null |= seen[node].null != 0 || always_has_nulls(nodes, num_nodes, node);
    seen[node].null |= is_null;
    is_null &= !nodes[node].is_list;
  }
  for (int64_t node = 0; node < num_nodes && num_lists > 1; ++node)
    if (nodes[node].is_list && seen[node].null == 0) seen[node].empty = 1;
}

uint8_t layer_of(bool is_list, const NodeSeen& seen) {
  if (!is_list) return seen.null != 0 ? kNullableItem : kAllValidItem;
  if (seen.null != 0) return seen.empty != 0 ? kNullAndEmptyList : kNullableList;
  return seen.empty != 0 ? kEmptyableList : kAllValidList;
}

}  // namespace

void number_levels(const NodeTraits* nodes, int64_t num_nodes, NodeLevels* levels) {
  const auto stores_nulls = [&](int64_t node) {
    return nodes[node].has_validity || always_has_nulls(nodes, num_nodes, node);
  };
  uint16_t level = 0;
  for (int64_t node = num_nodes - 1; node >= 0; --node) {
    bool may_be_null = stores_nulls(node);
    // The leaf has no level for the reference alone; other nodes have one if those up to the next list may be null.
    for (int64_t outer = node - 1; node + 1 < num_nodes && outer >= 0 && !nodes[outer].is_list; --outer)
      may_be_null |= stores_nulls(outer);
    levels[node].null = may_be_null ? ++level : uint16_t{0};
    levels[node].empty = nodes[node].is_list ? ++level : uint16_t{0};
  }
}

void set_levels(const NodeLevels* levels, ShredNode* nodes, int64_t num_nodes) {
  uint16_t num_lists = 0, live = 0xFFFF;
  for (int64_t node = num_nodes - 1; node >= 0; --node) {
    nodes[node].null_level = levels[node].null;
    nodes[node].empty_level = levels[node].empty;
    nodes[node].inner_rep = num_lists;
    num_lists = static_cast<uint16_t>(num_lists + (nodes[node].offsets != nullptr));
  }
  for (int64_t node = 0; node < num_nodes; ++node) {
    nodes[node].live_def = live;
    if (nodes[node].offsets == nullptr) continue;
    const uint16_t lowest = levels[node].null != 0 ? levels[node].null : levels[node].empty;
    live = static_cast<uint16_t>(lowest - 1);
  }
}

Outcome end_levels(const NodeTraits* nodes, const NodeLevels* levels, NodeSeen* seen, int64_t num_nodes, uint16_t* def,
                   int64_t num_entries, uint8_t* layers, bool* has_levels) {
  add_for_reference(nodes, num_nodes, seen);
  std::vector<uint16_t> table(static_cast<size_t>(2 * num_nodes + 1));
  uint16_t largest = 0, count = 0;
  // Levels ascend from the inner-most node on.
  const auto keep = [&](uint16_t level, uint8_t is_seen) {
    if (level == 0 || is_seen == 0) return;
    table[largest = level] = ++count;
  };
  for (int64_t node = num_nodes - 1; node >= 0; --node) {
    if (levels[node].null > 2 * num_nodes || levels[node].empty > 2 * num_nodes)
      return misuse("levels are not those of the nodes", node);
    keep(levels[node].null, seen[node].null);
    keep(levels[node].empty, seen[node].empty);
    layers[num_nodes - 1 - node] = layer_of(nodes[node].is_list, seen[node]);
  }
  *has_levels = count != 0;
  return largest == count ? success()
                          : renumber_levels(def, num_entries, table.data(), static_cast<int64_t>(table.size()));
}

}  // namespace lance_arrow::engine
