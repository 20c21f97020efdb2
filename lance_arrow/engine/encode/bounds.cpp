#include "engine/encode/bounds.hpp"

#include <bit>
#include <type_traits>

namespace lance_arrow::engine {

namespace {

// The next `count` (1..64) bits from `bit` on, lowest first. The caller has checked that they exist.
uint64_t load_bits(const uint8_t* bits, int64_t bit, int64_t count) {
  const int64_t shift = bit & 7;
  uint8_t bytes[16] = {};
  std::memcpy(bytes, bits + (bit >> 3), static_cast<size_t>((shift + count + 7) / 8));
  const uint64_t low = load<uint64_t>(bytes, 0);
  const uint64_t high = load<uint64_t>(bytes, 1);
  const uint64_t word = shift == 0 ? low : (low >> shift) | (high << (64 - shift));
  return count == 64 ? word : word & ((uint64_t{1} << count) - 1);
}

// Calls run(start, stop) for long stretches of valid values and one(i) for valid values among nulls; returns the nulls.
template <class Run, class One>
int64_t for_each_valid(const Validity& validity, int64_t start, int64_t stop, Run&& run, One&& one) {
  if (validity.bits == nullptr) {
    if (start < stop) run(start, stop);
    return 0;
  }
  int64_t nulls = 0;
  int64_t pending = start;
  for (int64_t at = start; at < stop; at += 64) {
    const int64_t count = std::min<int64_t>(64, stop - at);
    uint64_t word = load_bits(validity.bits, validity.offset + at, count);
    const int64_t valid = std::popcount(word);
    if (valid == count) continue;
    if (pending < at) run(pending, at);
    pending = at + count;
    nulls += count - valid;
    for (; word != 0; word &= word - 1) one(at + std::countr_zero(word));
  }
  if (pending < stop) run(pending, stop);
  return nulls;
}

// A comparison with NaN is false, so NaN never becomes a bound. Lanes are what lets the compiler use vectors: it may
// not reorder a single chain of floating comparisons.
template <class T>
struct Floats {
  static constexpr int64_t width = sizeof(T);
  static constexpr int64_t num_lanes = 64 / sizeof(T);
  T low = std::numeric_limits<T>::infinity();
  T high = -std::numeric_limits<T>::infinity();
  int64_t nans = 0;

  void add(const uint8_t* at) { take(load<T>(at, 0)); }
  void take(T value) {
    nans += value != value;
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  void add_run(const uint8_t* at, int64_t count) {
    using Flag = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
    T least[num_lanes], most[num_lanes];
    std::fill(least, least + num_lanes, low);
    std::fill(most, most + num_lanes, high);
    int64_t i = 0;
    while (i + num_lanes <= count) {
      // Short rounds, so that 32-bit counters cannot overflow.
      const int64_t stop = std::min(count, i + (int64_t{1} << 20));
      Flag not_numbers[num_lanes] = {};
      for (; i + num_lanes <= stop; i += num_lanes) {
        T values[num_lanes];
        std::memcpy(values, at + i * width, sizeof values);
        for (int64_t lane = 0; lane < num_lanes; ++lane) {
          least[lane] = values[lane] < least[lane] ? values[lane] : least[lane];
          most[lane] = values[lane] > most[lane] ? values[lane] : most[lane];
          not_numbers[lane] += values[lane] != values[lane];
        }
      }
      for (const Flag lane : not_numbers) nans += lane;
    }
    for (int64_t lane = 0; lane < num_lanes; ++lane) {
      low = least[lane] < low ? least[lane] : low;
      high = most[lane] > high ? most[lane] : high;
    }
    for (; i < count; ++i) take(load<T>(at, i));
  }
  // Zeros of both signs are equal, so the bounds include both.
  void save(uint8_t* min, uint8_t* max) const {
    store(min, 0, low == T{0} ? -T{0} : low);
    store(max, 0, high == T{0} ? T{0} : high);
  }
};

// Half floats as integers in the same order; both zeros are 0.
struct Halves {
  static constexpr int64_t width = 2;
  int32_t low = std::numeric_limits<int32_t>::max();
  int32_t high = std::numeric_limits<int32_t>::min();
  int64_t nans = 0;

  void add(const uint8_t* at) {
    const int32_t bits = load<uint16_t>(at, 0);
    const int32_t magnitude = bits & 0x7fff;
    if (magnitude > 0x7c00) {
      ++nans;
      return;
    }
    const int32_t key = (bits & 0x8000) != 0 ? -magnitude : magnitude;
    low = std::min(low, key);
    high = std::max(high, key);
  }
  void add_run(const uint8_t* at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) add(at + 2 * i);
  }
  void save(uint8_t* min, uint8_t* max) const {
    store<uint16_t>(min, 0, static_cast<uint16_t>(low <= 0 ? 0x8000 | -low : low));
    store<uint16_t>(max, 0, static_cast<uint16_t>(high < 0 ? 0x8000 | -high : high));
  }
};

// Two's complement integers of several words, lowest word first.
template <int64_t num_words>
struct WideIntegers {
  static constexpr int64_t width = 8 * num_words;
  const uint8_t* low = nullptr;
  const uint8_t* high = nullptr;
  int64_t nans = 0;

