// A condition on numbers: ranges, in which they satisfy it. Numbers are judged where they were decoded, batch by
// batch, so that they never leave the cache.
#pragma once

#include <cstdint>
#include <vector>

#include "lance_arrow_native.h"

namespace lance_arrow::engine {

// How bytes are read: two's complement, without a sign, or as IEEE 754.
enum class NumberKind : int { kSigned = LA_SIGNED, kUnsigned = LA_UNSIGNED, kFloat = LA_FLOAT };

enum class MarkedNumbers { kNone, kSome, kAll };

struct NumberCondition {
  NumberKind kind = NumberKind::kSigned;
  int64_t bits = 64;  // 8, 16, 32 or 64; floats have 32 or 64
  // Closed ranges, ascending and disjoint: the bits of the first and last number of each, as many as `bits`.
  std::vector<uint64_t> lows, highs;
  bool nan_flag = false;  // whether NaN satisfies it

  // Whether it is what is said above. To be called before the others, once all is set.
  bool prepare();

  // Whether codecs are asked, too.
  bool has_few() const { return lows.size() <= LA_MOST_RANGES; }

  // The same as codecs are told; it points into this condition.
  LaNumberRanges ranges() const;

  // What is known of integers between two of them, whose bits these are: all, or none of them, may satisfy it.
  MarkedNumbers between(uint64_t least, uint64_t greatest) const;

  // Whether each number satisfies it, 0 or 1, for `count` numbers that lie one after the other.
  void mark(const uint8_t* values, int64_t count, uint8_t* marks) const;

 private:
  void mark_many(const uint8_t* values, int64_t count, uint8_t* marks) const;

  // The first and last number of each range, as numbers without a sign that are in the same order. Of many ranges a bit
  // for each part of their span, of 2^shift_ numbers, that has one of a range.
  std::vector<uint64_t> first_, last_, parts_;
  int shift_ = 0;
  uint64_t lowest_ = 0, highest_ = ~uint64_t{0};  // numbers outside are NaN
};

}  // namespace lance_arrow::engine
