// A condition on byte strings: ranges, in which they satisfy it, or what is looked for in them. Strings are judged
// where they were decoded, or by their codec, batch by batch, so that no column of them is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/text_search.hpp"
#include "lance_arrow_native.h"

namespace lance_arrow::engine {

class TextCondition {
 public:
  TextCondition() = default;
  TextCondition(TextCondition&&) = default;  // copies would point into the original
  TextCondition& operator=(TextCondition&&) = default;

  // Adds a range: `high` is null where it has no end. One that ends with the string that follows `low` is `low` alone.
  void add(std::string low, const std::string* high);

  // Takes the place of ranges.
  void look_for(std::string needle, bool found, bool missing) {
    search_ = TextSearch{std::move(needle), static_cast<uint8_t>(found), static_cast<uint8_t>(missing)};
  }

  // Whether ranges ascend, and are disjoint, and what is looked for is not empty. To be called before those below, once
  // all are added.
  bool prepare();

  // Whether codecs are asked, too.
  bool has_few() const { return !search_.has_value() && held_.size() <= LA_MOST_RANGES; }

  // What codecs are told; it points into this condition, and holds until it is moved or changed.
  const LaTextRanges& ranges() const { return ranges_; }

  // Whether each string satisfies it, 0 or 1. Each ends where the next one begins; the first begins at `begin`.
  void mark(const uint8_t* bytes, int64_t begin, const int64_t* ends, int64_t count, uint8_t* marks) const;

 private:
  struct Range {
    std::string low, high;  // with 8 bytes more than their sizes
    int64_t low_size, high_size;
  };

  bool is_valid() const;
  void make_table();
  bool holds(const uint8_t* text, int64_t size) const;
  bool is_one(const uint8_t* text, int64_t size, uint64_t hash) const;

  std::optional<TextSearch> search_;
  std::vector<Range> held_;
  std::vector<LaTextBound> lows_, highs_;
  LaTextRanges ranges_{};
  // Of many single strings: a bit for each value of a hash, set where it is that of one of them; and a hash table of
  // their numbers, -1 where there is none. Else nothing.
  std::vector<uint64_t> hashed_;
  std::vector<int64_t> places_;
  int hashed_shift_ = 0, places_shift_ = 0;
};

}  // namespace lance_arrow::engine
