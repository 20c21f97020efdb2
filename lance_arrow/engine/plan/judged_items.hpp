// Rows of pages that are dictionaries as marks: whether the item of each satisfies a condition, which the caller told.
//
// Pages of which no item does are not read.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/common/outcome.hpp"
#include "engine/plan/dictionary_items.hpp"

namespace lance_arrow::engine {

class JudgedItems {
 public:
  // `null_flag`: whether null satisfies the condition; `num_rows`: how many will be read.
  JudgedItems(bool null_flag, int64_t num_rows) : null_flag_(null_flag ? 1 : 0) {
    marks_.reserve(static_cast<size_t>(num_rows));
  }

  // What the caller says of the items of a page, 0 or 1 each.
  void judge(const Items* items, const uint8_t* flags);

  // No row of a page satisfies the condition if neither an item nor null does; every row does if all of them do.
  enum class Verdict { kNone, kSome, kAll };
  Verdict verdict(const Items* items) const;

  Outcome add_indices(const ItemIndices& wanted, int64_t index_bytes, const Items& items);
  void add_rows(int64_t count, Verdict verdict);

  int64_t num_marks() const { return static_cast<int64_t>(marks_.size()); }
  // Writes the marks as bits, least significant first; bits behind the last are 0.
  void copy_bits(uint8_t* bits) const;

 private:
  struct Page {
    const Items* items;
    std::vector<uint8_t> flags;
    int64_t num_flagged;
  };

  const Page* page_of(const Items* items) const;
  template <class Index>
  Outcome add_by(const ItemIndices& wanted, const Page& page, uint8_t* marks) const;

  uint8_t null_flag_;
  std::vector<Page> pages_;
  std::vector<uint8_t> marks_;
};

}  // namespace lance_arrow::engine
