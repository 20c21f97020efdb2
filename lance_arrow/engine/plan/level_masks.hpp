// Levels 64 at a time: a comparison of 64 entries gives one word of bits, and everything else is arithmetic on words.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <bit>

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

constexpr int64_t kBlock = 64;

// rep or def may be null: the page stores no such stream, and every level is 0.
struct LevelStreams {
  const uint16_t* rep;
  const uint16_t* def;
  int64_t num_entries;
};

// Bit i: levels[i] <= bound, of 64 levels.
uint64_t mask_at_most(const uint16_t* levels, uint16_t bound);

inline uint64_t low_bits(int64_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

// 64 levels from `start` on; only the first `live` exist. A short end is copied, so that no load exceeds the array.
class LevelBlock {
 public:
  LevelBlock(const uint16_t* levels, int64_t start, int64_t stop) : levels_(levels + start) {
    if (stop - start < kBlock) {
      std::memset(copy_, 0, sizeof copy_);
      std::memcpy(copy_, levels + start, static_cast<size_t>(stop - start) * sizeof(uint16_t));
      levels_ = copy_;
    }
  }
  LevelBlock(const LevelBlock&) = delete;
  LevelBlock& operator=(const LevelBlock&) = delete;

  uint64_t at_most(uint16_t bound) const { return mask_at_most(levels_, bound); }

 private:
  const uint16_t* levels_;
  uint16_t copy_[kBlock];
};

// Calls visit(mask of at_most(bound), mask of entries that exist, start of the block) for levels start .. stop.
template <class Visit>
inline void for_each_mask(const uint16_t* levels, int64_t start, int64_t stop, uint16_t bound, Visit&& visit) {
  for (; start < stop; start += kBlock) {
    const LevelBlock block(levels, start, stop);
    if (!visit(block.at_most(bound), low_bits(stop - start), start)) return;
  }
}

inline int64_t count_at_most(const uint16_t* levels, int64_t start, int64_t stop, uint16_t bound) {
  int64_t count = 0;
  for_each_mask(levels, start, stop, bound, [&](uint64_t mask, uint64_t live, int64_t) {
    count += std::popcount(mask & live);
    return true;
  });
  return count;
}

// First entry above the bound, or -1.
inline int64_t find_above(const uint16_t* levels, int64_t start, int64_t stop, uint16_t bound) {
  int64_t found = -1;
  for_each_mask(levels, start, stop, bound, [&](uint64_t mask, uint64_t live, int64_t block_start) {
    const uint64_t above = ~mask & live;
    if (above != 0) found = block_start + std::countr_zero(above);
    return above == 0;
  });
  return found;
}

inline Outcome check_levels(const LevelStreams& streams, int max_rep, int max_def) {
  if (max_rep < 0 || max_rep > 0xFFFF || max_def < 0 || max_def > 0xFFFF)
    return misuse("a bound is not a 16-bit level");
  if (streams.rep != nullptr) {
    const int64_t at = find_above(streams.rep, 0, streams.num_entries, static_cast<uint16_t>(max_rep));
    if (at >= 0) return corrupt("a repetition level is above the number of lists", at);
  }
  if (streams.def != nullptr) {
    const int64_t at = find_above(streams.def, 0, streams.num_entries, static_cast<uint16_t>(max_def));
    if (at >= 0) return corrupt("a definition level is above what the layers use", at);
  }
  return success();
}

// Moves the bits of `bits` that `keep` names to the low end, in order (Hacker's Delight 7-4).
uint64_t compress_bits(uint64_t bits, uint64_t keep);

// Appends bits from a bit offset on; bits before it and after the last are left as they were.
class BitAppender {
 public:
  BitAppender() = default;
  BitAppender(uint8_t* bytes, int64_t num_bytes, int64_t bit_offset)
      : bytes_(bytes), room_(num_bytes * 8 - bit_offset), position_(bit_offset >> 3) {
    held_ = static_cast<int>(bit_offset & 7);
    // bit_offset == 8 * num_bytes is the empty rest of a full bitmap: there is no byte to begin with.
    if (held_ != 0) word_ = bytes[position_] & ((1u << held_) - 1);
  }

  bool exists() const { return bytes_ != nullptr; }

  bool append(uint64_t bits, int count) {
    if (count > room_) return false;
    if (count == 0) return true;
    room_ -= count;
    word_ |= bits << held_;
    if (held_ + count < 64) {
      held_ += count;
      return true;
    }
    std::memcpy(bytes_ + position_, &word_, 8);
    position_ += 8;
    word_ = held_ == 0 ? 0 : bits >> (64 - held_);
    held_ += count - 64;
    return true;
  }

  void finish() {
    for (; held_ >= 8; held_ -= 8, word_ >>= 8) bytes_[position_++] = static_cast<uint8_t>(word_);
    if (held_ == 0) return;
    const unsigned mask = (1u << held_) - 1;
    bytes_[position_] = static_cast<uint8_t>((bytes_[position_] & ~mask) | (word_ & mask));
    held_ = 0;
  }

 private:
  uint8_t* bytes_ = nullptr;
  int64_t room_ = 0;
  int64_t position_ = 0;
  uint64_t word_ = 0;
  int held_ = 0;
};
Outcome validity_from_levels(const uint16_t* def, int64_t num_entries, int null_level, uint8_t* bits, int64_t num_bytes,
                             int64_t bit_offset, int64_t* null_count);

}  // namespace lance_arrow::engine
