// From rows of a column to the levels of one of its leaves: the arrays on the path, and what their nulls say.
#pragma once

#include <vector>

#include "engine/common/arrow_array.hpp"
#include "engine/encode/level_numbers.hpp"

namespace lance_arrow::engine {

// A node on the path to a leaf, outer-most first.
struct PathStep {
  int64_t child;  // of the array around it; of the batch for the first node
  bool nullable;
};

// Rows of the arrays on the path to a leaf, outer-most first; they are those of the first array.
struct LeafRows {
  std::vector<const ArrowArray*> nodes;
  int64_t start;
  int64_t count;
};

// All rows of a batch. Refuses a batch of another form.
Outcome rows_of_batch(const ArrowArray& batch, const std::vector<PathStep>& path, LeafRows* rows);

// The array of a leaf, which owns nothing. Its offset is that of the first row: offsets of structs are added.
Outcome array_of_leaf(const LeafRows& rows, ArrowArray* leaf);

// Nulls among the first rows of a valid array.
int64_t num_nulls(const ArrowArray& array, int64_t num_rows);

// Used again from leaf to leaf, so that memory is allocated once. All nodes are structs, but for the leaf.
class LeafLevels {
 public:
  // Rows follow each other in the page.
  Outcome open(const std::vector<LeafRows>& parts, const std::vector<PathStep>& path);

  int64_t num_rows() const { return num_rows_; }
  // The array of each part, which has its rows.
  const std::vector<ArrowArray>& leaves() const { return leaves_; }
  // Of each row 0 if its value is not null; nothing without nulls.
  const std::vector<uint16_t>& def() const { return def_; }
  // Of `LayerKind`, inner-most first.
  const std::vector<uint8_t>& layers() const { return layers_; }
  int64_t max_def() const { return max_def_; }
  // Whether there is a null, not within another, that the schema does not allow.
  bool has_refused_null() const { return has_refused_null_; }

 private:
  Outcome number(const std::vector<PathStep>& path);

  int64_t num_rows_ = 0;
  std::vector<ArrowArray> leaves_;
  std::vector<ShredNode> nodes_;  // of each part
  std::vector<NodeTraits> traits_;
  std::vector<NodeLevels> numbers_;
  std::vector<NodeSeen> seen_;
  std::vector<uint16_t> def_;
  std::vector<uint8_t> layers_;
  int64_t max_def_ = 0;
  bool has_refused_null_ = false;
};

}  // namespace lance_arrow::engine
