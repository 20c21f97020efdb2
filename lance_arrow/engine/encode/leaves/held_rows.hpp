// Rows of leaves that are no page yet, and where pages end: each leaf has pages of its own.
//
//     ArrowArray of a batch ──► HeldRows: rows of each leaf ──► PageRows: full pages, the largest ones, the rest
//
// Rows that wait are copied when the next batch comes, so that the last one is let go. Large parts of it stay its own.
#pragma once

#include <vector>

#include "engine/encode/leaves/copied_rows.hpp"

namespace lance_arrow::engine {

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
  // The memory that a column of a batch takes beside its values.
  static constexpr int64_t kPartBytes = 512;

  HeldRows(const std::vector<LeafForm>* forms, int64_t page_bytes, int64_t page_levels);

  // Adds rows of a batch that `check_leaf` accepts, which is released; adds the pages that are full to `pages`.
  Outcome add(ArrowArray* batch, std::vector<PageRows>* pages);

  int64_t num_bytes() const { return num_bytes_; }

  // Makes pages of the leaves with the most bytes, until at most `most_left` are held; of all leaves if it is negative.
  void take_largest(int64_t most_left, std::vector<PageRows>* pages);

 private:
  // Rows of a leaf that are no page yet: copied ones, then parts of batches.
  struct Waiting {
    CopiedRows copied{};
    PageRows rows{};
    int64_t lent_bytes = 0;
    int64_t last_bytes = 0;  // of the last batch: the last part

    int64_t num_bytes() const { return copied.num_bytes() + lent_bytes; }
  };

  Outcome add_rows(const std::shared_ptr<const void>& batch, const LeafRows& rows, size_t leaf,
                   std::vector<PageRows>* pages);
  bool is_small(int64_t num_bytes) const;
  Outcome copy(size_t leaf);
  void take(size_t leaf, std::vector<PageRows>* pages);

  const std::vector<LeafForm>* forms_;
  const int64_t page_bytes_, page_levels_;
  std::vector<Waiting> waiting_;  // of each leaf
  LeafPath path_;
  int64_t num_bytes_ = 0;
  int64_t batch_bytes_ = 0, last_batch_bytes_ = 0;
};

}  // namespace lance_arrow::engine
