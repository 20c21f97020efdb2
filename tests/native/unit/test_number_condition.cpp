// number_condition.hpp: numbers of each width and kind against ranges, their ends, NaN, and ranges that are none.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>

#include "engine/plan/number_condition.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;
using namespace lance_arrow::codecs;
using namespace lance_arrow::engine;
using tests::Bytes;

template <class T>
uint64_t bits_of(T number) {
  uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof(T));
  return bits;
}

template <class T>
NumberCondition condition(const std::vector<std::pair<T, T>>& ranges, bool nan_flag = false) {
  NumberCondition made;
  made.kind = std::is_floating_point_v<T> ? NumberKind::kFloat
              : std::is_signed_v<T>       ? NumberKind::kSigned
                                          : NumberKind::kUnsigned;
  made.bits = 8 * sizeof(T);
  made.nan_flag = nan_flag;
  for (const auto& [low, high] : ranges) made.lows.push_back(bits_of(low)), made.highs.push_back(bits_of(high));
  return made;
}

template <class T>
void check_all(NumberCondition made, const std::vector<T>& numbers, const std::vector<std::pair<T, T>>& ranges) {
  REQUIRE(made.prepare());
  const Bytes values = tests::bytes_of(numbers);
  Bytes marks(numbers.size(), 7);
  made.mark(values.data(), static_cast<int64_t>(numbers.size()), marks.data());
  for (size_t at = 0; at < numbers.size(); ++at) {
    bool wanted = made.nan_flag && numbers[at] != numbers[at];
    for (const auto& [low, high] : ranges) wanted = wanted || (numbers[at] >= low && numbers[at] <= high);
    CHECK(static_cast<int>(marks[at]) == (wanted ? 1 : 0));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("integers at the ends of ranges, and of their type", T, int8_t, uint8_t, int16_t, uint16_t, int32_t,
                   uint32_t, int64_t, uint64_t) {
  const T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  std::vector<T> numbers;
  for (int around = 0; around < 40; ++around) {
    numbers.push_back(static_cast<T>(least + static_cast<T>(around)));
    numbers.push_back(static_cast<T>(most - static_cast<T>(around)));
    numbers.push_back(static_cast<T>(around));
    numbers.push_back(static_cast<T>(T{0} - static_cast<T>(around)));
  }
  using Ranges = std::vector<std::pair<T, T>>;
  for (const Ranges& ranges : {Ranges{}, Ranges{{least, most}}, Ranges{{3, 3}}, Ranges{{least, 5}, {7, 9}},
                               Ranges{{1, 2}, {4, 4}, {20, most}}, Ranges{{least, least}, {most, most}}})
    check_all(condition(ranges), numbers, ranges);
}

TEST_CASE_TEMPLATE("floats, infinite ones and NaN", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> numbers{
      nan, -nan, infinity, -infinity, T{0}, -T{0}, T{1.5}, T{-1.5}, T{1e-30f}, T{2}, std::nextafter(T{2}, infinity)};
  using Ranges = std::vector<std::pair<T, T>>;
  for (const Ranges& ranges :
       {Ranges{}, Ranges{{-infinity, infinity}}, Ranges{{T{0}, T{2}}}, Ranges{{-infinity, -T{1}}, {T{2}, T{2}}}})
    for (const bool flag : {false, true}) check_all(condition(ranges, flag), numbers, ranges);
}

TEST_CASE_TEMPLATE("many ranges, close together and far apart", T, int8_t, uint16_t, int32_t, uint32_t, int64_t,
                   uint64_t, float, double) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(7);
  const auto any = [&]() -> T {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(
          std::ldexp(static_cast<double>(random() % 2000) - 1000.0, static_cast<int>(random() % 40) - 30));
    } else {
      return static_cast<T>(random());
    }
  };
  for (const size_t num_ends : {40, 120, 6000}) {
    std::vector<T> ends;
    for (size_t end = 0; end < num_ends; ++end) ends.push_back(any());
    ends.insert(ends.end(), {Limits::lowest(), Limits::max(), T{0}, T{1}, T{2}, T{3}});
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    std::vector<std::pair<T, T>> ranges;
    for (size_t end = 0; end + 2 < ends.size(); end += 3) {
      // Every other one is a single number.
      ranges.emplace_back(ends[end], ends[end + (end % 2)]);
    }
    std::vector<T> numbers(ends.begin(), ends.begin() + std::min<std::ptrdiff_t>(300, std::ssize(ends)));
    for (int number = 0; number < 300; ++number) numbers.push_back(any());
    if constexpr (std::is_floating_point_v<T>)
      numbers.insert(numbers.end(), {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), -T{0}});
    check_all(condition(ranges), numbers, ranges);
    if constexpr (std::is_floating_point_v<T>) check_all(condition(ranges, true), numbers, ranges);
    // Numbers next to each other: most ranges lie elsewhere.
    const std::vector<T> some(ends.begin(), ends.begin() + 5);
    check_all(condition(ranges), some, ranges);
    check_all(condition(ranges), std::vector<T>(3, ends[ends.size() / 2]), ranges);
  }
}

TEST_CASE("what is no condition is told") {
  using Ranges = std::vector<std::pair<int32_t, int32_t>>;
  CHECK_FALSE(condition(Ranges{{5, 4}}).prepare());
  CHECK_FALSE(condition(Ranges{{1, 5}, {5, 9}}).prepare());
  CHECK_FALSE(condition(Ranges{{10, 20}, {1, 2}}).prepare());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(condition(std::vector<std::pair<double, double>>{{nan, 1.0}}).prepare());
  NumberCondition made = condition(Ranges{{1, 2}});
  made.bits = 24;
  CHECK_FALSE(made.prepare());
  made = condition(Ranges{{1, 2}});
  made.highs.push_back(9);
  CHECK_FALSE(made.prepare());
  made.kind = NumberKind::kFloat;
  made.bits = 16;
  CHECK_FALSE(made.prepare());
}
