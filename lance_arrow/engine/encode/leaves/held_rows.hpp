// Rows of leaves that are no page yet, and where pages end: each leaf has pages of its own.
//
//     ArrowArray of a batch ──► HeldRows: parts of each leaf ──► PageRows: full pages, the largest ones, the rest
//
// Arrays of a batch are kept one by one, as long as a leaf has not all its rows in pages.
#pragma once

#include <memory>
#include <vector>

#include "engine/encode/leaves/leaf_form.hpp"

namespace lance_arrow::engine {

// An array without its children, released when it is needed no more, and the one around it.
class HeldArray {
 public:
  // Takes the array; the given one is released. An array with several leaves below it has no children any more. Its
  // nulls and the offsets of a list are copied: who lent an array lends its children with it, and these must go alone.
  HeldArray(ArrowArray* given, std::shared_ptr<const HeldArray> outer, bool has_leaves, int list_bits);
  ~HeldArray() {
    if (array_.release != nullptr) array_.release(&array_);
  }
  HeldArray(const HeldArray&) = delete;
  HeldArray& operator=(const HeldArray&) = delete;

  const ArrowArray& array() const { return array_; }
  const HeldArray* outer() const { return outer_.get(); }

 private:
  ArrowArray array_;
  const std::shared_ptr<const HeldArray> outer_;
  std::vector<uint8_t> validity_, offsets_;
  const void* buffers_[2] = {nullptr, nullptr};
};

using SharedArray = std::shared_ptr<const HeldArray>;

struct HeldPart {
  SharedArray leaf;
  int64_t start;
  int64_t count;
};

LeafRows rows_of(const HeldPart& part);

// The rows as an array that shares their memory, and keeps it until it is released. Each array around the leaf has one
// child.
ArrowArray lend_rows(const HeldPart& part);

// Rows of one page.
struct PageRows {
  size_t leaf;
  int64_t first_row;
  int64_t num_rows = 0;
  int64_t num_levels = 0;  // at most
  int64_t num_bytes = 0;  // of its values, without encoding
  std::vector<HeldPart> parts{};
};

class HeldRows {
 public:
  // The memory that a part takes beside its values.
  static constexpr int64_t kPartBytes = 512;

  HeldRows(const std::vector<LeafForm>* forms, int64_t page_bytes, int64_t page_levels);

  // Adds rows of a batch that `check_leaf` accepts, which is released; adds the pages that are full to `pages`.
  Outcome add(ArrowArray* batch, std::vector<PageRows>* pages);

  int64_t num_bytes() const { return num_bytes_; }

  // Makes pages of the leaves with the most bytes, until at most `most_left` are held; of all leaves if it is negative.
  void take_largest(int64_t most_left, std::vector<PageRows>* pages);

 private:
  Outcome add_part(HeldPart part, size_t leaf, std::vector<PageRows>* pages);
  void take(size_t leaf, std::vector<PageRows>* pages);
  static int64_t memory_of(const PageRows& rows) {
    return rows.num_bytes + kPartBytes * static_cast<int64_t>(rows.parts.size());
  }

  // How the leaves are nested: `num_leaves` below an array, and whether it is a list.
  struct Shape {
    int64_t num_leaves = 0;
    int list_bits = 0;
    std::vector<Shape> children{};
  };
  struct Tree;

  const std::vector<LeafForm>* forms_;
  Shape shape_;  // of a batch
  const int64_t page_bytes_, page_levels_;
  std::vector<PageRows> held_;  // of each leaf
  int64_t num_bytes_ = 0;
};

}  // namespace lance_arrow::engine
