#include "engine/encode/shred_values.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "engine/common/bitmaps.hpp"
#include "engine/plan/level_masks.hpp"

namespace lance_arrow::engine {

namespace {

// Walks the null values in order, 64 entries at a time.
class NullValues {
 public:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  explicit NullValues(const ValueLevels& levels) : levels_(levels) {}

  // The number of the next null value, or kNone.
  int64_t next() {
    if (levels_.def == nullptr) return kNone;
    while (nulls_ == 0) {
      values_ += std::popcount(visible_);
      if (start_ >= levels_.num_entries) return kNone;
      const LevelBlock block(levels_.def, start_, levels_.num_entries);
      const uint64_t live = low_bits(levels_.num_entries - start_);
      visible_ = block.at_most(levels_.max_visible) & live;
      nulls_ = visible_ & ~block.at_most(0);
      start_ += kBlock;
    }
    const int bit = std::countr_zero(nulls_);
    nulls_ &= nulls_ - 1;
    return values_ + std::popcount(visible_ & low_bits(bit));
  }

 private:
  ValueLevels levels_;
  int64_t start_ = 0;
  int64_t values_ = 0;
  uint64_t visible_ = 0;
  uint64_t nulls_ = 0;
};

}  // namespace

Outcome clear_null_values(const ValueLevels& levels, int64_t bytes_per_value, uint8_t* values, int64_t num_bytes) {
  if (bytes_per_value < 0) return misuse("a value has a negative size");
  if (bytes_per_value == 0) return success();
  const int64_t num_values = num_bytes / bytes_per_value;
  NullValues nulls(levels);
  for (int64_t value = nulls.next(); value != NullValues::kNone; value = nulls.next()) {
    if (value >= num_values) return misuse("a null value lies outside the values", value);
    uint8_t* const at = values + value * bytes_per_value;
    switch (bytes_per_value) {
      case 1: *at = 0; break;
      case 2: store<uint16_t>(at, 0, 0); break;
      case 4: store<uint32_t>(at, 0, 0); break;
      case 8: store<uint64_t>(at, 0, 0); break;
      default: std::memset(at, 0, static_cast<size_t>(bytes_per_value));
    }
  }
  return success();
}

Outcome fill_null_bits(const ValueLevels& levels, int64_t bits_per_value, uint8_t* bits, int64_t num_bytes, bool to) {
  if (bits_per_value < 1) return misuse("a value has no bits");
  const int64_t num_values = 8 * num_bytes / bits_per_value;
  NullValues nulls(levels);
  for (int64_t value = nulls.next(); value != NullValues::kNone; value = nulls.next()) {
    if (value >= num_values) return misuse("a null value lies outside the values", value);
    if (bits_per_value != 1) {
      fill_bits(bits, num_bytes, value * bits_per_value, bits_per_value, to);
      continue;
    }
    const auto mask = static_cast<uint8_t>(1u << (value % 8));
    bits[value / 8] = static_cast<uint8_t>(to ? bits[value / 8] | mask : bits[value / 8] & ~mask);
  }
  return success();
}

namespace {

// Calls visit(first slot, one past the last, first value) for ranges of valid slots and of null ones.
template <class VisitValid, class VisitNull>
Outcome for_each_piece(const ByteStrings& strings, const ValueLevels& levels, VisitValid&& visit_valid,
                       VisitNull&& visit_null) {
  NullValues nulls(levels);
  int64_t next_null = nulls.next();
  int64_t value = 0;
  for (int64_t run = 0; run < strings.num_runs; ++run) {
    int64_t slot = strings.run_starts[run];
    const int64_t stop = strings.run_stops[run];
    if (slot < 0 || stop < slot || stop >= strings.num_offsets) return misuse("a run leaves the values", run);
    while (slot < stop) {
      const int64_t until = std::min(stop - slot, next_null - value);
      if (until > 0) {
        if (const Outcome outcome = visit_valid(slot, slot + until, value); outcome.message != nullptr) return outcome;
        slot += until;
        value += until;
      } else {
        visit_null(value++);
        ++slot;
        next_null = nulls.next();
      }
    }
  }
  return success();
}

template <class Offset>
Outcome shred_offsets_as(const ByteStrings& strings, const ValueLevels& levels, StringsOut& out) {
  const auto* from = static_cast<const Offset*>(strings.offsets);
  auto* to = static_cast<Offset*>(out.offsets);
  int64_t end = out.base;
  int64_t span_start = 0;
  int64_t span_stop = 0;
  bool is_span = true;
  if (out.num_offsets < 1 || out.base < 0) return misuse("there is no first offset");
  to[0] = static_cast<Offset>(end);
  const Outcome outcome = for_each_piece(
      strings, levels,
      [&](int64_t slot, int64_t stop, int64_t value) {
        const int64_t first = from[slot];
        const int64_t last = from[stop];
        if (stop - slot >= out.num_offsets - value) return misuse("there is no room for all offsets");
        if (first < 0 || last < first || last > strings.data_bytes)
          return corrupt("offsets descend or leave their bytes", slot);
        if (last - first > std::numeric_limits<Offset>::max() - end)
          return corrupt("the values of one page have more bytes than their offsets can count", slot);
        // Modulo 2^n: each sum is an offset below `last` if the offsets ascend, which is checked along.
        using Word = std::make_unsigned_t<Offset>;
        const Word shift = static_cast<Word>(end) - static_cast<Word>(first);
        Offset descents = 0;
        for (int64_t at = 0; at < stop - slot; ++at) {
          descents |= static_cast<Offset>(from[slot + at + 1] < from[slot + at]);
          to[value + at + 1] = static_cast<Offset>(static_cast<Word>(from[slot + at + 1]) + shift);
        }
        if (descents != 0) return corrupt("offsets descend or leave their bytes", slot);
        end += last - first;
        if (last == first) return success();
        is_span &= span_stop == span_start || span_stop == first;
        if (span_stop == span_start) span_start = first;
        span_stop = last;
        return success();
      },
      [&](int64_t value) {
        if (value + 1 < out.num_offsets) to[value + 1] = static_cast<Offset>(end);
      });
  out.num_bytes = end - out.base;
  out.span_start = is_span ? span_start : -1;
  return outcome;
}

}  // namespace

Outcome shred_offsets(const ByteStrings& strings, const ValueLevels& levels, StringsOut& out) {
  if (strings.offset_bits == 64) return shred_offsets_as<int64_t>(strings, levels, out);
  return shred_offsets_as<int32_t>(strings, levels, out);
}

Outcome shred_bytes(const ByteStrings& strings, const ValueLevels& levels, const uint8_t* data, uint8_t* out,
                    int64_t out_bytes) {
  int64_t written = 0;
  const bool wide = strings.offset_bits == 64;
  const auto at = [&](int64_t slot) {
    return wide ? static_cast<const int64_t*>(strings.offsets)[slot]
                : static_cast<int64_t>(static_cast<const int32_t*>(strings.offsets)[slot]);
  };
  return for_each_piece(
      strings, levels,
      [&](int64_t slot, int64_t stop, int64_t) {
        const int64_t first = at(slot);
        const int64_t last = at(stop);
        if (first < 0 || last < first || last > strings.data_bytes)
          return corrupt("offsets descend or leave their bytes", slot);
        if (last - first > out_bytes - written) return misuse("there is no room for all bytes");
        copy_bytes(out + written, data + first, last - first);
        written += last - first;
        return success();
      },
      [](int64_t) {});
}

}  // namespace lance_arrow::engine
