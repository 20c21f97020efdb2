// A condition on byte strings: a few ranges, in which they satisfy it. Strings are judged where they were decoded, or
// by their codec, batch by batch, so that no column of them is made.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lance_arrow_native.h"

namespace lance_arrow::engine {

class TextCondition {
 public:
  // Adds a range: `high` is null where it has no end. One that ends with the string that follows `low` is `low` alone.
  void add(std::string low, const std::string* high);

  // Whether ranges ascend, and are disjoint.
  bool is_valid() const;

  // What codecs are told; it points into this condition, and holds until it is moved or changed.
  LaTextRanges ranges();

 private:
  struct Range {
    std::string low, high;  // with 8 bytes more than their sizes
    int64_t low_size, high_size;
  };

  std::vector<Range> held_;
  std::vector<LaTextBound> lows_, highs_;
};

}  // namespace lance_arrow::engine
