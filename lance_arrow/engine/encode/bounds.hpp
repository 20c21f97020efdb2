// Bounds of runs of values: smallest, greatest, and how many are null or NaN, a run ("zone") at a time.
#pragma once

#include <algorithm>
#include <limits>

#include "lance_arrow/arithmetic.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

enum ValueKind : int { kSigned = 0, kUnsigned = 1, kFloating = 2, kBit = 3, kBytes_ = 4 };

// What every zone reports besides its bounds; `values` are those that are neither null nor NaN.
struct ZoneCounts {
  int64_t* values;
  int64_t* nulls;
  int64_t* nans;
};

// Bits of a bitmap; address null: all set.
struct Validity {
  const uint8_t* bits;
  int64_t bytes;
  int64_t offset;
};

// --- accumulators: add(value address) and add_run(address, count), then store ---------------------------------------

template <class T>
struct Integers {
  static constexpr int64_t width = sizeof(T);
  T low = std::numeric_limits<T>::max();
  T high = std::numeric_limits<T>::min();
  int64_t nans = 0;

  void add(const uint8_t* at) {
    const T value = load<T>(at, 0);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void add_run(const uint8_t* at, int64_t count) {
    T least = low, most = high;
    for (int64_t i = 0; i < count; ++i) {
      const T value = load<T>(at, i);
      least = value < least ? value : least;
      most = value > most ? value : most;
    }
    low = least;
    high = most;
  }
  void save(uint8_t* min, uint8_t* max) const {
    store(min, 0, low);
    store(max, 0, high);
  }
};

// --- zones ----------------------------------------------------------------------------------------------------------

struct Zones {
  const int64_t* starts;
  int64_t count;
};

// Bounds of fixed-width values; value i of the zones is item `value_offset + i` of `values` (a bit for kBit).
Outcome bound_fixed(const uint8_t* values, int64_t values_bytes, int64_t value_offset, int kind, int64_t width,
                    Validity validity, Zones zones, uint8_t* mins, uint8_t* maxs, int64_t bounds_bytes,
                    ZoneCounts counts);

// --- variable width -------------------------------------------------------------------------------------------------

// First eight bytes as a number in the order of the bytes; shorter values are filled with zeros. `held` bytes may be
// read.
inline uint64_t first_bytes(const uint8_t* bytes, int64_t size, int64_t held) {
  if (size >= 8) return swap_bytes(load<uint64_t>(bytes, 0));
  if (held >= 8 && size > 0) return swap_bytes(load<uint64_t>(bytes, 0)) & ~uint64_t{0} << (64 - 8 * size);
  uint64_t key = 0;
  for (int64_t i = 0; i < size; ++i) key |= uint64_t{bytes[i]} << (56 - 8 * i);
  return key;
}

struct Candidate {
  const uint8_t* bytes;
  int64_t size;
  int64_t index;
  uint64_t key;
};

// By words behind the key: values of a column often begin alike, and a call for each would cost more than its bytes.
inline int compare(const Candidate& left, const Candidate& right) {
  if (left.key != right.key) return left.key < right.key ? -1 : 1;
  const int64_t common = std::min(left.size, right.size);
  for (int64_t at = 8; at < common; at += 8) {
    // The last word begins in the one before it.
    const int64_t from = std::min(at, common - 8);
    const auto one = load<uint64_t>(left.bytes + from, 0), other = load<uint64_t>(right.bytes + from, 0);
    if (one != other) return swap_bytes(one) < swap_bytes(other) ? -1 : 1;
  }
  return left.size < right.size ? -1 : left.size > right.size;
}

// Index of the first smallest and first greatest value of each zone, -1 in zones without values.
// `offsets` has an entry for value 0, 1, ... and one more.
Outcome bound_variable(const uint8_t* offsets, int64_t offsets_bytes, int offset_bits, const uint8_t* data,
                       int64_t data_bytes, Validity validity, Zones zones, int64_t* min_indices, int64_t* max_indices,
                       ZoneCounts counts);

}  // namespace lance_arrow::engine
