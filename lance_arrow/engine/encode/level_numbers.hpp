// Which nulls and empty lists of the nodes of a leaf have a definition level, and the layers that say so (spec 2).
//
// Levels are first numbered as all arrays of a page allow; `end_levels` removes those that did not occur.
#pragma once

#include "engine/encode/shred.hpp"

namespace lance_arrow::engine {

// What the schema and the arrays of a page say of a node; nodes stand outer-most first.
struct NodeTraits {
  bool is_list;
  bool nullable;
  bool has_validity;
};

// Definition levels of a null slot and of an empty list; 0 for none.
struct NodeLevels {
  uint16_t null;
  uint16_t empty;
};

// What occurred outside of nulls.
struct NodeSeen {
  uint8_t null;
  uint8_t empty;
};

void number_levels(const NodeTraits* nodes, int64_t num_nodes, NodeLevels* levels);

// Gives the nodes of one chunk their levels, and what follows from these.
void set_levels(const NodeLevels* levels, ShredNode* nodes, int64_t num_nodes);

// Writes the layers, inner-most first, and renumbers the levels that occurred without gaps. `seen` gets what the
// reference needs on top. Sets `has_levels` if any is left.
Outcome end_levels(const NodeTraits* nodes, const NodeLevels* levels, NodeSeen* seen, int64_t num_nodes, uint16_t* def,
                   int64_t num_entries, uint8_t* layers, bool* has_levels);

}  // namespace lance_arrow::engine
