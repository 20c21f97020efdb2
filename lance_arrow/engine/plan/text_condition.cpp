#include "engine/plan/text_condition.hpp"

#include "lance_arrow/text_ranges.hpp"

namespace lance_arrow::engine {

namespace {

constexpr size_t kBehind = 8;

LaTextBound bound_of(const std::string& held, int64_t size) {
  return {reinterpret_cast<const uint8_t*>(held.data()), size};
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

LaTextRanges TextCondition::ranges() {
  lows_.clear();
  highs_.clear();
  for (const Range& one : held_) {
    lows_.push_back(bound_of(one.low, one.low_size));
    highs_.push_back(bound_of(one.high, one.high_size));
  }
  return {lows_.data(), highs_.data(), static_cast<int64_t>(held_.size())};
}

}  // namespace lance_arrow::engine
