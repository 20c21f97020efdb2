// bounds.hpp: NaN, signed zeros and infinities, integers of several words, prefixes, nulls and empty zones.
#include <cmath>

#include "engine/encode/bounds.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;
using tests::refusal;

template <class T>
struct Bounds {
  std::vector<T> mins, maxs;
  std::vector<int64_t> values, nulls, nans;
};

// Bounds of zones that begin where `starts` says, the last of which is their end.
template <class T>
Bounds<T> bounds_of(const std::vector<T>& values, const std::vector<int64_t>& starts, int kind,
                    const Bytes& valid = {}) {
  const auto count = starts.size() - 1;
  const Bytes bytes = tests::bytes_of(values);
  Bytes mins(count * sizeof(T)), maxs(mins);
  Bounds<T> found{{}, {}, std::vector<int64_t>(count), std::vector<int64_t>(count), std::vector<int64_t>(count)};
  const Validity validity{valid.empty() ? nullptr : valid.data(), tests::size_of(valid), 0};
  const ZoneCounts counts{found.values.data(), found.nulls.data(), found.nans.data()};
  REQUIRE(refusal(bound_fixed(bytes.data(), tests::size_of(bytes), 0, kind, sizeof(T), validity,
                              {starts.data(), static_cast<int64_t>(count)}, mins.data(), maxs.data(),
                              tests::size_of(mins), counts)) == "");
  found.mins = tests::numbers_of<T>(mins);
  found.maxs = tests::numbers_of<T>(maxs);
  return found;
}

template <class T>
void check_floats() {
  const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  for (const size_t padding : {0, 1, 15, 16, 17, 64}) {
    std::vector<T> values(padding, T{1});
    values.insert(values.end(), {nan, -inf, T{3}, inf, nan});
    values.insert(values.end(), padding, T{2});
    const Bounds<T> found = bounds_of<T>(values, {0, static_cast<int64_t>(values.size())}, kFloating);
    CHECK(found.mins[0] == -inf);
    CHECK(found.maxs[0] == inf);
    CHECK(found.nans[0] == 2);
    CHECK(found.values[0] == static_cast<int64_t>(values.size()) - 2);
  }
  const Bounds<T> none = bounds_of<T>(std::vector<T>(40, nan), {0, 20, 40, 40}, kFloating);
  CHECK(none.values == std::vector<int64_t>{0, 0, 0});
  CHECK(none.nans == std::vector<int64_t>{20, 20, 0});
  // Comparisons do not tell zeros apart: the bounds hold both.
  for (const T zero : {T{0}, -T{0}})
    for (const size_t count : {1, 40}) {
      const Bounds<T> found = bounds_of<T>(std::vector<T>(count, zero), {0, static_cast<int64_t>(count)}, kFloating);
      CHECK(std::signbit(found.mins[0]));
      CHECK_FALSE(std::signbit(found.maxs[0]));
    }
}

TEST_CASE("floats: NaN is no bound, infinities are, zeros are both") {
  check_floats<float>();
  check_floats<double>();
}

TEST_CASE("half floats in the order of numbers") {
  constexpr uint16_t one = 0x3C00, minus_two = 0xC000, inf = 0x7C00, minus_inf = 0xFC00, nan = 0x7E01, zero = 0,
                     minus_zero = 0x8000;
  const Bounds<uint16_t> found = bounds_of<uint16_t>(
      {one, minus_two, nan, inf, minus_inf, nan, minus_two, zero, minus_zero, one}, {0, 3, 6, 8, 9, 10}, kFloating);
  CHECK(found.mins[0] == minus_two);
  CHECK(found.maxs[0] == one);
  CHECK(found.mins[1] == minus_inf);
  CHECK(found.maxs[1] == inf);
  CHECK(found.maxs[2] == zero);
  CHECK(found.mins[3] == minus_zero);
  CHECK(found.maxs[3] == zero);
  CHECK(found.mins[4] == one);
  CHECK(found.nans == std::vector<int64_t>{1, 1, 0, 0, 0});
}

TEST_CASE("integers at the ends of their range") {
  const Bounds<int8_t> narrow = bounds_of<int8_t>({INT8_MAX, INT8_MIN, 0}, {0, 3}, kSigned);
  CHECK((narrow.mins[0] == INT8_MIN && narrow.maxs[0] == INT8_MAX));
  const Bounds<int64_t> wide = bounds_of<int64_t>({INT64_MIN, INT64_MIN, INT64_MAX}, {0, 2, 3}, kSigned);
  CHECK((wide.maxs[0] == INT64_MIN && wide.mins[1] == INT64_MAX));
  const Bounds<uint64_t> counts = bounds_of<uint64_t>({UINT64_MAX, 1}, {0, 2}, kUnsigned);
  CHECK((counts.mins[0] == 1 && counts.maxs[0] == UINT64_MAX));
}

struct Words2 {
  uint64_t low, high;
  bool operator==(const Words2&) const = default;
};
struct Words4 {
  uint64_t words[4];
  bool operator==(const Words4&) const = default;
};

