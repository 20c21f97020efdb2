#include "engine/plan/text_search.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "lance_arrow/bits.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kPlaces = 64;

// Whether the first and the last byte of a needle are at each of some places.
void mark_places(const uint8_t* __restrict bytes, int64_t distance, uint8_t first, uint8_t last, int64_t count,
                 uint8_t* __restrict marks) {
  for (int64_t place = 0; place < count; ++place)
    marks[place] = static_cast<uint8_t>((bytes[place] == first) & (bytes[place + distance] == last));
}

}  // namespace

// All strings are one text, since they lie one after the other. What is found there must lie in one of them.
void TextSearch::mark(const uint8_t* bytes, int64_t begin, const int64_t* ends, int64_t count, uint8_t* marks) const {
  if (count <= 0) return;
  std::fill_n(marks, count, missing);
  const auto size = static_cast<int64_t>(needle.size());
  const auto first = static_cast<uint8_t>(needle.front()), last = static_cast<uint8_t>(needle.back());
  const int64_t stop = ends[count - 1] - size + 1;  // of the places where it may begin
  int64_t value = 0;
  std::array<uint8_t, kPlaces> places;
  for (int64_t from = begin; from < stop; from += kPlaces) {
    const int64_t num_places = std::min(kPlaces, stop - from);
    if (num_places < kPlaces) places.fill(0);
    mark_places(bytes + from, size - 1, first, last, num_places, places.data());
    for (int64_t eight = 0; eight < kPlaces; eight += 8) {
      if (load<uint64_t>(places.data() + eight, 0) == 0) continue;
      for (int64_t place = eight; place < eight + 8; ++place) {
        if (places[static_cast<size_t>(place)] == 0) continue;
        const int64_t at = from + place;
        while (ends[value] <= at) ++value;
        if (marks[value] != found && at + size <= ends[value] &&
            std::memcmp(bytes + at, needle.data(), static_cast<size_t>(size)) == 0)
          marks[value] = found;
      }
    }
  }
}

}  // namespace lance_arrow::engine
