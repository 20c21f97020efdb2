// The 16 bytes of a view of a string, as Arrow defines them: size, then the value itself, or 4 bytes of it and a place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

namespace lance_arrow::engine {

constexpr int64_t kViewBytes = 16;
constexpr int64_t kMostInView = 12;
constexpr int64_t kMostOfView = std::numeric_limits<int32_t>::max();

// A value of at most kMostInView bytes; `readable` bytes may be read from `value` on.
inline void put_short_view(uint8_t* view, const uint8_t* value, int64_t size, int64_t readable) {
  uint64_t low = 0;
  uint32_t high = 0;
  if (readable >= kMostInView) {
    std::memcpy(&low, value, sizeof low);
    std::memcpy(&high, value + sizeof low, sizeof high);
    low &= size >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * size)) - 1;
    high &= size >= 12 ? ~uint32_t{0} : size <= 8 ? 0 : (uint32_t{1} << (8 * (size - 8))) - 1;
  } else if (size > 0) {
    std::memcpy(&low, value, static_cast<size_t>(std::min<int64_t>(size, 8)));
    if (size > 8) std::memcpy(&high, value + 8, static_cast<size_t>(size - 8));
  }
  const auto length = static_cast<int32_t>(size);
  std::memcpy(view, &length, 4);
  std::memcpy(view + 4, &low, 8);
  std::memcpy(view + 12, &high, 4);
}

// A longer value of at most kMostOfView bytes, `place` bytes behind the start of memory whose buffers begin
// `buffer_bytes` after each other.
inline void put_long_view(uint8_t* view, const uint8_t* value, int64_t size, int64_t place, int64_t buffer_bytes) {
  const auto length = static_cast<int32_t>(size);
  const auto buffer = static_cast<int32_t>(place / buffer_bytes), offset = static_cast<int32_t>(place % buffer_bytes);
  std::memcpy(view, &length, 4);
  std::memcpy(view + 4, value, 4);
  std::memcpy(view + 8, &buffer, 4);
  std::memcpy(view + 12, &offset, 4);
}

inline void put_empty_view(uint8_t* view) { std::memset(view, 0, kViewBytes); }

}  // namespace lance_arrow::engine
