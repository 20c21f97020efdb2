#include "engine/plan/value_views.hpp"

#include "engine/common/utf8.hpp"
#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

namespace {

constexpr uint8_t kKnown = 1;

Outcome not_text(int64_t value) { return corrupt("a string is not UTF-8", value); }

bool is_inside_character(uint8_t byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

uint8_t* ValueViews::more_views(int64_t count) {
  if (lent_ == nullptr) {
    own_.resize(static_cast<size_t>((num_views_ + count) * kViewBytes));
  } else if (count > room_ - num_views_) {
    return nullptr;
  }
  uint8_t* to = (lent_ != nullptr ? lent_ : own_.data()) + num_views_ * kViewBytes;
  num_views_ += count;
  return to;
}

Outcome ValueViews::view_of_item(const Items& items, int64_t item, int64_t limit, Buffer* data, int64_t* end,
                                 uint8_t* view) const {
  int64_t start, size;
  const Outcome outcome = items.find(item, &start, &size);
  if (outcome.message != nullptr) return outcome;
  const uint8_t* value = items.values + start;
  if (is_text_ && !valid_utf8(value, size)) return not_text(item);
  if (size <= kMostInView) {
    put_short_view(view, value, size, items.values_bytes - start);
    return success();
  }
  uint8_t* to = size > kMostOfView ? nullptr : data->reserve(*end, size, limit);
  if (to == nullptr) return above_limit();
  copy_bytes(to, value, size);
  put_long_view(view, value, size, *end, buffer_bytes_);
  *end += size;
  return success();
}

Outcome ValueViews::begin_page(const Items& items, int64_t count, int64_t limit, Buffer* data, int64_t* end) {
  page_ = nullptr;
  views_of_items_.clear();
  is_known_.clear();
  const bool is_whole = items.num_items <= kFewItems;
  if (!is_whole && count < items.num_items / kItemsPerRow) return success();
  views_of_items_.resize(static_cast<size_t>(items.num_items * kViewBytes));
  if (!is_whole) is_known_.assign(static_cast<size_t>(items.num_items), 0);
  for (int64_t item = 0; is_whole && item < items.num_items; ++item) {
    const Outcome outcome = view_of_item(items, item, limit, data, end, views_of_items_.data() + item * kViewBytes);
    if (outcome.message != nullptr) return outcome;
  }
  page_ = &items;
  return success();
}

template <class Index>
Outcome ValueViews::add_by(const ItemIndices& wanted, const Items& items, int64_t limit, Buffer* data, int64_t* end,
                           uint8_t* to) {
  const auto num_items = static_cast<uint64_t>(items.num_items);
  const bool is_whole = page_ == &items && is_known_.empty();
  for (int64_t value = 0; value < wanted.count; ++value, to += kViewBytes) {
    if (wanted.def != nullptr && wanted.def[value] > 0) {
      put_empty_view(to);
      continue;
    }
    const auto index = static_cast<uint64_t>(load<Index>(wanted.indices, value));
    if (index >= num_items) return corrupt("an index lies outside the dictionary", value);
    if (!is_whole) {
      const auto item = static_cast<int64_t>(index);
      const bool has_table = page_ == &items;
      uint8_t* view = has_table ? views_of_items_.data() + item * kViewBytes : to;
      if (!has_table || is_known_[static_cast<size_t>(index)] != kKnown) {
        const Outcome outcome = view_of_item(items, item, limit, data, end, view);
        if (outcome.message != nullptr) return outcome;
        if (!has_table) continue;
        is_known_[static_cast<size_t>(index)] = kKnown;
      }
    }
    std::memcpy(to, views_of_items_.data() + index * kViewBytes, kViewBytes);
  }
  return success();
}

Outcome ValueViews::add_indices(const ItemIndices& wanted, int64_t index_bytes, const Items& items, int64_t limit,
                                Buffer* data, int64_t* end) {
  if (page_ != &items) {
    const Outcome outcome = begin_page(items, wanted.count, limit, data, end);
    if (outcome.message != nullptr) return outcome;
  }
  uint8_t* to = more_views(wanted.count);
  if (to == nullptr) return misuse("more values are read than there are rows");
  switch (index_bytes) {
    case 1: return add_by<uint8_t>(wanted, items, limit, data, end, to);
    case 2: return add_by<uint16_t>(wanted, items, limit, data, end, to);
    case 4: return add_by<uint32_t>(wanted, items, limit, data, end, to);
    default: return add_by<uint64_t>(wanted, items, limit, data, end, to);
  }
}

Outcome ValueViews::add_values(const int64_t* ends, int64_t count, Buffer* data, int64_t* end) {
  uint8_t* to = more_views(count);
  if (to == nullptr) return misuse("more values are read than there are rows");
  if (count == 0) return success();
  const int64_t first = *end, last = ends[count - 1];
  uint8_t* bytes = data->data();
  if (last > data->room()) return misuse("values end behind their memory");
  int64_t long_bytes = 0;
  for (int64_t value = 0, start = first; value < count; start = ends[value++]) {
    const int64_t size = ends[value] - start;
    if (size < 0 || size > kMostOfView || ends[value] > last) return misuse("values have no views");
    if (size > kMostInView) long_bytes += size;
    if (is_text_ && size > 0 && is_inside_character(bytes[start])) return not_text(value);
  }
  if (is_text_ && !valid_utf8(bytes + first, last - first)) return not_text(0);
  // Moved together where most bytes lie in views.
  const bool is_moved = 2 * long_bytes < last - first;
  int64_t kept = first;
  for (int64_t value = 0, start = first; value < count; start = ends[value++], to += kViewBytes) {
    const int64_t size = ends[value] - start;
    if (size <= kMostInView) {
      put_short_view(to, bytes + start, size, data->room() - start);
      continue;
    }
    int64_t place = start;
    if (is_moved) {
      std::memmove(bytes + kept, bytes + start, static_cast<size_t>(size));
      place = kept;
      kept += size;
    }
    put_long_view(to, bytes + place, size, place, buffer_bytes_);
  }
  *end = is_moved ? kept : last;
  return success();
}

}  // namespace lance_arrow::engine