  static bool less(const uint8_t* left, const uint8_t* right) {
    const int64_t top_left = load<int64_t>(left, num_words - 1), top_right = load<int64_t>(right, num_words - 1);
    if (top_left != top_right) return top_left < top_right;
    for (int64_t word = num_words - 2; word >= 0; --word) {
      const uint64_t of_left = load<uint64_t>(left, word), of_right = load<uint64_t>(right, word);
      if (of_left != of_right) return of_left < of_right;
    }
    return false;
  }
  void add(const uint8_t* at) {
    if (low == nullptr || less(at, low)) low = at;
    if (high == nullptr || less(high, at)) high = at;
  }
  void add_run(const uint8_t* at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) add(at + i * width);
  }
  void save(uint8_t* min, uint8_t* max) const {
    std::memcpy(min, low, width);
    std::memcpy(max, high, width);
  }
};

// Values of one width in the order of their bytes.
struct FixedBytes {
  int64_t width;
  const uint8_t* low = nullptr;
  const uint8_t* high = nullptr;
  int64_t nans = 0;

  void add(const uint8_t* at) {
    const auto size = static_cast<size_t>(width);
    if (low == nullptr || std::memcmp(at, low, size) < 0) low = at;
    if (high == nullptr || std::memcmp(at, high, size) > 0) high = at;
  }
  void add_run(const uint8_t* at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) add(at + i * width);
  }
  void save(uint8_t* min, uint8_t* max) const {
    std::memcpy(min, low, static_cast<size_t>(width));
    std::memcpy(max, high, static_cast<size_t>(width));
  }
};

Outcome check_zones(const Zones& zones, const Validity& validity) {
  if (zones.count < 0) return misuse("zone_starts are empty");
  int64_t before = 0;
  for (int64_t zone = 0; zone <= zones.count; ++zone) {
    if (zones.starts[zone] < before) return misuse("zone_starts descend", zone);
    before = zones.starts[zone];
  }
  const bool has_bits = validity.bits != nullptr;
  if (has_bits && (validity.offset < 0 || before > 8 * validity.bytes - validity.offset)) {
    return misuse("zone_starts leave the validity");
  }
  return success();
}

template <class Accumulator>
void bound_zones(const Accumulator& fresh, const uint8_t* values, const Validity& validity, const Zones& zones,
                 uint8_t* mins, uint8_t* maxs, const ZoneCounts& counts) {
  for (int64_t zone = 0; zone < zones.count; ++zone) {
    Accumulator found = fresh;
    const int64_t start = zones.starts[zone], stop = zones.starts[zone + 1];
    const int64_t width = found.width;
    const int64_t nulls = for_each_valid(
        validity, start, stop, [&](int64_t from, int64_t to) { found.add_run(values + from * width, to - from); },
        [&](int64_t at) { found.add(values + at * width); });
    const int64_t num_values = stop - start - nulls - found.nans;
    counts.values[zone] = num_values;
    counts.nulls[zone] = nulls;
    counts.nans[zone] = found.nans;
    if (num_values > 0) found.save(mins + zone * width, maxs + zone * width);
  }
}

// Bits: 0 or 1 in one byte as bounds. `value_offset` is the bit of value 0.
void bound_bits(const uint8_t* values, int64_t value_offset, const Validity& validity, const Zones& zones,
                uint8_t* mins, uint8_t* maxs, const ZoneCounts& counts) {
  for (int64_t zone = 0; zone < zones.count; ++zone) {
    int64_t nulls = 0;
    uint64_t any_set = 0, any_clear = 0;
    for (int64_t at = zones.starts[zone]; at < zones.starts[zone + 1]; at += 64) {
      const int64_t count = std::min<int64_t>(64, zones.starts[zone + 1] - at);
      const uint64_t all = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
      const uint64_t valid = validity.bits == nullptr ? all : load_bits(validity.bits, validity.offset + at, count);
      const uint64_t word = load_bits(values, value_offset + at, count);
      nulls += count - std::popcount(valid);
      any_set |= word & valid;
      any_clear |= ~word & valid;
    }
    counts.values[zone] = zones.starts[zone + 1] - zones.starts[zone] - nulls;
    counts.nulls[zone] = nulls;
    counts.nans[zone] = 0;
    if (counts.values[zone] > 0) {
      mins[zone] = any_clear == 0;
      maxs[zone] = any_set != 0;
    }
  }
}

}  // namespace

