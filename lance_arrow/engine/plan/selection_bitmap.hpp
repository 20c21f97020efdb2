// Rows that are selected, by a bit each: values picked by them. Where runs are short, copying run by run takes longer:
// their lengths cannot be predicted.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "engine/common/bitmaps.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

// Values of a word of so many bits lie in few runs.
inline constexpr int kManyOfAWord = 52;

// Copies the values whose bit is set, of the num_rows that begin at bit_offset, back to back; returns where it ended.
template <class Width>
uint8_t* pick_selected_of(Width width, const uint8_t* source, const uint8_t* bits, int64_t bit_offset, int64_t num_rows,
                          uint8_t* to) {
  const int64_t size = width;  // a constant where the width is one
  for (int64_t done = 0; done < num_rows; done += 64) {
    const int64_t count = std::min<int64_t>(64, num_rows - done);
    const uint8_t* from = source + done * size;
    uint64_t word = peek_word(bits, bit_offset + done, count);
    if (word == ~uint64_t{0}) {
      copy_bytes(to, from, 64 * size);
      to += 64 * size;
      continue;
    }
    if (std::popcount(word) >= kManyOfAWord) {
      while (word != 0) {
        const int first = std::countr_zero(word), length = std::countr_one(word >> first);
        copy_bytes(to, from + first * size, length * size);
        to += length * size;
        word &= ~(((uint64_t{1} << length) - 1) << first);
      }
      continue;
    }
    for (; word != 0; word &= word - 1, to += size)
      std::memcpy(to, from + std::countr_zero(word) * size, static_cast<size_t>(size));
  }
  return to;
}

inline uint8_t* pick_selected(int64_t width, const uint8_t* source, const uint8_t* bits, int64_t bit_offset,
                              int64_t num_rows, uint8_t* to) {
  const auto pick = [&](auto size) { return pick_selected_of(size, source, bits, bit_offset, num_rows, to); };
  switch (width) {
    case 1: return pick(std::integral_constant<int64_t, 1>());
    case 2: return pick(std::integral_constant<int64_t, 2>());
    case 4: return pick(std::integral_constant<int64_t, 4>());
    case 8: return pick(std::integral_constant<int64_t, 8>());
    case 16: return pick(std::integral_constant<int64_t, 16>());
    default: return pick(width);
  }
}

Outcome take_marked_fixed(const uint8_t* source, int64_t source_bytes, int64_t width, const uint8_t* bits,
                          int64_t bits_bytes, int64_t bit_offset, uint8_t* out, int64_t out_bytes);

// Which rows from the first to the last wanted one are wanted.
class SelectionBitmap {
 public:
  // Nothing where runs are few, or lie far apart.
  void select(const int64_t* starts, const int64_t* stops, int64_t num_runs) {
    constexpr int64_t least_runs = 64, most_rows_per_run = 128;
    if (num_runs < least_runs || stops[num_runs - 1] - starts[0] > num_runs * most_rows_per_run) return;
    first_row_ = starts[0];
    stop_row_ = stops[num_runs - 1];
    int64_t num_wanted = 0;
    for (int64_t run = 0; run < num_runs; ++run) num_wanted += stops[run] - starts[run];
    rows_per_wanted_ = (stop_row_ - first_row_) / std::max<int64_t>(num_wanted, 1);
    bits_.assign(static_cast<size_t>((stop_row_ - first_row_ + 63) / 64 * 8), 0);
    fill_bit_runs(starts, stops, num_runs, first_row_, bits_.data(), static_cast<int64_t>(bits_.size()));
  }

  bool any() const { return stop_row_ > first_row_; }
  int64_t first_row() const { return first_row_; }
  int64_t stop_row() const { return stop_row_; }
  // Of about how many rows one is wanted.
  int64_t rows_per_wanted() const { return rows_per_wanted_; }

  int64_t count(int64_t start, int64_t stop) const {
    int64_t found = 0;
    count_bits(bits_.data(), static_cast<int64_t>(bits_.size()), start - first_row_, stop - start, &found);
    return found;
  }

  // Picks those of the values of rows start .. stop that are wanted.
  uint8_t* pick(int64_t width, const uint8_t* source, int64_t start, int64_t stop, uint8_t* to) const {
    return pick_selected(width, source, bits_.data(), start - first_row_, stop - start, to);
  }

 private:
  int64_t first_row_ = 0, stop_row_ = 0, rows_per_wanted_ = 0;
  std::vector<uint8_t> bits_;
};

}  // namespace lance_arrow::engine
