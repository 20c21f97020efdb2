// Rows of a leaf that wait for a page, copied out of their batches.
//
// A batch may be one block of memory, which its last column keeps: those of decoders and of IPC streams are.
#pragma once

#include <memory>
#include <vector>

#include "engine/encode/leaves/leaf_form.hpp"

namespace lance_arrow::engine {

// Rows, and what keeps the memory of their arrays.
struct HeldPart {
  std::shared_ptr<const void> memory;
  LeafRows rows;
};

class CopiedRows {
 public:
  bool empty() const { return copy_ == nullptr; }
  // What they take in memory.
  int64_t num_bytes() const { return num_bytes_; }

  // Adds all rows of an open path.
  Outcome add(const LeafForm& form, const LeafPath& path);

  // All rows; there are none any more.
  HeldPart take(const LeafForm& form);

 private:
  struct Copy;

  std::shared_ptr<Copy> copy_;
  int64_t num_bytes_ = 0;
};

}  // namespace lance_arrow::engine
