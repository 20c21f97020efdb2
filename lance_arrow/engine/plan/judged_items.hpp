// Rows as marks: whether the item of each satisfies a condition, which the caller told, in pages that are dictionaries;
// whether numbers lie in ranges, in others. Or the number of such rows alone, where that is wanted.
//
// Pages of which no item does are not read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/plan/dictionary_items.hpp"
#include "engine/plan/number_condition.hpp"
#include "engine/plan/text_condition.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

class JudgedItems {
 public:
  // `null_flag`: whether null satisfies the condition; `num_rows`: how many will be read; `counts`: whether the number
  // of rows that satisfy it is all that is wanted.
  JudgedItems(bool null_flag, int64_t num_rows, bool counts) : null_flag_(null_flag ? 1 : 0), counts_(counts) {
    if (!counts) marks_.reserve(static_cast<size_t>(num_rows));
  }

  // The same condition, on numbers of pages without items.
  void judge_numbers(std::shared_ptr<const NumberCondition> condition) { numbers_ = std::move(condition); }
  // The same condition, on values of any length.
  void judge_texts(std::shared_ptr<const TextCondition> condition) { texts_ = std::move(condition); }

  // What the caller says of the items of a page, 0 or 1 each.
  void judge(const Items* items, const uint8_t* flags);

  // No row of a page satisfies the condition if neither an item nor null does; every row does if all of them do.
  enum class Verdict { kNone, kSome, kAll };
  Verdict verdict(const Items* items) const;

  Outcome add_indices(const ItemIndices& wanted, int64_t index_bytes, const Items& items);
  void add_rows(int64_t count, Verdict verdict);
  // Numbers of a page without items; `def` is null where none is null.
  Outcome add_numbers(const uint8_t* values, int64_t count, const uint16_t* def);
  // The condition on them; null where it is not one of numbers.
  const NumberCondition* numbers() const { return numbers_.get(); }
  // Values of any length, which lie one after the other from `bytes + begin` on.
  Outcome add_texts(const uint8_t* bytes, int64_t begin, const int64_t* ends, int64_t count, const uint16_t* def);
  // The condition on these; null where it is not one of them.
  const TextCondition* texts() const { return texts_.get(); }
  // The same, marked by the caller: a place for as many marks, and what became of it.
  uint8_t* place_marks(int64_t count);
  void took_marks(int64_t count, const uint16_t* def);

  bool counts() const { return counts_; }
  int64_t num_rows() const { return num_rows_; }
  // Rows that satisfy the condition, where they are counted.
  int64_t num_marked() const { return num_marked_; }
  // Writes the marks as bits, least significant first; bits behind the last are 0. Not where rows are counted.
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

  template <class Index>
  Outcome count_by(const ItemIndices& wanted, const Page& page);

  uint8_t null_flag_;
  bool counts_;
  int64_t num_rows_ = 0, num_marked_ = 0;
  std::vector<Page> pages_;
  std::shared_ptr<const NumberCondition> numbers_;
  std::shared_ptr<const TextCondition> texts_;
  std::vector<uint8_t> marks_;  // where rows are counted, of those that were added last
};

}  // namespace lance_arrow::engine
