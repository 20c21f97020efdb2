// From rows of a column to the levels of one of its leaves: the arrays on the path, their nulls and their lists.
#pragma once

#include <vector>

#include "engine/common/arrow_array.hpp"
#include "engine/encode/level_numbers.hpp"

namespace lance_arrow::engine {

// A node on the path to a leaf, outer-most first.
struct PathStep {
  int64_t child;  // of the array around it; of the batch for the first node
  bool nullable;
  int list_bits = 0;  // of the offsets of a list; 0 for structs and the leaf
};

// Rows of the arrays on the path to a leaf, outer-most first; they are those of the first array.
struct LeafRows {
  std::vector<const ArrowArray*> nodes;
  int64_t start;
  int64_t count;
};

// All rows of a batch. Refuses a batch of another form.
Outcome rows_of_batch(const ArrowArray& batch, const std::vector<PathStep>& path, LeafRows* rows);

// Slots of one array that may have values of the rows, those under nulls included.
struct SlotRange {
  int64_t start;
  int64_t stop;
};

// The arrays on the path, which own nothing. Slots are counted from where the array around it counts its own or, within
// a list, from the first slot of the array. So `offset` includes those of the structs above.
class LeafPath {
 public:
  // Refuses arrays of another form, and lists whose first and last offsets leave their items.
  Outcome open(const LeafRows& rows, const std::vector<PathStep>& path);

  const std::vector<ArrowArray>& nodes() const { return nodes_; }
  const ArrowArray& leaf() const { return nodes_.back(); }
  // Slots of the leaf for some of the rows. `num_levels` gets the most level entries they can have. Offsets ascend.
  SlotRange slots(int64_t start, int64_t stop, int64_t* num_levels) const;
  // Slots of each node for all rows.
  const std::vector<SlotRange>& ranges() const { return ranges_; }
  // Whether the offsets of a list go back; of the slots above only.
  bool lists_go_back() const;
  int64_t list_offset(size_t node, int64_t slot) const;

 private:
  const std::vector<PathStep>* path_ = nullptr;
  std::vector<ArrowArray> nodes_;
  std::vector<SlotRange> ranges_;
};

// Nulls among some slots of a valid array.
int64_t num_nulls(const ArrowArray& array, SlotRange slots);

// Used again from leaf to leaf, so that memory is allocated once.
class LeafLevels {
 public:
  // A run of slots of the leaf in one of the parts, which have a value each.
  struct Run {
    size_t part;
    int64_t start;
    int64_t stop;
  };

  // Rows follow each other in the page.
  Outcome open(const std::vector<LeafRows>& parts, const std::vector<PathStep>& path);

  int64_t num_rows() const { return num_rows_; }
  // The leaf's array of each part, and the slots of them that have a value.
  const ArrowArray& leaf(size_t part) const { return paths_[part].leaf(); }
  size_t num_parts() const { return num_parts_; }
  const std::vector<Run>& runs() const { return runs_; }
  int64_t num_values() const { return num_values_; }

  int64_t num_entries() const { return num_entries_; }
  // Of each entry; nothing without lists.
  const std::vector<uint16_t>& rep() const { return rep_; }
  int64_t max_rep() const { return max_rep_; }
  // Of each entry 0 if its value is not null; nothing without nulls and empty lists.
  const std::vector<uint16_t>& def() const { return def_; }
  int64_t max_def() const { return max_def_; }
  // The largest definition level of an entry with a value.
  int64_t max_visible() const { return max_visible_; }
  // Of `LayerKind`, inner-most first.
  const std::vector<uint8_t>& layers() const { return layers_; }
  // Whether there is a null, not within another, that the schema does not allow.
  bool has_refused_null() const { return has_refused_null_; }

 private:
  Outcome number(const std::vector<PathStep>& path);
  Outcome shred(size_t part, const std::vector<PathStep>& path);

  size_t num_parts_ = 0;
  int64_t num_rows_ = 0, num_entries_ = 0, num_values_ = 0;
  std::vector<LeafPath> paths_;
  std::vector<Run> runs_;
  std::vector<ShredNode> nodes_;  // of each part
  std::vector<NodeTraits> traits_;
  std::vector<NodeLevels> numbers_;
  std::vector<NodeSeen> seen_;
  std::vector<int64_t> run_starts_, run_stops_;
  std::vector<uint16_t> rep_, def_;
  std::vector<uint8_t> layers_;
  int64_t max_rep_ = 0, max_def_ = 0, max_visible_ = 0;
  bool has_refused_null_ = false;
};

}  // namespace lance_arrow::engine
