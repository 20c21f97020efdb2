#include "engine/plan/number_condition.hpp"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

namespace {

template <class T>
T number_of(uint64_t bits) {
  T number;
  std::memcpy(&number, &bits, sizeof(T));
  return number;
}

// Calls visit.operator()<T>() with the type of the numbers.
template <class Visit>
void with_number_type(NumberKind kind, int64_t bits, Visit&& visit) {
  if (kind == NumberKind::kFloat) {
    if (bits == 32) return visit.template operator()<float>();
    return visit.template operator()<double>();
  }
  const bool is_signed = kind == NumberKind::kSigned;
  switch (bits) {
    case 8: return is_signed ? visit.template operator()<int8_t>() : visit.template operator()<uint8_t>();
    case 16: return is_signed ? visit.template operator()<int16_t>() : visit.template operator()<uint16_t>();
    case 32: return is_signed ? visit.template operator()<int32_t>() : visit.template operator()<uint32_t>();
    default: return is_signed ? visit.template operator()<int64_t>() : visit.template operator()<uint64_t>();
  }
}

// Marks are set, or added to those of other ranges. One comparison for integers: those below a range wrap around.
template <class T, bool is_first>
void mark_range(const uint8_t* __restrict values, int64_t count, T low, T high, uint8_t* __restrict marks) {
  for (int64_t at = 0; at < count; ++at) {
    const T number = load<T>(values, at);
    uint8_t found;
    if constexpr (std::is_floating_point_v<T>) {
      found = static_cast<uint8_t>((number >= low) & (number <= high));
    } else {
      using U = std::make_unsigned_t<T>;
      const U span = static_cast<U>(static_cast<U>(high) - static_cast<U>(low));
      found = static_cast<U>(static_cast<U>(number) - static_cast<U>(low)) <= span ? 1 : 0;
    }
    marks[at] = is_first ? found : static_cast<uint8_t>(marks[at] | found);
  }
}

template <class T>
void mark_nans(const uint8_t* __restrict values, int64_t count, uint8_t* __restrict marks) {
  for (int64_t at = 0; at < count; ++at) {
    const T number = load<T>(values, at);
    marks[at] = static_cast<uint8_t>(marks[at] | (number != number ? 1 : 0));
  }
}

}  // namespace

bool NumberCondition::is_valid() const {
  const bool has_width = bits == 32 || bits == 64 || (kind != NumberKind::kFloat && (bits == 8 || bits == 16));
  if (!has_width || lows.size() != highs.size()) return false;
  bool is_valid = true;
  with_number_type(kind, bits, [&]<class T>() {
    for (size_t range = 0; range < lows.size(); ++range) {
      const T low = number_of<T>(lows[range]), high = number_of<T>(highs[range]);
      // Not so for NaN either.
      is_valid = is_valid && low <= high;
      if (range > 0) is_valid = is_valid && number_of<T>(highs[range - 1]) < low;
    }
  });
  return is_valid;
}

void NumberCondition::mark(const uint8_t* values, int64_t count, uint8_t* marks) const {
  if (count <= 0) return;
  if (lows.empty()) std::memset(marks, 0, static_cast<size_t>(count));
  with_number_type(kind, bits, [&]<class T>() {
    for (size_t range = 0; range < lows.size(); ++range) {
      const T low = number_of<T>(lows[range]), high = number_of<T>(highs[range]);
      if (range == 0) mark_range<T, true>(values, count, low, high, marks);
      else mark_range<T, false>(values, count, low, high, marks);
    }
    if constexpr (std::is_floating_point_v<T>)
      if (nan_flag) mark_nans<T>(values, count, marks);
  });
}

}  // namespace lance_arrow::engine
