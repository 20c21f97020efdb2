// Rows of several leaves in the making, and the batch or the buffers that become of them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/arrays/array_tree.hpp"

namespace lance_arrow::engine {

// One take. Its methods need no interpreter; they may throw std::bad_alloc.
class Taking {
 public:
  // `shapes` outlives it.
  Taking(const std::vector<LeafShape>& shapes, const Allocator& allocator, const TakeLimits& limits)
      : shapes_(shapes), limits_(limits), leaves_(shapes.size()), memory_(new ResultMemory(allocator, limits.bytes)) {
    done_.resize(shapes.size());
  }

  // Leaves without pages are left out; `pages` and `lists` outlive it.
  void set_pages(size_t leaf, const std::vector<PageRef>& pages, const ListPages& lists) {
    leaves_[leaf].emplace(shapes_[leaf], pages, lists, beside_, limits_);
    if (!lists.empty()) beside_ = &*leaves_[leaf];
  }

  // Of a leaf with pages.
  LeafTaking& leaf(size_t number) { return *leaves_[number]; }

  // Takes leaves whose rows are one part, until all are done or much was read: a caller may look at signals then.
  Outcome take_some(int64_t num_rows, Request* request);
  bool is_done() const { return next_ == leaves_.size(); }

  // The same for rows in several parts, which may run side by side.
  Outcome begin(const std::vector<int64_t>& part_rows);
  Outcome run(size_t part, Request* request);
  Outcome finish();

  const LeafOut& done(size_t leaf) const { return done_[leaf]; }

  // The batch of all leaves, as `make_batch`.
  bool batch(const std::vector<ArrayForm>& forms, int64_t num_rows, ArrowArray* out) {
    return make_batch(forms, shapes_, done_, num_rows, std::move(memory_), out);
  }

 private:
  const std::vector<LeafShape>& shapes_;
  TakeLimits limits_;
  std::vector<std::optional<LeafTaking>> leaves_;
  std::vector<LeafOut> done_;
  std::unique_ptr<ResultMemory> memory_;
  const LeafTaking* beside_ = nullptr;  // the last leaf below columns of lists
  size_t next_ = 0;
};

}  // namespace lance_arrow::engine
