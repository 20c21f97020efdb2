// Byte strings held against ranges of them, in the order of bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "lance_arrow/bits.hpp"
#include "lance_arrow/variable.hpp"
#include "lance_arrow_native.h"

namespace lance_arrow {

// Whether a codec marks values of any length. Structs that were compiled with earlier headers end before the function.
inline bool marks_texts(const LaChunkMarks& marks) {
  constexpr auto end = static_cast<int64_t>(offsetof(LaChunkMarks, select_texts) + sizeof(marks.select_texts));
  return marks.struct_bytes >= end && marks.select_texts != nullptr;
}

// Below 0, 0 or above 0 as a string comes before a bound, is it, or comes after it.
inline int compare_text(const uint8_t* bytes, int64_t size, const LaTextBound& bound) {
  const int64_t both = std::min(size, bound.size);
  if (both > 0 && bytes[0] != bound.bytes[0]) return bytes[0] < bound.bytes[0] ? -1 : 1;
  const int order = both > 0 ? std::memcmp(bytes, bound.bytes, static_cast<size_t>(both)) : 0;
  if (order != 0 || size == bound.size) return order;
  return size < bound.size ? -1 : 1;
}

// Eight bytes as a number that orders as they do: the first one counts most.
inline uint64_t ordered(uint64_t bytes) {
  bytes = bytes >> 32 | bytes << 32;
  bytes = (bytes & 0xFFFF0000FFFF0000u) >> 16 | (bytes & 0x0000FFFF0000FFFFu) << 16;
  return (bytes & 0xFF00FF00FF00FF00u) >> 8 | (bytes & 0x00FF00FF00FF00FFu) << 8;
}

// The first eight bytes of what bounds a single range: most strings differ there from both bounds.
class RangeHead {
 public:
  enum Side : int { kOutside = 0, kInside = 1, kUndecided = 2 };

  RangeHead() = default;

  explicit RangeHead(const LaTextRanges& ranges) {
    if (ranges.num_ranges != 1) return;
    used_ = ~uint64_t{0};
    low_ = head(ranges.lows[0]);
    const LaTextBound& high = ranges.highs[0];
    high_ = high.size == LA_ONLY_LOW ? low_ : high.size == LA_NO_END ? ~uint64_t{0} : head(high);
  }

  // Side of a string that begins with the first `size` bytes, 0..8, of a word; the others may be any.
  Side side(uint64_t word, int64_t size) const {
    const uint64_t mask = kFirst[size] & used_, own = ordered(word) & mask;
    const uint64_t low = low_ & mask, high = high_ & mask;
    if (own < low || own > high) return kOutside;
    return own > low && own < high ? kInside : kUndecided;
  }

  bool decides() const { return used_ != 0; }

  bool operator==(const RangeHead&) const = default;

 private:
  static constexpr uint64_t kFirst[9] = {
      0,
      0xFF00000000000000u,
      0xFFFF000000000000u,
      0xFFFFFF0000000000u,
      0xFFFFFFFF00000000u,
      0xFFFFFFFFFF000000u,
      0xFFFFFFFFFFFF0000u,
      0xFFFFFFFFFFFFFF00u,
      0xFFFFFFFFFFFFFFFFu,
  };

  // Zeros stand behind a shorter bound, which decide nothing: a string that goes on with other bytes comes after it.
  static uint64_t head(const LaTextBound& bound) {
    return bound.size <= 0 ? 0 : ordered(load<uint64_t>(bound.bytes, 0)) & kFirst[std::min<int64_t>(bound.size, 8)];
  }

  uint64_t used_ = 0, low_ = 0, high_ = 0;  // nothing is decided of several ranges
};

// Whether a string lies in a range. `compare(bound)` is as `compare_text` of the string.
template <class Compare>
uint8_t is_in_ranges(const LaTextRanges& ranges, Compare&& compare) {
  if (ranges.num_ranges == 1) {
    // Which side of a bound strings lie on is not foreseen: no branch asks.
    const LaTextBound& low = ranges.lows[0];
    const LaTextBound& high = ranges.highs[0];
    if (high.size == LA_ONLY_LOW) return compare(low) == 0 ? 1 : 0;
    if (high.size == LA_NO_END) return compare(low) >= 0 ? 1 : 0;
    if (low.size == 0) return compare(high) < 0 ? 1 : 0;
    // Of bounds that begin alike, one takes longer to compare than a branch that was not foreseen.
    if (load<uint64_t>(low.bytes, 0) == load<uint64_t>(high.bytes, 0))
      return compare(high) < 0 && compare(low) >= 0 ? 1 : 0;
    return static_cast<uint8_t>((compare(high) < 0 ? 1 : 0) & (compare(low) >= 0 ? 1 : 0));
  }
  for (int64_t range = 0; range < ranges.num_ranges; ++range) {
    const LaTextBound& low = ranges.lows[range];
    const LaTextBound& high = ranges.highs[range];
    const int order = compare(low);
    if (order < 0) return 0;
    if (order == 0 || high.size == LA_NO_END) return 1;
    if (high.size != LA_ONLY_LOW && compare(high) < 0) return 1;
  }
  return 0;
}

// Marks strings of which each ends where the next one begins; the first begins at `begin`.
inline void mark_texts(const LaTextRanges& ranges, const uint8_t* bytes, int64_t begin, const int64_t* ends,
                       int64_t count, uint8_t* marks) {
  for (int64_t value = 0; value < count; ++value) {
    const uint8_t* text = bytes + begin;
    const int64_t size = ends[value] - begin;
    marks[value] = is_in_ranges(ranges, [&](const LaTextBound& bound) { return compare_text(text, size, bound); });
    begin = ends[value];
  }
}

// Marks runs of values whose stored offsets are as `append_runs` takes them.
template <class Offset>
LaRefusal mark_text_runs(const uint8_t* offsets, const uint8_t* values, uint64_t first, uint64_t last,
                         const LaRuns& runs, const LaTextRanges& ranges, uint8_t* marks) {
  constexpr int64_t width = sizeof(Offset);
  for (int64_t run = 0; run < runs.num_runs; ++run) {
    const int64_t begin = runs.starts[run], count = runs.stops[run] - begin;
    const uint64_t start = load<Offset>(offsets, begin), stop = load<Offset>(offsets, begin + count);
    if (start < first || start > stop || stop > last || !ascending<Offset>(offsets + begin * width, count))
      return "a chunk's offsets descend or leave it";
    uint64_t from = start;
    for (int64_t value = 0; value < count; ++value) {
      const uint64_t to = load<Offset>(offsets, begin + value + 1);
      const uint8_t* text = values + (from - first);
      const auto size = static_cast<int64_t>(to - from);
      *marks++ = is_in_ranges(ranges, [&](const LaTextBound& bound) { return compare_text(text, size, bound); });
      from = to;
    }
  }
  return nullptr;
}

}  // namespace lance_arrow
