#include "engine/plan/number_condition.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "lance_arrow/number_ranges.hpp"

namespace lance_arrow::engine {

namespace {

template <size_t num_bytes>
struct Unsigned;
template <>
struct Unsigned<1> : std::type_identity<uint8_t> {};
template <>
struct Unsigned<2> : std::type_identity<uint16_t> {};
template <>
struct Unsigned<4> : std::type_identity<uint32_t> {};
template <>
struct Unsigned<8> : std::type_identity<uint64_t> {};

// Numbers as ones without a sign that are in the same order. NaN comes before or after all others.
template <class T>
auto in_order(T number) {
  using U = typename Unsigned<sizeof(T)>::type;
  constexpr auto sign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  if constexpr (std::is_floating_point_v<T>) {
    const T sum = number + T{0};  // 0 where it is -0
    U bits;
    std::memcpy(&bits, &sum, sizeof(bits));
    return static_cast<U>(bits ^ (static_cast<U>(-(bits >> (8 * sizeof(U) - 1))) | sign));
  } else {
    return static_cast<U>(std::is_signed_v<T> ? static_cast<U>(number) ^ sign : number);
  }
}

constexpr int64_t kMarkedAtOnce = 1024;

// Parts of the span of all ranges. There are so many for each range that most numbers outside of them lie in a part
// without one: 8, and of floats, most of whose span are numbers near zero, 256.
constexpr int kFewestBits = 16;  // 8 KiB: of numbers that lie close together, each is a part of its own

// Libraries disagree on the type of std::bit_width.
int width_of(uint64_t number) { return static_cast<int>(std::bit_width(number)); }

void set_bits(uint64_t* words, uint64_t from, uint64_t to) {
  constexpr uint64_t all = ~uint64_t{0};
  const uint64_t head = all << (from % 64), tail = all >> (63 - to % 64);
  if (from / 64 == to / 64) {
    words[from / 64] |= head & tail;
    return;
  }
  words[from / 64] |= head;
  std::fill(words + from / 64 + 1, words + to / 64, all);
  words[to / 64] |= tail;
}

}  // namespace

bool NumberCondition::prepare() {
  const bool are_floats = kind == NumberKind::kFloat;
  const bool has_width = bits == 32 || bits == 64 || (!are_floats && (bits == 8 || bits == 16));
  if (!has_width || lows.size() != highs.size()) return false;
  first_.resize(lows.size());
  last_.resize(lows.size());
  with_number_type(static_cast<int64_t>(kind), bits, [&]<class T>() {
    for (size_t range = 0; range < lows.size(); ++range) {
      first_[range] = in_order(number_of<T>(lows[range]));
      last_[range] = in_order(number_of<T>(highs[range]));
    }
    if constexpr (std::is_floating_point_v<T>) {
      constexpr T infinity = std::numeric_limits<T>::infinity();
      lowest_ = in_order(-infinity);
      highest_ = in_order(infinity);
    }
  });
  for (size_t range = 0; range < lows.size(); ++range) {
    const bool is_right = lowest_ <= first_[range] && first_[range] <= last_[range] && last_[range] <= highest_;
    if (!is_right || (range > 0 && last_[range - 1] >= first_[range])) return false;
  }
  if (has_few()) return true;
  const uint64_t span = last_.back() - first_.front(), num_parts = (are_floats ? 256 : 8) * lows.size();
  shift_ = std::max(0, width_of(span) - std::clamp(width_of(num_parts), kFewestBits, are_floats ? 22 : 19));
  parts_.assign((span >> shift_) / 64 + 1, 0);
  for (size_t range = 0; range < lows.size(); ++range)
    set_bits(parts_.data(), (first_[range] - first_.front()) >> shift_, (last_[range] - first_.front()) >> shift_);
  return true;
}

MarkedNumbers NumberCondition::between(uint64_t least, uint64_t greatest) const {
  with_number_type(static_cast<int64_t>(kind), bits, [&]<class T>() {
    least = in_order(number_of<T>(least));
    greatest = in_order(number_of<T>(greatest));
  });
  const auto range = std::lower_bound(last_.begin(), last_.end(), least) - last_.begin();
  if (range == std::ssize(last_) || first_[static_cast<size_t>(range)] > greatest) return MarkedNumbers::kNone;
  const bool has_all = first_[static_cast<size_t>(range)] <= least && greatest <= last_[static_cast<size_t>(range)];
  return has_all ? MarkedNumbers::kAll : MarkedNumbers::kSome;
}

void NumberCondition::mark_many(const uint8_t* values, int64_t count, uint8_t* marks) const {
  uint64_t numbers[kMarkedAtOnce], least = ~uint64_t{0}, greatest = 0;
  with_number_type(static_cast<int64_t>(kind), bits, [&]<class T>() {
    for (int64_t at = 0; at < count; ++at) numbers[at] = in_order(load<T>(values, at));
  });
  for (int64_t at = 0; at < count; ++at) {
    least = std::min(least, numbers[at]);
    greatest = std::max(greatest, numbers[at]);
  }
  // Pages are often sorted, or nearly so: then most ranges lie elsewhere.
  const auto near = std::lower_bound(last_.begin(), last_.end(), least);
  const auto from = near - last_.begin();
  const auto num_near = std::upper_bound(first_.begin() + from, first_.end(), greatest) - first_.begin() - from;
  if (num_near <= LA_MOST_RANGES) {
    LaNumberRanges some = ranges();
    some.lows += from;
    some.highs += from;
    some.num_ranges = num_near;
    return mark_numbers(some, values, count, marks);
  }
  const uint64_t start = first_.front(), span = last_.back() - start;
  for (int64_t at = 0; at < count; ++at) {
    const uint64_t above = numbers[at] - start;  // those below are far above
    const uint64_t part = above <= span ? above >> shift_ : 0;
    auto found = static_cast<uint8_t>((above <= span ? 1 : 0) & (parts_[part / 64] >> (part % 64)));
    if (found != 0 && shift_ != 0) {
      const auto range = std::lower_bound(near, near + num_near, numbers[at]);
      found = range != last_.end() && first_[static_cast<size_t>(range - last_.begin())] <= numbers[at] ? 1 : 0;
    }
    marks[at] = found;
  }
  if (!nan_flag) return;
  for (int64_t at = 0; at < count; ++at)
    if (numbers[at] < lowest_ || numbers[at] > highest_) marks[at] = 1;
}

LaNumberRanges NumberCondition::ranges() const {
  return {
      static_cast<int64_t>(kind), bits, lows.data(), highs.data(), static_cast<int64_t>(lows.size()), nan_flag ? 1 : 0};
}

void NumberCondition::mark(const uint8_t* values, int64_t count, uint8_t* marks) const {
  if (count <= 0) return;
  if (has_few()) return mark_numbers(ranges(), values, count, marks);
  for (int64_t first = 0; first < count; first += kMarkedAtOnce)
    mark_many(values + first * bits / 8, std::min(kMarkedAtOnce, count - first), marks + first);
}

}  // namespace lance_arrow::engine
