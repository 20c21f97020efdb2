// Values of variable width as Arrow's views, 16 bytes a value: short values lie in their views, others are pointed to.
//
// Pages with a dictionary give views of its items, which are copied once a read. Other values stay where they were
// decoded; bytes that no view points to are given up where they are most of a batch.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/common/view_bytes.hpp"
#include "engine/plan/dictionary_items.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

class Buffer;

class ValueViews {
 public:
  ValueViews(bool is_text, int64_t buffer_bytes) : is_text_(is_text), buffer_bytes_(buffer_bytes) {}

  // Writes views to memory of the caller's, with room for so many; without it they lie in memory of their own.
  void lend(uint8_t* views, int64_t room) {
    lent_ = views;
    room_ = room;
  }

  // Views of values that a page holds as indices into `items`; `end` is where the bytes that are pointed to end in
  // `data`. Views of nulls are empty.
  Outcome add_indices(const ItemIndices& wanted, int64_t index_bytes, const Items& items, int64_t limit, Buffer* data,
                      int64_t* end);

  // Views of `count` values that lie in `data` from `end` on, and end at `ends`; moves `end` behind what is kept.
  Outcome add_values(const int64_t* ends, int64_t count, Buffer* data, int64_t* end);

  const uint8_t* views() const { return lent_ != nullptr ? lent_ : own_.data(); }
  int64_t num_views() const { return num_views_; }
  bool is_lent() const { return lent_ != nullptr; }
  // The bytes that are pointed to are shown as buffers that begin so many bytes after each other.
  int64_t buffer_bytes() const { return buffer_bytes_; }

 private:
  // Dictionaries of few items are taken whole; of others each item when it is first seen.
  static constexpr int64_t kFewItems = 1024;
  // Where fewer rows than one of so many items are read, no table of the items is made.
  static constexpr int64_t kItemsPerRow = 16;

  template <class Index>
  Outcome add_by(const ItemIndices& wanted, const Items& items, int64_t limit, Buffer* data, int64_t* end, uint8_t* to);
  Outcome begin_page(const Items& items, int64_t count, int64_t limit, Buffer* data, int64_t* end);
  Outcome view_of_item(const Items& items, int64_t item, int64_t limit, Buffer* data, int64_t* end,
                       uint8_t* view) const;
  uint8_t* more_views(int64_t count);

  bool is_text_;
  int64_t buffer_bytes_;
  std::vector<uint8_t> own_;
  uint8_t* lent_ = nullptr;
  int64_t room_ = 0, num_views_ = 0;
  const Items* page_ = nullptr;  // whose items `views_of_items_` has
  std::vector<uint8_t> views_of_items_;
  std::vector<uint8_t> is_known_;  // per item; empty where all are
};

}  // namespace lance_arrow::engine
