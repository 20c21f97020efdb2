#include "engine/plan/text_condition.hpp"

#include <algorithm>
#include <bit>

#include "lance_arrow/text_ranges.hpp"

namespace lance_arrow::engine {

namespace {

constexpr size_t kBehind = 8;

LaTextBound bound_of(const std::string& held, int64_t size) {
  return {reinterpret_cast<const uint8_t*>(held.data()), size};
}

// So many values of the hash for each string, 16 to 32, that most others are told by it.
constexpr int kMoreHashed = 4, kFewestHashed = 12;
constexpr int kMostTried = 16;

// Of the size, the first and the last eight bytes, which strings mostly differ in.
uint64_t hash_of(const uint8_t* text, int64_t size) {
  uint64_t first = 0, last = 0;
  if (size >= 8) {
    first = load<uint64_t>(text, 0);
    std::memcpy(&last, text + size - 8, 8);
  } else if (size >= 4) {
    first = load<uint32_t>(text, 0);
    uint32_t tail;
    std::memcpy(&tail, text + size - 4, 4);
    last = tail;
  } else if (size > 0) {
    first = uint64_t{text[0]} << 16 | uint64_t{text[size / 2]} << 8 | text[size - 1];
  }
  uint64_t hash = (first ^ static_cast<uint64_t>(size)) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 32 ^ last) * 0xC2B2AE3D27D4EB4Fu;
  return hash ^ hash >> 29;
}

}  // namespace

void TextCondition::add(std::string low, const std::string* high) {
  const auto low_size = static_cast<int64_t>(low.size());
  int64_t high_size = high == nullptr ? LA_NO_END : static_cast<int64_t>(high->size());
  if (high != nullptr && *high == low + '\0') high_size = LA_ONLY_LOW;
  low.append(kBehind, '\0');
  std::string end = high == nullptr ? std::string() : *high;
  end.append(kBehind, '\0');
  held_.push_back({std::move(low), std::move(end), low_size, high_size});
}

bool TextCondition::is_valid() const {
  for (size_t range = 0; range < held_.size(); ++range) {
    const Range& one = held_[range];
    const LaTextBound low = bound_of(one.low, one.low_size);
    if (one.high_size >= 0 && compare_text(low.bytes, low.size, bound_of(one.high, one.high_size)) >= 0) return false;
    if (range == 0) continue;
    const Range& before = held_[range - 1];
    if (before.high_size == LA_NO_END) return false;
    const bool is_alone = before.high_size == LA_ONLY_LOW;
    const int order =
        compare_text(low.bytes, low.size,
                     is_alone ? bound_of(before.low, before.low_size) : bound_of(before.high, before.high_size));
    if (order < (is_alone ? 1 : 0)) return false;
  }
  return true;
}

bool TextCondition::prepare() {
  if (search_.has_value()) return held_.empty() && !search_->needle.empty();
  lows_.clear();
  highs_.clear();
  for (const Range& one : held_) {
    lows_.push_back(bound_of(one.low, one.low_size));
    highs_.push_back(bound_of(one.high, one.high_size));
  }
  ranges_ = {lows_.data(), highs_.data(), static_cast<int64_t>(held_.size())};
  if (!is_valid()) return false;
  const bool are_single =
      std::all_of(held_.begin(), held_.end(), [](const Range& one) { return one.high_size == LA_ONLY_LOW; });
  if (!has_few() && are_single) make_table();
  return true;
}

void TextCondition::make_table() {
  const int bits = static_cast<int>(std::bit_width(held_.size()));
  hashed_shift_ = 64 - std::max(kFewestHashed, bits + kMoreHashed);
  places_shift_ = 64 - (bits + 1);
  hashed_.assign((uint64_t{1} << (64 - hashed_shift_)) / 64, 0);
  places_.assign(uint64_t{1} << (64 - places_shift_), -1);
  for (size_t number = 0; number < lows_.size(); ++number) {
    const uint64_t hash = hash_of(lows_[number].bytes, lows_[number].size), bit = hash >> hashed_shift_;
    hashed_[bit / 64] |= uint64_t{1} << (bit % 64);
    uint64_t place = hash >> places_shift_;
    int tried = 0;
    for (; places_[place] >= 0 && tried < kMostTried; ++tried) place = (place + 1) % places_.size();
    if (tried == kMostTried) {
      // They differ in the middle alone, as addresses of pages do: a search takes fewer comparisons.
      hashed_.clear();
      places_.clear();
      return;
    }
    places_[place] = static_cast<int64_t>(number);
  }
}

// There are more places than strings, so that a search ends.
bool TextCondition::is_one(const uint8_t* text, int64_t size, uint64_t hash) const {
  for (uint64_t place = hash >> places_shift_; places_[place] >= 0; place = (place + 1) % places_.size()) {
    const LaTextBound& one = lows_[static_cast<size_t>(places_[place])];
    if (one.size == size && compare_text(text, size, one) == 0) return true;
  }
  return false;
}

// The last range that begins with the string or before it, if any.
bool TextCondition::holds(const uint8_t* text, int64_t size) const {
  const auto after = std::partition_point(lows_.begin(), lows_.end(),
                                          [&](const LaTextBound& low) { return compare_text(text, size, low) >= 0; });
  if (after == lows_.begin()) return false;
  const auto range = after - lows_.begin() - 1;
  const LaTextBound& high = highs_[static_cast<size_t>(range)];
  if (high.size == LA_NO_END) return true;
  if (high.size == LA_ONLY_LOW) return compare_text(text, size, lows_[static_cast<size_t>(range)]) == 0;
  return compare_text(text, size, high) < 0;
}

void TextCondition::mark(const uint8_t* bytes, int64_t begin, const int64_t* ends, int64_t count,
                         uint8_t* marks) const {
  if (search_.has_value()) return search_->mark(bytes, begin, ends, count, marks);
  if (has_few()) return mark_texts(ranges_, bytes, begin, ends, count, marks);
  for (int64_t value = 0; value < count; ++value) {
    const uint8_t* text = bytes + begin;
    const int64_t size = ends[value] - begin;
    begin = ends[value];
    if (hashed_.empty()) {
      marks[value] = holds(text, size) ? 1 : 0;
      continue;
    }
    const uint64_t hash = hash_of(text, size), bit = hash >> hashed_shift_;
    marks[value] = (hashed_[bit / 64] >> (bit % 64) & 1) != 0 && is_one(text, size, hash) ? 1 : 0;
  }
}

}  // namespace lance_arrow::engine
