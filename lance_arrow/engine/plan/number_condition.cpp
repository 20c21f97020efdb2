#include "engine/plan/number_condition.hpp"

#include "lance_arrow/number_ranges.hpp"

namespace lance_arrow::engine {

bool NumberCondition::is_valid() const {
  const bool has_width = bits == 32 || bits == 64 || (kind != NumberKind::kFloat && (bits == 8 || bits == 16));
  if (!has_width || lows.size() != highs.size()) return false;
  bool is_valid = true;
  with_number_type(static_cast<int64_t>(kind), bits, [&]<class T>() {
    for (size_t range = 0; range < lows.size(); ++range) {
      const T low = number_of<T>(lows[range]), high = number_of<T>(highs[range]);
      // Not so for NaN either.
      is_valid = is_valid && low <= high;
      if (range > 0) is_valid = is_valid && number_of<T>(highs[range - 1]) < low;
    }
  });
  return is_valid;
}

LaNumberRanges NumberCondition::ranges() const {
  return {
      static_cast<int64_t>(kind), bits, lows.data(), highs.data(), static_cast<int64_t>(lows.size()), nan_flag ? 1 : 0};
}

void NumberCondition::mark(const uint8_t* values, int64_t count, uint8_t* marks) const {
  mark_numbers(ranges(), values, count, marks);
}

}  // namespace lance_arrow::engine
