// value_views.hpp, judged_items.hpp: views of dictionaries and of plain values, borders of buffers; flags of all
// widths.
#include <numeric>
#include <string>
#include <vector>

#include "engine/plan/judged_items.hpp"
#include "engine/plan/pages.hpp"
#include "engine/plan/value_views.hpp"
#include "stored_items.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Stored;

constexpr int64_t kLimit = 1 << 20;

std::vector<std::string> values_of(const ValueViews& views, const Buffer& data) {
  std::vector<std::string> values;
  for (int64_t value = 0; value < views.num_views(); ++value) {
    const uint8_t* view = views.views() + 16 * value;
    const auto size = load<int32_t>(view, 0);
    const uint8_t* bytes = view + 4;
    if (size > 12) bytes = data.data() + load<int32_t>(view, 2) * views.buffer_bytes() + load<int32_t>(view, 3);
    values.emplace_back(bytes, bytes + size);
  }
  return values;
}

TEST_CASE("views of a dictionary's items share their bytes, those of nulls are empty") {
  const std::vector<std::string> names{"", "short", "exactly 12 b", "thirteen byte", "an item of many more bytes"};
  for (const int64_t buffer_bytes : {int64_t{1} << 30, int64_t{5}}) {
    const Stored stored(names);
    const std::vector<uint8_t> indices{4, 3, 2, 1, 0, 4, 99};
    const std::vector<uint16_t> def{0, 0, 0, 0, 0, 0, 1};
    ValueViews views(true, buffer_bytes);
    Buffer data;
    int64_t end = 0;
    CHECK(views.add_indices({indices.data(), def.data(), 7}, 1, stored.items, kLimit, &data, &end).message == nullptr);
    CHECK(end == 13 + 26);
    CHECK(values_of(views, data) == std::vector<std::string>{names[4], names[3], names[2], names[1], "", names[4], ""});
    CHECK(views.add_indices({indices.data() + 6, nullptr, 1}, 1, stored.items, kLimit, &data, &end).message != nullptr);
  }
}

TEST_CASE("few rows of many items have no table, and copy what they need") {
  std::vector<std::string> names;
  for (int number = 0; number < 5000; ++number) names.push_back("an item of some bytes, " + std::to_string(number));
  const Stored stored(names);
  const std::vector<uint16_t> few{4999, 0, 4999};
  ValueViews views(false, int64_t{1} << 30);
  Buffer data;
  int64_t end = 0;
  const auto* bytes = reinterpret_cast<const uint8_t*>(few.data());
  CHECK(views.add_indices({bytes, nullptr, 3}, 2, stored.items, kLimit, &data, &end).message == nullptr);
  std::vector<uint16_t> many;
  for (int number = 0; number < 1000; ++number) many.push_back(static_cast<uint16_t>(number * 7 % 5000));
  bytes = reinterpret_cast<const uint8_t*>(many.data());
  CHECK(views.add_indices({bytes, nullptr, 1000}, 2, stored.items, kLimit, &data, &end).message == nullptr);
  const std::vector<std::string> found = values_of(views, data);
  CHECK(found[0] == names[4999]);
  for (size_t value = 0; value < many.size(); ++value) CHECK(found[3 + value] == names[many[value]]);
}

TEST_CASE("plain values stay where they are, and short ones give their bytes up") {
  const std::vector<std::vector<std::string>> batches{{"a", "b", "", "c"},
                                                      {"a value of more bytes", "x", "another value of some"},
                                                      {"s", "t", "u", "thirteen byte", "v", "wwwwwwwwwwww"}};
  ValueViews views(true, int64_t{1} << 30);
  Buffer data;
  int64_t end = 0;
  std::vector<std::string> expected;
  for (const auto& batch : batches) {
    std::vector<int64_t> ends;
    int64_t stop = end;
    for (const std::string& value : batch) {
      std::memcpy(data.reserve(stop, static_cast<int64_t>(value.size()) + 1, kLimit), value.data(), value.size());
      stop += static_cast<int64_t>(value.size());
      ends.push_back(stop);
      expected.push_back(value);
    }
    CHECK(views.add_values(ends.data(), static_cast<int64_t>(ends.size()), &data, &end).message == nullptr);
  }
  CHECK(end == 21 + 1 + 21 + 13);
  CHECK(values_of(views, data) == expected);
  const std::vector<int64_t> cut{end + 1};
  *data.reserve(end, 1, kLimit) = 0xFF;
  CHECK(views.add_values(cut.data(), 1, &data, &end).message != nullptr);
}

