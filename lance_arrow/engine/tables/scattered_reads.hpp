// Ranges of a file that lie close together, read by one system call into places apart.
#pragma once

#include "engine/common/files.hpp"

namespace lance_arrow::engine {

constexpr int64_t kMostTogether = 512;  // with what lies between them, no more places than IOV_MAX (1,024)
constexpr int64_t kMostBetween = 4 << 10;  // a call costs about what copying this much costs
constexpr int64_t kMostTogetherBytes = 16 << 20;

// Ranges ``starts[i]`` to ``stops[i]`` of a file, counted from `base`; each is read to ``out + places[i]``.
struct Scattered {
  int64_t base;
  const int64_t* starts;
  const int64_t* stops;
  const int64_t* places;
  int64_t count;
  uint8_t* out;
};

// How many of the ranges, from the `first` on, ascend and lie so close together that one call may read them.
inline int64_t num_together(const Scattered& ranges, int64_t first) {
  int64_t end = first + 1;
  while (end < ranges.count && end - first < kMostTogether && ranges.starts[end] >= ranges.stops[end - 1] &&
         ranges.starts[end] - ranges.stops[end - 1] <= kMostBetween &&
         ranges.stops[end] - ranges.starts[first] <= kMostTogetherBytes)
    ++end;
  return end - first;
}

// Reads that many ranges; false where the call failed or came back short, and nothing is known of their places.
inline bool read_together(int fd, const Scattered& ranges, int64_t first, int64_t count) {
  uint8_t between[kMostBetween];
  iovec parts[2 * kMostTogether];
  int num_parts = 0;
  for (int64_t range = first; range < first + count; ++range) {
    const int64_t gap = range > first ? ranges.starts[range] - ranges.stops[range - 1] : 0;
    if (gap > 0) parts[num_parts++] = {between, static_cast<size_t>(gap)};
    const int64_t size = ranges.stops[range] - ranges.starts[range];
    if (size > 0) parts[num_parts++] = {ranges.out + ranges.places[range], static_cast<size_t>(size)};
  }
  const int64_t start = ranges.starts[first], total = ranges.stops[first + count - 1] - start;
  return read_apart(fd, ranges.base + start, parts, num_parts, total);
}

}  // namespace lance_arrow::engine
