// What the engine read of a leaf, as Arrow wants it: offsets and validity of every node, values of all parts in a row.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/arrays/unravel.hpp"
#include "engine/plan/pages.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

// Parts hold consecutive rows, each read by a thread of its own.
struct Leaf {
  std::vector<std::unique_ptr<LeafPart>> parts;
  std::span<const int> offset_bits;  // per node, inner-most first; 0 for all but lists
  std::span<const int64_t> dimensions;  // the same of fixed-size lists of structs: structs of each; empty without any
  int64_t value_bits = 0;
  std::span<const int64_t> field_bits;  // where values are rows of fields: bits of each, which has whole bytes of a row
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

// Lets only the first struct of a fixed-size list begin the lists around it, as the functions below want it.
Outcome share_levels(Leaf* leaf);

// Slots of every node, and whether its bitmap is wanted.
Outcome measure_leaf(const Leaf& leaf, int64_t* slots, bool* nullable);
Outcome fill_structure(const Leaf& leaf, NodeOut* nodes);

// Splits rows of fields: the values of field number f go to fields[f], back to back.
void split_fields(const Leaf& leaf, uint8_t* const* fields);
// Copies the values of all parts one after the other (no values: they are in place); offsets are narrowed and
// continued.
void copy_values(const Leaf& leaf, uint8_t* values, uint8_t* offsets, int offset_bits);

}  // namespace lance_arrow::engine
