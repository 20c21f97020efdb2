// From Arrow's validity and offsets to repetition and definition levels (spec 2): the nodes of one leaf, outside in.
//
// Entries begin as the rows and are grown node by node. An entry is *live* while it has a slot of the current node. A
// null or empty list, or a null struct around a list, leaves a special entry, which is passed on and has no slot:
//
//     live  <=>  def <= live_def      the largest level that the nodes inside the last list can give
//
// The slots of live entries are runs of the node's array, in order: one run, unless there is garbage below nulls.
// Items write levels 8 entries at a time wherever all 8 are live and in one run. Lists and fixed-size lists move the
// entries to new memory, the inner-most of them to the output.
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

constexpr int kMaxNodes = 64;

// A node on the path, outer-most first. validity is nullptr without nulls, offsets except for lists. A dimension above
// 0 is that of a fixed-size list of structs; its slot s has the items from first_item + s * dimension on.
struct ShredNode {
  int64_t num_slots;
  const uint8_t* validity;
  int64_t validity_bytes;
  int64_t bit_offset;
  const void* offsets;
  int64_t num_offsets;
  int offset_bits;
  int64_t dimension;
  int64_t first_item;
  uint16_t null_level;
  uint16_t empty_level;
  uint16_t live_def;
  uint16_t inner_rep;
  bool has_null;  // out: a live slot was null
  bool has_empty;  // out: a live slot was an empty list
};

struct ShredOut {
  uint16_t* rep;  // null where there is no list
  uint16_t* def;
  int64_t capacity;
  int64_t* run_starts;
  int64_t* run_stops;
  int64_t run_capacity;
  int64_t num_entries;
  int64_t num_runs;  // may be above run_capacity: then the runs were not written
};

inline bool is_null(const ShredNode& node, int64_t slot) {
  const int64_t bit = node.bit_offset + slot;
  return node.validity != nullptr && ((node.validity[bit / 8] >> (bit % 8)) & 1) == 0;
}

bool moves(const ShredNode& node);

// May throw std::bad_alloc.
Outcome shred_levels(ShredNode* nodes, int64_t num_nodes, int64_t num_rows, ShredOut& out);

// Replaces each level by table[level].
Outcome renumber_levels(uint16_t* levels, int64_t num_levels, const uint16_t* table, int64_t num_known);

}  // namespace lance_arrow::engine
