// text_ranges.hpp, text_condition.hpp: which byte strings lie in ranges, and which ranges are none.
#include <algorithm>
#include <memory>
#include <optional>

#include "engine/plan/judged_items.hpp"
#include "lance_arrow/text_ranges.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;
using namespace lance_arrow::engine;

using Range = std::pair<std::string, std::optional<std::string>>;

TextCondition condition_of(const std::vector<Range>& ranges) {
  TextCondition condition;
  for (const auto& [low, high] : ranges) condition.add(low, high.has_value() ? &*high : nullptr);
  return condition;
}

std::vector<std::string> texts() {
  std::vector<std::string> found;
  for (const std::string one : {"", "a", "ab", "abc", "abcdefgh", "abcdefghi", "abcdefgi", "b", "\xc3\xa4", "\xff"}) {
    found.push_back(one);
    found.push_back(one + std::string(1, '\0'));
    found.push_back(one + "\xff");
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<uint8_t> marked(TextCondition condition, const std::vector<std::string>& values) {
  JudgedItems judged(false, static_cast<int64_t>(values.size()), false);
  REQUIRE(condition.prepare());
  judged.judge_texts(std::make_shared<const TextCondition>(std::move(condition)));
  std::string bytes;
  std::vector<int64_t> ends;
  for (const std::string& one : values) {
    bytes += one;
    ends.push_back(static_cast<int64_t>(bytes.size()));
  }
  const auto count = static_cast<int64_t>(values.size());
  std::vector<uint8_t> bits(values.size() / 8 + 1), found;
  REQUIRE(judged.add_texts(reinterpret_cast<const uint8_t*>(bytes.data()), 0, ends.data(), count, nullptr).message ==
          nullptr);
  judged.copy_bits(bits.data());
  for (size_t value = 0; value < values.size(); ++value) found.push_back(bits[value / 8] >> (value % 8) & 1);
  return found;
}

TEST_CASE("strings are marked that lie in one range, or in one of two") {
  const std::vector<std::string> values = texts();
  for (size_t low = 0; low < values.size(); ++low) {
    for (size_t high = low + 1; high <= values.size(); ++high) {
      std::optional<std::string> end;
      if (high < values.size()) end = values[high];
      std::vector<std::vector<Range>> tried{{{values[low], end}}};
      if (low > 1) tried.push_back({{values[0], values[low - 1]}, {values[low], end}});
      for (const std::vector<Range>& ranges : tried) {
        REQUIRE(condition_of(ranges).prepare());
        const std::vector<uint8_t> found = marked(condition_of(ranges), values);
        for (size_t value = 0; value < values.size(); ++value) {
          bool expected = false;
          for (const auto& [first, last] : ranges)
            expected |= values[value] >= first && (!last.has_value() || values[value] < *last);
          REQUIRE((found[value] != 0) == expected);
        }
      }
    }
  }
  CHECK(marked(condition_of({}), values) == std::vector<uint8_t>(values.size(), 0));
}

TEST_CASE("strings are marked that lie in one of many ranges, or are one of many") {
  std::vector<std::string> values = texts();
  for (int number = 0; number < 400; ++number) values.push_back("name " + std::to_string(number * 7919 % 1000));
  for (int number = 0; number < 60; ++number) values.push_back(std::string(static_cast<size_t>(number % 9), 'x') + "z");
  // All of these have one hash.
  for (int number = 1000; number < 1100; ++number)
    values.push_back("https://example.org/" + std::to_string(number) + "/index.html");
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  for (const size_t step : {1, 2, 3, 11}) {
    std::vector<Range> single, wide;
    for (size_t low = 0; low + 1 < values.size(); low += step) {
      single.emplace_back(values[low], values[low] + '\0');
      if (low % 2 == 0 || step > 1) wide.emplace_back(values[low], low % 3 == 0 ? values[low] + '\0' : values[low + 1]);
    }
    wide.emplace_back(std::string(3, '\xff'), std::nullopt);
    for (const std::vector<Range>& ranges : {single, wide}) {
      const std::vector<uint8_t> found = marked(condition_of(ranges), values);
      for (size_t value = 0; value < values.size(); ++value) {
        bool expected = false;
        for (const auto& [first, last] : ranges)
          expected |= values[value] >= first && (!last.has_value() || values[value] < *last);
        REQUIRE((found[value] != 0) == expected);
      }
    }
  }
}

TEST_CASE("the first bytes of strings decide only what all that follow would") {
  const std::vector<std::string> values = texts();
  const auto padded = [](const std::string& text) { return text + std::string(8, '\xa5'); };
  int64_t num_decided = 0;
  for (const std::string& low : values) {
    for (const std::string& high : values) {
      const std::string first = padded(low), last = padded(high);
      const LaTextBound lows{reinterpret_cast<const uint8_t*>(first.data()), static_cast<int64_t>(low.size())};
      LaTextBound highs{reinterpret_cast<const uint8_t*>(last.data()), static_cast<int64_t>(high.size())};
      for (const int64_t size : {highs.size, int64_t{LA_NO_END}, int64_t{LA_ONLY_LOW}}) {
        if (size >= 0 && high <= low) continue;
        highs.size = size;
        const LaTextRanges ranges{&lows, &highs, 1};
        const RangeHead head(ranges);
        for (const std::string& value : values) {
          const auto* bytes = reinterpret_cast<const uint8_t*>(value.data());
          const auto num_bytes = static_cast<int64_t>(value.size());
          const auto expected =
              is_in_ranges(ranges, [&](const LaTextBound& bound) { return compare_text(bytes, num_bytes, bound); });
          const std::string word = padded(value);
          for (int64_t known = 0; known <= std::min<int64_t>(num_bytes, 8); ++known) {
            const RangeHead::Side side =
                head.side(load<uint64_t>(reinterpret_cast<const uint8_t*>(word.data()), 0), known);
            num_decided += side != RangeHead::kUndecided;
            REQUIRE((side == RangeHead::kUndecided || side == expected));
          }
        }
      }
    }
  }
  CHECK(num_decided > 1000);
  const LaTextBound bounds[2]{};
  CHECK_FALSE(RangeHead(LaTextRanges{bounds, bounds, 2}).decides());
  CHECK(RangeHead(LaTextRanges{bounds, bounds, 2}).side(~uint64_t{0}, 8) == RangeHead::kUndecided);
}

TEST_CASE("ranges that descend or touch each other's strings are refused") {
  CHECK(condition_of({{"a", "b"}, {"b", "c"}}).prepare());
  CHECK_FALSE(condition_of({{"b", "a"}}).prepare());
  CHECK_FALSE(condition_of({{"a", "a"}}).prepare());
  CHECK_FALSE(condition_of({{"a", "c"}, {"b", "d"}}).prepare());
  CHECK_FALSE(condition_of({{"a", std::nullopt}, {"b", "d"}}).prepare());
  const std::string after_a("a\0", 2);
  CHECK(condition_of({{"a", after_a}, {after_a, "b"}}).prepare());
  CHECK_FALSE(condition_of({{"a", after_a}, {"a", "b"}}).prepare());
}

TEST_CASE("values of any length need a condition on them") {
  JudgedItems judged(false, 1, false);
  const int64_t end = 0;
  CHECK(judged.add_texts(nullptr, 0, &end, 1, nullptr).message != nullptr);
}

}  // namespace