template <class Index>
void check_flags(int64_t num_items, int64_t count, int every, bool null_flag, bool has_def) {
  const Stored stored(std::vector<std::string>(static_cast<size_t>(num_items), "x"));
  std::vector<uint8_t> flags;
  for (int64_t item = 0; item < num_items; ++item) flags.push_back(item % every == 0 ? 1 : 0);
  std::vector<Index> indices;
  std::vector<uint16_t> def;
  std::vector<int> expected;
  for (int64_t value = 0; value < count; ++value) {
    const bool is_null = has_def && value % 5 == 2;
    const auto index = static_cast<Index>(is_null ? ~Index{0} : static_cast<Index>(value * 7 % num_items));
    indices.push_back(index);
    def.push_back(is_null ? 1 : 0);
    expected.push_back(is_null ? (null_flag ? 1 : 0) : flags[static_cast<size_t>(index)]);
  }
  JudgedItems judged(null_flag, count, false);
  judged.judge(&stored.items, flags.data());
  const auto* bytes = reinterpret_cast<const uint8_t*>(indices.data());
  const ItemIndices wanted{bytes, has_def ? def.data() : nullptr, count};
  CHECK(judged.add_indices(wanted, sizeof(Index), stored.items).message == nullptr);
  judged.add_rows(3, JudgedItems::Verdict::kAll);
  judged.add_rows(2, JudgedItems::Verdict::kNone);
  expected.insert(expected.end(), {1, 1, 1, 0, 0});
  std::vector<uint8_t> bits(expected.size() / 8 + 1, 0xAA);
  judged.copy_bits(bits.data());
  for (size_t row = 0; row < expected.size(); ++row) CHECK((bits[row / 8] >> (row % 8) & 1) == expected[row]);
  for (size_t row = expected.size(); row < (expected.size() + 7) / 8 * 8; ++row)
    CHECK((bits[row / 8] >> (row % 8) & 1) == 0);
  // The same rows, counted.
  JudgedItems counted(null_flag, count, true);
  counted.judge(&stored.items, flags.data());
  CHECK(counted.add_indices(wanted, sizeof(Index), stored.items).message == nullptr);
  counted.add_rows(3, JudgedItems::Verdict::kAll);
  counted.add_rows(2, JudgedItems::Verdict::kNone);
  CHECK(counted.num_marked() == std::accumulate(expected.begin(), expected.end(), int64_t{0}));
  CHECK(counted.num_rows() == static_cast<int64_t>(expected.size()));
}

TEST_CASE("flags of indices of every width, of few and of many matching items") {
  for (const int64_t count : {0, 1, 8, 13, 1000, 40'000})
    for (const int every : {1, 2, 40})
      for (const bool null_flag : {false, true})
        for (const bool has_def : {false, true}) {
          // Items from number 256 on have no index of 8 bits.
          check_flags<uint8_t>(300, count, 130, null_flag, has_def);
          check_flags<uint8_t>(7, count, every, null_flag, has_def);
          check_flags<uint8_t>(200, count, every, null_flag, has_def);
          check_flags<uint16_t>(300, count, every, null_flag, has_def);
          check_flags<uint32_t>(300, count, every, null_flag, has_def);
          check_flags<uint64_t>(9, count, every, null_flag, has_def);
        }
}

TEST_CASE("verdicts of pages, and indices of no item") {
  const Stored stored({"a", "b"}), other({"c"});
  const std::vector<uint8_t> none{0, 0}, both{1, 1}, one{1, 0};
  using Verdict = JudgedItems::Verdict;
  for (const bool null_flag : {false, true}) {
    JudgedItems without(null_flag, 4, false), with(null_flag, 4, false), some(null_flag, 4, false);
    without.judge(&stored.items, none.data());
    with.judge(&stored.items, both.data());
    some.judge(&stored.items, one.data());
    CHECK(without.verdict(&stored.items) == (null_flag ? Verdict::kSome : Verdict::kNone));
    CHECK(with.verdict(&stored.items) == (null_flag ? Verdict::kAll : Verdict::kSome));
    CHECK(some.verdict(&stored.items) == Verdict::kSome);
    CHECK(some.verdict(nullptr) == Verdict::kSome);
    CHECK(some.verdict(&other.items) == Verdict::kSome);
    const std::vector<uint8_t> wrong{0, 2};
    CHECK(some.add_indices({wrong.data(), nullptr, 2}, 1, stored.items).message != nullptr);
    CHECK(some.add_indices({wrong.data(), nullptr, 1}, 1, other.items).message != nullptr);
    JudgedItems counted(null_flag, 4, true);
    counted.judge(&stored.items, one.data());
    CHECK(counted.add_indices({wrong.data(), nullptr, 2}, 1, stored.items).message != nullptr);
  }
}

}  // namespace
