#include "engine/plan/judged_items.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/decode/item_flags.hpp"
#include "lance_arrow/text_ranges.hpp"

namespace lance_arrow::engine {

namespace {

// How many values equal one, where all are below `num_items`; else -1. Sums and maxima have the width of values, so
// that they become vectors; sums are added up before they can overflow.
template <class Index>
int64_t count_equal(const uint8_t* __restrict values, int64_t count, Index wanted, int64_t num_items) {
  constexpr int64_t block = sizeof(Index) == 1 ? 255 : 4096;
  int64_t found = 0;
  Index most = 0;
  for (int64_t first = 0; first < count; first += block) {
    const int64_t stop = std::min(count, first + block);
    Index equal = 0;
    for (int64_t value = first; value < stop; ++value) {
      const Index one = load<Index>(values, value);
      most = std::max(most, one);
      equal = static_cast<Index>(equal + (one == wanted ? 1 : 0));
    }
    found += static_cast<int64_t>(equal);
  }
  return static_cast<uint64_t>(most) < static_cast<uint64_t>(num_items) ? found : -1;
}

// How many indices have an item that is flagged, where the flags of few items differ from those of all others; -1 where
// they do not, or where an index lies outside the items.
template <class Index>
int64_t count_few(const ItemIndices& wanted, const std::vector<uint8_t>& flags, int64_t num_flagged) {
  constexpr int64_t few = 4;  // items that are counted one by one faster than all are looked up
  const auto num_items = static_cast<int64_t>(flags.size());
  const bool are_few = num_flagged <= num_items - num_flagged;
  const int64_t num_counted = are_few ? num_flagged : num_items - num_flagged;
  if (num_counted < 1 || num_counted > few) return -1;
  int64_t total = 0;
  for (int64_t item = 0; item < num_items; ++item) {
    if ((flags[static_cast<size_t>(item)] != 0) != are_few) continue;
    // Later items have no index of this width; the loop checks indices against all items.
    if (static_cast<uint64_t>(item) > std::numeric_limits<Index>::max()) return -1;
    const int64_t found = count_equal<Index>(wanted.indices, wanted.count, static_cast<Index>(item), num_items);
    if (found < 0) return -1;
    total += found;
  }
  return are_few ? total : wanted.count - total;
}

// The sum of bytes that are 0 or 1.
int64_t sum_of_marks(const uint8_t* marks, int64_t count) {
  int64_t found = 0, at = 0;
  for (; at + 8 <= count; at += 8) found += std::popcount(load<uint64_t>(marks + at, 0));
  for (; at < count; ++at) found += marks[at];
  return found;
}

}  // namespace

void JudgedItems::judge(const Items* items, const uint8_t* flags) {
  const auto num_items = static_cast<size_t>(items->num_items);
  Page page{items, std::vector<uint8_t>(flags, flags + num_items), 0};
  page.num_flagged = std::count_if(page.flags.begin(), page.flags.end(), [](uint8_t flag) { return flag != 0; });
  pages_.push_back(std::move(page));
}

const JudgedItems::Page* JudgedItems::page_of(const Items* items) const {
  // Pages come in order, and there are few in a read: the last ones are looked at first.
  for (size_t at = pages_.size(); at-- > 0;)
    if (pages_[at].items == items) return &pages_[at];
  return nullptr;
}

JudgedItems::Verdict JudgedItems::verdict(const Items* items) const {
  const Page* page = items == nullptr ? nullptr : page_of(items);
  if (page == nullptr) return Verdict::kSome;
  if (null_flag_ == 0 && page->num_flagged == 0) return Verdict::kNone;
  return null_flag_ != 0 && page->num_flagged == items->num_items ? Verdict::kAll : Verdict::kSome;
}

void JudgedItems::add_rows(int64_t count, Verdict verdict) {
  num_rows_ += count;
  if (counts_) num_marked_ += verdict == Verdict::kAll ? count : 0;
  else marks_.resize(marks_.size() + static_cast<size_t>(count), verdict == Verdict::kAll ? 1 : 0);
}

uint8_t* JudgedItems::place_marks(int64_t count) {
  const size_t before = counts_ ? 0 : static_cast<size_t>(num_rows_);
  marks_.resize(before + static_cast<size_t>(count));
  return marks_.data() + before;
}

void JudgedItems::took_marks(int64_t count, const uint16_t* def) {
  uint8_t* const marks = marks_.data() + (counts_ ? 0 : num_rows_);
  const uint8_t null_flag = null_flag_;
  for (int64_t value = 0; def != nullptr && value < count; ++value)
    marks[value] = def[value] > 0 ? null_flag : marks[value];
  num_rows_ += count;
  if (counts_) num_marked_ += sum_of_marks(marks, count);
}

Outcome JudgedItems::add_numbers(const uint8_t* values, int64_t count, const uint16_t* def) {
  if (numbers_ == nullptr) return misuse("values without a dictionary are not judged");
  numbers_->mark(values, count, place_marks(count));
  took_marks(count, def);
  return success();
}

Outcome JudgedItems::add_texts(const uint8_t* bytes, int64_t begin, const int64_t* ends, int64_t count,
                               const uint16_t* def) {
  if (texts_ == nullptr) return misuse("values without a dictionary are not judged");
  texts_->mark(bytes, begin, ends, count, place_marks(count));
  took_marks(count, def);
  return success();
}

// Bytes may lie anywhere: what loops read is copied to variables first, or compilers would read it again in each step.
template <class Index>
Outcome JudgedItems::add_by(const ItemIndices& wanted, const Page& page, uint8_t* marks) const {
  constexpr int64_t few = 4;  // items that are compared one by one faster than all are looked up
  const auto num_items = static_cast<uint64_t>(page.items->num_items);
  const int64_t count = wanted.count;
  const uint8_t* __restrict indices = wanted.indices;
  const uint16_t* __restrict def = wanted.def;
  uint8_t* __restrict to = marks;
  const bool is_inside = are_inside<Index>(wanted, page.items->num_items);
  if (!is_inside) {
    const Outcome outcome = check_inside<Index>(wanted, page.items->num_items);
    if (outcome.message != nullptr) return outcome;
  }
  const uint8_t* __restrict flags = page.flags.data();
  if (page.num_flagged <= few) {
    for (uint64_t item = 0; item < num_items; ++item) {
      // Later items have no index of this width.
      if (item > std::numeric_limits<Index>::max()) break;
      if (flags[item] == 0) continue;
      const auto flagged = static_cast<Index>(item);
      for (int64_t value = 0; value < count; ++value)
        to[value] = static_cast<uint8_t>(to[value] | (load<Index>(indices, value) == flagged ? 1 : 0));
    }
  } else if (is_inside) {
    for (int64_t value = 0; value < count; ++value) to[value] = flags[load<Index>(indices, value)];
  } else {
    for (int64_t value = 0; value < count; ++value) {
      const auto index = static_cast<uint64_t>(load<Index>(indices, value));
      to[value] = index < num_items ? flags[index] : 0;
    }
  }
  if (def != nullptr) {
    const uint8_t null_flag = null_flag_;
    for (int64_t value = 0; value < count; ++value) to[value] = def[value] > 0 ? null_flag : to[value];
  }
  return success();
}

template <class Index>
Outcome JudgedItems::count_by(const ItemIndices& wanted, const Page& page) {
  const int64_t found = wanted.def == nullptr ? count_few<Index>(wanted, page.flags, page.num_flagged) : -1;
  if (found >= 0) {
    num_marked_ += found;
    return success();
  }
  marks_.assign(static_cast<size_t>(wanted.count), 0);
  const Outcome outcome = add_by<Index>(wanted, page, marks_.data());
  num_marked_ += sum_of_marks(marks_.data(), wanted.count);
  return outcome;
}

Outcome JudgedItems::add_indices(const ItemIndices& wanted, int64_t index_bytes, const Items& items) {
  const Page* page = page_of(&items);
  if (page == nullptr) return misuse("the items of a page were not judged");
  num_rows_ += wanted.count;
  const auto add = [&]<class Index>() {
    if (counts_) return count_by<Index>(wanted, *page);
    const size_t before = marks_.size();
    marks_.resize(before + static_cast<size_t>(wanted.count));
    return add_by<Index>(wanted, *page, marks_.data() + before);
  };
  switch (index_bytes) {
    case 1: return add.template operator()<uint8_t>();
    case 2: return add.template operator()<uint16_t>();
    case 4: return add.template operator()<uint32_t>();
    default: return add.template operator()<uint64_t>();
  }
}

void JudgedItems::copy_bits(uint8_t* bits) const { bits_of_marks(marks_.data(), num_rows(), bits); }

}  // namespace lance_arrow::engine
