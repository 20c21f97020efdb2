// What the engine read of a leaf, as Arrow wants it: offsets and validity of every node, values of all parts in a row.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/arrays/unravel.hpp"
#include "engine/common/outcome.hpp"
#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

// Parts hold consecutive rows, each read by a thread of its own.
struct Leaf {
  std::vector<std::unique_ptr<LeafPart>> parts;
  std::vector<int64_t> dimensions;  // per node, inner-most first; all 0 in what the engine reads
  std::vector<int> offset_bits;  // per node; 0 for what is no list
  int64_t value_bits = 0;
  std::vector<int64_t> field_bytes;  // of a packed struct, whose values are rows of these fields
  bool lent = false;  // values already lie where Arrow wants them

  // The only part, in memory that this thread filled before.
  void borrow_part() { parts[0] = engine::borrow_part(); }
  void give_back_part() {
    engine::give_back_part(std::move(parts[0]));
    parts.clear();
  }
};

struct NodeOut {
  uint8_t* validity;  // null: not wanted
  void* offsets;
  int64_t slots;
  int64_t null_count;
};
bool has_lists(const Leaf& leaf);

// Level at which a node is null, 0 where it cannot be.
inline int null_level(const std::vector<uint8_t>& layers, size_t node) {
  static constexpr int used[7] = {0, 0, 0, 1, 1, 1, 2};
  if (layers[node] != kNullableItem) return 0;
  int level = 0;
  for (size_t layer = 0; layer <= node; ++layer) level += used[layers[layer]];
  return level;
}

// Slots of every node, and whether its bitmap is wanted.
Outcome measure_leaf(const Leaf& leaf, int64_t* slots, bool* nullable);
Outcome fill_structure(const Leaf& leaf, NodeOut* nodes);

// Copies the values of all parts one after the other (no values: they are in place); offsets are narrowed and
// continued.
template <class Offset>
void copy_variable(const Leaf& leaf, uint8_t* values, uint8_t* offsets) {
  int64_t base = 0, at = 1;
  store<Offset>(offsets, 0, 0);
  for (const auto& part : leaf.parts) {
    if (values != nullptr) copy_bytes(values + base, part->values.data(), part->num_bytes);
    for (int64_t value = 0; value < part->num_values; ++value)
      store<Offset>(offsets, at++, static_cast<Offset>(base + part->ends[static_cast<size_t>(value)]));
    base += part->num_bytes;
  }
}

// Splits rows of packed fields: the values of field number f go to fields[f].
void split_fields(const Leaf& leaf, uint8_t* const* fields);
void copy_values(const Leaf& leaf, uint8_t* values, uint8_t* offsets, int offset_bits);

}  // namespace lance_arrow::engine
