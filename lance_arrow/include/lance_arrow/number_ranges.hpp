// Numbers compared with ranges: what `select_where` and `summarise` of a codec need (lance_arrow_native.h).
#pragma once

#include <cstring>
#include <type_traits>

#include "lance_arrow/outcome.hpp"
#include "lance_arrow_native.h"

namespace lance_arrow {

// Calls visit.operator()<T>() with the type of the numbers.
template <class Visit>
void with_number_type(int64_t kind, int64_t bits, Visit&& visit) {
  if (kind == LA_FLOAT) {
    if (bits == 32) return visit.template operator()<float>();
    return visit.template operator()<double>();
  }
  const bool is_signed = kind == LA_SIGNED;
  switch (bits) {
    case 8: return is_signed ? visit.template operator()<int8_t>() : visit.template operator()<uint8_t>();
    case 16: return is_signed ? visit.template operator()<int16_t>() : visit.template operator()<uint16_t>();
    case 32: return is_signed ? visit.template operator()<int32_t>() : visit.template operator()<uint32_t>();
    default: return is_signed ? visit.template operator()<int64_t>() : visit.template operator()<uint64_t>();
  }
}

template <class T>
T number_of(uint64_t bits) {
  T number;
  std::memcpy(&number, &bits, sizeof(T));
  return number;
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

// Whether each of `count` numbers, which lie one after the other, lies in a range: 0 or 1.
inline void mark_numbers(const LaNumberRanges& ranges, const uint8_t* values, int64_t count, uint8_t* marks) {
  if (count <= 0) return;
  if (ranges.num_ranges == 0) std::memset(marks, 0, static_cast<size_t>(count));
  const auto mark = [&]<class T>() {
    for (int64_t range = 0; range < ranges.num_ranges; ++range) {
      const T low = number_of<T>(ranges.lows[range]), high = number_of<T>(ranges.highs[range]);
      if (range == 0) mark_range<T, true>(values, count, low, high, marks);
      else mark_range<T, false>(values, count, low, high, marks);
    }
    if constexpr (std::is_floating_point_v<T>)
      if (ranges.nan_mark != 0) mark_nans<T>(values, count, marks);
  };
  if (ranges.kind == LA_FLOAT) return ranges.bits == 32 ? mark.operator()<float>() : mark.operator()<double>();
  // Distances between integers are the same with a sign and without: there is no code for those with one.
  switch (ranges.bits) {
    case 8: return mark.operator()<uint8_t>();
    case 16: return mark.operator()<uint16_t>();
    case 32: return mark.operator()<uint32_t>();
    default: return mark.operator()<uint64_t>();
  }
}

}  // namespace lance_arrow