Outcome bound_fixed(const uint8_t* values, int64_t values_bytes, int64_t value_offset, int kind, int64_t width,
                    Validity validity, Zones zones, uint8_t* mins, uint8_t* maxs, int64_t bounds_bytes,
                    ZoneCounts counts) {
  const Outcome checked = check_zones(zones, validity);
  if (checked.message != nullptr) return checked;
  if (width < 1 || value_offset < 0) return misuse("the width or offset of values is out of range");
  const int64_t stop = zones.starts[zones.count];
  const int64_t held =
      kind == kBit ? (values_bytes > (INT64_MAX >> 3) ? INT64_MAX : 8 * values_bytes) : values_bytes / width;
  if (stop > held - value_offset) return misuse("zone_starts leave the values");
  if (zones.count > bounds_bytes / width) return misuse("the bounds do not fit");
  if (kind == kBit) {
    bound_bits(values, value_offset, validity, zones, mins, maxs, counts);
    return success();
  }
  const uint8_t* first = values + value_offset * width;
  const auto of = [&](auto fresh) {
    bound_zones(fresh, first, validity, zones, mins, maxs, counts);
    return success();
  };
  if (kind == kBytes_) return of(FixedBytes{width});
  switch (kind * 64 + static_cast<int>(std::min<int64_t>(width, 63))) {
    case kSigned * 64 + 1: return of(Integers<int8_t>{});
    case kSigned * 64 + 2: return of(Integers<int16_t>{});
    case kSigned * 64 + 4: return of(Integers<int32_t>{});
    case kSigned * 64 + 8: return of(Integers<int64_t>{});
    case kSigned * 64 + 16: return of(WideIntegers<2>{});
    case kSigned * 64 + 32: return of(WideIntegers<4>{});
    case kUnsigned * 64 + 1: return of(Integers<uint8_t>{});
    case kUnsigned * 64 + 2: return of(Integers<uint16_t>{});
    case kUnsigned * 64 + 4: return of(Integers<uint32_t>{});
    case kUnsigned * 64 + 8: return of(Integers<uint64_t>{});
    case kFloating * 64 + 2: return of(Halves{});
    case kFloating * 64 + 4: return of(Floats<float>{});
    case kFloating * 64 + 8: return of(Floats<double>{});
    default: return misuse("values of this kind and width have no order");
  }
}

namespace {

// Not inlined: most values are between the bounds, and their loop needs the registers.
#if defined(__GNUC__)
__attribute__((noinline))
#endif
bool is_before(const Candidate& left, const Candidate& right) {
  return compare(left, right) < 0;
}

template <class Offset>
Outcome bound_variable_as(const uint8_t* offsets, int64_t offsets_bytes, const uint8_t* data, int64_t data_bytes,
                          Validity validity, Zones zones, int64_t* min_indices, int64_t* max_indices,
                          ZoneCounts counts) {
  const Outcome checked = check_zones(zones, validity);
  if (checked.message != nullptr) return checked;
  const int64_t num_offsets = offsets_bytes / static_cast<int64_t>(sizeof(Offset));
  if (zones.count > 0 && zones.starts[zones.count] >= num_offsets) return misuse("zone_starts leave the offsets");
  int64_t wrong = -1;
  for (int64_t zone = 0; zone < zones.count; ++zone) {
    Candidate low{nullptr, 0, -1, 0}, high{nullptr, 0, -1, 0};
    const auto add = [&](int64_t at) {
      const int64_t start = load<Offset>(offsets, at), stop = load<Offset>(offsets, at + 1);
      if (start < 0 || stop < start || stop > data_bytes) {
        if (wrong < 0) wrong = at;
        return;
      }
      const Candidate value{data + start, stop - start, at,
                            first_bytes(data + start, stop - start, data_bytes - start)};
      if (low.index < 0 || (value.key <= low.key && is_before(value, low))) low = value;
      if (high.index < 0 || (value.key >= high.key && is_before(high, value))) high = value;
    };
    const int64_t first = zones.starts[zone], last = zones.starts[zone + 1];
    const int64_t nulls = for_each_valid(
        validity, first, last,
        [&](int64_t from, int64_t to) {
          for (int64_t at = from; at < to; ++at) add(at);
        },
        add);
    if (wrong >= 0) return misuse("offsets leave the data", wrong);
    min_indices[zone] = low.index;
    max_indices[zone] = high.index;
    counts.values[zone] = last - first - nulls;
    counts.nulls[zone] = nulls;
    counts.nans[zone] = 0;
  }
  return success();
}

}  // namespace

Outcome bound_variable(const uint8_t* offsets, int64_t offsets_bytes, int offset_bits, const uint8_t* data,
                       int64_t data_bytes, Validity validity, Zones zones, int64_t* min_indices, int64_t* max_indices,
                       ZoneCounts counts) {
  if (offset_bits == 32)
    return bound_variable_as<int32_t>(offsets, offsets_bytes, data, data_bytes, validity, zones, min_indices,
                                      max_indices, counts);
  return bound_variable_as<int64_t>(offsets, offsets_bytes, data, data_bytes, validity, zones, min_indices, max_indices,
                                    counts);
}

}  // namespace lance_arrow::engine
