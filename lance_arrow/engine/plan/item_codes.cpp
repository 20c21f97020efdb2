#include "engine/plan/item_codes.hpp"

#include <algorithm>
#include <limits>

#include "engine/common/hashing.hpp"
#include "engine/common/utf8.hpp"
#include "lance_arrow/scratch.hpp"

namespace lance_arrow::engine {

Outcome ItemCodes::code_of(const uint8_t* bytes, int64_t size, int64_t limit, int32_t* code) {
  if (2 * (ends_.size() + 1) > slots_.size()) grow();
  const uint64_t hash = hash_bytes(bytes, size);
  const size_t mask = slots_.size() - 1;
  size_t slot = static_cast<size_t>(hash) & mask;
  for (; slots_[slot] != kUnknown; slot = (slot + 1) & mask) {
    const auto found = static_cast<size_t>(slots_[slot]);
    if (hashes_[found] != hash) continue;
    const int64_t start = found == 0 ? 0 : ends_[found - 1];
    if (ends_[found] - start != size) continue;
    if (!equal_bytes(bytes_.data() + start, bytes, size)) continue;
    *code = slots_[slot];
    return success();
  }
  if (size > limit - num_item_bytes() || ends_.size() >= std::numeric_limits<int32_t>::max()) return above_limit();
  if (is_text_ && !valid_utf8(bytes, size))
    return corrupt("a string is not valid UTF-8", static_cast<int64_t>(ends_.size()));
  *code = slots_[slot] = static_cast<int32_t>(ends_.size());
  bytes_.insert(bytes_.end(), bytes, bytes + size);
  ends_.push_back(num_item_bytes() + size);
  hashes_.push_back(hash);
  return success();
}

void ItemCodes::grow() {
  slots_.assign(std::max<size_t>(64, 2 * slots_.size()), kUnknown);
  const size_t mask = slots_.size() - 1;
  for (size_t code = 0; code < hashes_.size(); ++code) {
    size_t slot = static_cast<size_t>(hashes_[code]) & mask;
    while (slots_[slot] != kUnknown) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<int32_t>(code);
  }
}

Outcome ItemCodes::code_of_item(const Items& items, int64_t item, int64_t limit, int32_t* code) {
  int64_t start, size;
  const Outcome outcome = items.find(item, &start, &size);
  return outcome.message != nullptr ? outcome : code_of(items.values + start, size, limit, code);
}

Outcome ItemCodes::begin_page(const Items& items, int64_t limit) {
  page_ = &items;
  is_known_ = is_same_ = false;
  code_of_index_.assign(static_cast<size_t>(items.num_items), kUnknown);
  if (items.num_items > kFewItems) return success();
  bool is_same = true;
  for (int64_t item = 0; item < items.num_items; ++item) {
    int32_t* code = &code_of_index_[static_cast<size_t>(item)];
    const Outcome outcome = code_of_item(items, item, limit, code);
    if (outcome.message != nullptr) {
      page_ = nullptr;
      return outcome;
    }
    is_same = is_same && *code == item;
  }
  is_known_ = true;
  is_same_ = is_same;
  return success();
}

int32_t* ItemCodes::more_codes(int64_t count) {
  if (lent_ == nullptr) {
    own_.resize(static_cast<size_t>(num_codes_ + count));
  } else if (count > room_ - num_codes_) {
    return nullptr;
  }
  int32_t* to = (lent_ != nullptr ? lent_ : own_.data()) + num_codes_;
  num_codes_ += count;
  return to;
}

// Codes of indices into a dictionary whose items all have one: loops that compilers make vectors of.
template <class Index>
Outcome ItemCodes::add_known(const ItemIndices& wanted, const Items& items, int32_t* to) const {
  if (!are_inside<Index>(wanted, items.num_items)) {
    const Outcome outcome = check_inside<Index>(wanted, items.num_items);
    if (outcome.message != nullptr) return outcome;
    for (int64_t value = 0; value < wanted.count; ++value) {
      const bool is_null = wanted.def != nullptr && wanted.def[value] > 0;
      to[value] = is_null ? 0 : code_of_index_[static_cast<size_t>(load<Index>(wanted.indices, value))];
    }
    return success();
  }
  if (is_same_) {
    for (int64_t value = 0; value < wanted.count; ++value)
      to[value] = static_cast<int32_t>(load<Index>(wanted.indices, value));
  } else {
    const int32_t* codes = code_of_index_.data();
    for (int64_t value = 0; value < wanted.count; ++value)
      to[value] = codes[static_cast<size_t>(load<Index>(wanted.indices, value))];
  }
  if (wanted.def != nullptr)
    for (int64_t value = 0; value < wanted.count; ++value) to[value] = wanted.def[value] > 0 ? 0 : to[value];
  return success();
}

template <class Index>
Outcome ItemCodes::add_by(const ItemIndices& wanted, const Items& items, int64_t limit) {
  int32_t* to = more_codes(wanted.count);
  if (to == nullptr) return misuse("more values are read than there are rows");
  if (is_known_) return add_known<Index>(wanted, items, to);
  const auto num_items = static_cast<uint64_t>(items.num_items);
  for (int64_t value = 0; value < wanted.count; ++value) {
    if (wanted.def != nullptr && wanted.def[value] > 0) {
      to[value] = 0;
      continue;
    }
    const auto index = static_cast<uint64_t>(load<Index>(wanted.indices, value));
    if (index >= num_items) return corrupt("an index lies outside the dictionary", value);
    int32_t* known = &code_of_index_[static_cast<size_t>(index)];
    if (*known == kUnknown) {
      const Outcome outcome = code_of_item(items, static_cast<int64_t>(index), limit, known);
      if (outcome.message != nullptr) return outcome;
    }
    to[value] = *known;
  }
  return success();
}

Outcome ItemCodes::add_indices(const ItemIndices& wanted, int64_t index_bytes, const Items& items, int64_t limit) {
  if (page_ != &items) {
    const Outcome outcome = begin_page(items, limit);
    if (outcome.message != nullptr) return outcome;
  }
  switch (index_bytes) {
    case 1: return add_by<uint8_t>(wanted, items, limit);
    case 2: return add_by<uint16_t>(wanted, items, limit);
    case 4: return add_by<uint32_t>(wanted, items, limit);
    default: return add_by<uint64_t>(wanted, items, limit);
  }
}

Outcome ItemCodes::add_values(const uint8_t* bytes, const int64_t* ends, int64_t count, int64_t limit) {
  int32_t* to = more_codes(count);
  if (to == nullptr) return misuse("more values are read than there are rows");
  int64_t start = 0;
  for (int64_t value = 0; value < count; ++value) {
    int32_t* code = &to[value];
    const int64_t size = ends[value] - start;
    if (size <= 0) {
      *code = kEmpty;
      has_empty_ = true;
    } else {
      const Outcome outcome = code_of(bytes + start, size, limit, code);
      if (outcome.message != nullptr) return outcome;
    }
    start = ends[value];
  }
  return success();
}

Outcome ItemCodes::settle_empty(const uint8_t* validity, int64_t limit) {
  if (!has_empty_) return success();
  int32_t* codes = lent_ != nullptr ? lent_ : own_.data();
  for (int64_t value = 0; value < num_codes_; ++value) {
    if (codes[value] != kEmpty) continue;
    codes[value] = 0;
    if (validity != nullptr && (validity[value / 8] >> (value % 8) & 1) == 0) continue;
    const Outcome outcome = code_of(nullptr, 0, limit, &codes[value]);
    if (outcome.message != nullptr) return outcome;
  }
  has_empty_ = false;
  return success();
}

void ItemCodes::copy_items(uint8_t* values, uint8_t* offsets, int offset_bits) const {
  copy_bytes(values, bytes_.data(), num_item_bytes());
  const auto put = [&](int64_t at, int64_t end) {
    if (offset_bits == 32) store<int32_t>(offsets, at, static_cast<int32_t>(end));
    else store<int64_t>(offsets, at, end);
  };
  put(0, 0);
  for (int64_t item = 0; item < num_items(); ++item) put(item + 1, ends_[static_cast<size_t>(item)]);
}

void ItemCodes::clear() {
  own_.clear();
  lent_ = nullptr;
  room_ = num_codes_ = 0;
  bytes_.clear();
  ends_.clear();
  hashes_.clear();
  slots_.clear();
  page_ = nullptr;
  has_empty_ = false;
}

int64_t ItemCodes::kept_bytes() const {
  return lance_arrow::kept_bytes(own_) + lance_arrow::kept_bytes(bytes_) + lance_arrow::kept_bytes(ends_) +
         lance_arrow::kept_bytes(hashes_) + lance_arrow::kept_bytes(slots_) + lance_arrow::kept_bytes(code_of_index_);
}

}  // namespace lance_arrow::engine