TEST_CASE("decimals: the highest word has a sign, others have none") {
  const Words2 minus_one{UINT64_MAX, UINT64_MAX}, one{1, 0}, large{UINT64_MAX, 0}, least{0, uint64_t{1} << 63},
      most{UINT64_MAX, INT64_MAX};
  const Bounds<Words2> found = bounds_of<Words2>({one, minus_one, large, one, most, least}, {0, 2, 4, 6}, kSigned);
  CHECK((found.mins[0] == minus_one && found.maxs[0] == one));
  CHECK((found.mins[1] == one && found.maxs[1] == large));
  CHECK((found.mins[2] == least && found.maxs[2] == most));
  const Words4 below{{0, 0, 0, UINT64_MAX}}, above{{0, 0, 1, 0}}, tiny{{UINT64_MAX, UINT64_MAX, 0, 0}};
  const Bounds<Words4> wide = bounds_of<Words4>({tiny, above, below}, {0, 3}, kSigned);
  CHECK((wide.mins[0] == below && wide.maxs[0] == above));
}

TEST_CASE("nulls are counted, never bounds, and a zone of them has none") {
  std::vector<int32_t> values(130, 5);
  values[0] = -100, values[64] = 100, values[129] = 7;
  Bytes valid(17, 0xFF);
  valid[0] = 0xFE, valid[8] = 0xFE;
  const Bounds<int32_t> found = bounds_of<int32_t>(values, {0, 1, 64, 65, 130}, kSigned, valid);
  CHECK(found.values == std::vector<int64_t>{0, 63, 0, 65});
  CHECK(found.nulls == std::vector<int64_t>{1, 0, 1, 0});
  CHECK((found.mins[3] == 5 && found.maxs[3] == 7));
}

TEST_CASE("bits of zones that begin anywhere") {
  const Bytes bits{0x00, 0x10, 0x00};  // bit 12
  const int64_t starts[] = {0, 11, 12, 12, 21};
  uint8_t mins[4] = {9, 9, 9, 9}, maxs[4] = {9, 9, 9, 9};
  int64_t values[4], nulls[4], nans[4];
  CHECK(refusal(bound_fixed(bits.data(), 3, 1, kBit, 1, {nullptr, 0, 0}, {starts, 4}, mins, maxs, 4,
                            {values, nulls, nans})) == "");
  CHECK(std::vector<uint8_t>(maxs, maxs + 4) == std::vector<uint8_t>{0, 1, 9, 0});
  CHECK(std::vector<uint8_t>(mins, mins + 4) == std::vector<uint8_t>{0, 1, 9, 0});
}

TEST_CASE("zones that descend, or leave their values or their validity, are misuse") {
  const Bytes bytes(8), valid(1);
  uint8_t mins[8], maxs[8];
  int64_t values[2], nulls[2], nans[2];
  const auto bound = [&](const std::vector<int64_t>& starts, int64_t offset, const Validity& validity) {
    return bound_fixed(bytes.data(), 8, offset, kUnsigned, 1, validity,
                       {starts.data(), static_cast<int64_t>(starts.size()) - 1}, mins, maxs, 8, {values, nulls, nans})
        .blame;
  };
  const Validity all{nullptr, 0, 0};
  CHECK(bound({0, 8}, 0, all) == kNobody);
  CHECK(bound({0, 9}, 0, all) == kCaller);
  CHECK(bound({0, 8}, 1, all) == kCaller);
  CHECK(bound({3, 2, 4}, 0, all) == kCaller);
  CHECK(bound({-1, 2}, 0, all) == kCaller);
  CHECK(bound({0, 8}, 0, {valid.data(), 1, 0}) == kNobody);
  CHECK(bound({0, 8}, 0, {valid.data(), 1, 1}) == kCaller);
}

TEST_CASE("texts in the order of their bytes, prefixes first") {
  const Bytes data = tests::text(std::string("abcdefgh") + "abcdefghi" + std::string("a\0", 2) + "a" + "\xFF");
  const std::vector<int32_t> offsets{0, 8, 17, 19, 20, 21, 21};
  const Bytes stored = tests::bytes_of(offsets);
  const int64_t starts[] = {0, 2, 4, 6};
  int64_t mins[3], maxs[3], values[3], nulls[3], nans[3];
  CHECK(refusal(bound_variable(stored.data(), tests::size_of(stored), 32, data.data(), tests::size_of(data),
                               {nullptr, 0, 0}, {starts, 3}, mins, maxs, {values, nulls, nans})) == "");
  CHECK((mins[0] == 0 && maxs[0] == 1));
  CHECK((mins[1] == 3 && maxs[1] == 2));
  CHECK((mins[2] == 5 && maxs[2] == 4));
  const Bytes wrong = tests::bytes_of<int32_t>({0, 22, 3, -1, 2, 2, 2});
  const Outcome outcome = bound_variable(wrong.data(), tests::size_of(wrong), 32, data.data(), tests::size_of(data),
                                         {nullptr, 0, 0}, {starts, 3}, mins, maxs, {values, nulls, nans});
  CHECK((outcome.blame == kCaller && outcome.index == 0));
}

}  // namespace
