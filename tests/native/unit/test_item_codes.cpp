// item_codes.hpp: codes of dictionaries with duplicates, of plain values, of empty values and nulls; one dictionary.
#include <string>
#include <vector>

#include "engine/plan/item_codes.hpp"
#include "stored_items.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Stored;

constexpr int64_t kLimit = 1 << 20;

std::vector<std::string> items_of(const ItemCodes& codes) {
  std::vector<uint8_t> values(static_cast<size_t>(codes.num_item_bytes()) + 1);
  std::vector<int32_t> offsets(static_cast<size_t>(codes.num_items()) + 1);
  codes.copy_items(values.data(), reinterpret_cast<uint8_t*>(offsets.data()), 32);
  std::vector<std::string> items;
  for (size_t item = 0; item + 1 < offsets.size(); ++item)
    items.emplace_back(values.begin() + offsets[item], values.begin() + offsets[item + 1]);
  return items;
}

std::vector<int32_t> codes_of(const ItemCodes& codes) { return {codes.codes(), codes.codes() + codes.num_codes()}; }

TEST_CASE("equal items of a dictionary, and of the next page's, have one code") {
  const Stored first({"a", "b", "a"}), second({"c", "b"});
  const std::vector<uint8_t> indices{2, 0, 1};
  ItemCodes codes;
  CHECK(codes.add_indices({indices.data(), nullptr, 3}, 1, first.items, kLimit).message == nullptr);
  const std::vector<uint16_t> wide{1, 0};
  CHECK(
      codes.add_indices({reinterpret_cast<const uint8_t*>(wide.data()), nullptr, 2}, 2, second.items, kLimit).message ==
      nullptr);
  CHECK(codes_of(codes) == std::vector<int32_t>{0, 0, 1, 1, 2});
  CHECK(items_of(codes) == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("values are looked up, and empty ones are items where they are valid") {
  const std::string bytes = "xyx";
  const std::vector<int64_t> ends{1, 1, 2, 3, 3};
  ItemCodes codes;
  CHECK(codes.add_values(reinterpret_cast<const uint8_t*>(bytes.data()), ends.data(), 5, kLimit).message == nullptr);
  const uint8_t validity = 0b11101;  // value 1 is null, value 4 is empty
  CHECK(codes.settle_empty(&validity, kLimit).message == nullptr);
  CHECK(codes_of(codes) == std::vector<int32_t>{0, 0, 1, 0, 2});
  CHECK(items_of(codes) == std::vector<std::string>{"x", "y", ""});
}

TEST_CASE("nulls have any index, and others must lie in the dictionary") {
  const Stored stored({"a"});
  const std::vector<uint8_t> indices{7, 0};
  const std::vector<uint16_t> def{1, 0};
  ItemCodes codes;
  CHECK(codes.add_indices({indices.data(), def.data(), 2}, 1, stored.items, kLimit).message == nullptr);
  CHECK(codes_of(codes) == std::vector<int32_t>{0, 0});
  CHECK(codes.add_indices({indices.data(), nullptr, 2}, 1, stored.items, kLimit).message != nullptr);
}

TEST_CASE("codes are written to memory of the caller's, and not behind it") {
  const Stored stored({"a", "b", "a"});
  const std::vector<uint8_t> indices{2, 1, 0};
  std::vector<int32_t> memory(4, -7);
  ItemCodes codes;
  codes.lend(memory.data(), 3);
  CHECK(codes.add_indices({indices.data(), nullptr, 3}, 1, stored.items, kLimit).message == nullptr);
  CHECK(codes.add_indices({indices.data(), nullptr, 1}, 1, stored.items, kLimit).message != nullptr);
  CHECK(memory == std::vector<int32_t>{0, 1, 0, -7});
}

TEST_CASE("an index outside the dictionary is found among nulls with such indices") {
  const Stored stored({"a", "b"});
  const std::vector<uint8_t> indices{9, 1, 2};
  const std::vector<uint16_t> def{1, 0, 0};
  const Outcome outcome = ItemCodes().add_indices({indices.data(), def.data(), 3}, 1, stored.items, kLimit);
  CHECK(outcome.message != nullptr);
  CHECK(outcome.index == 2);
  ItemCodes nulls;
  const Stored empty(std::vector<std::string>{});
  CHECK(nulls.add_indices({indices.data(), def.data(), 1}, 1, empty.items, kLimit).message == nullptr);
  CHECK(codes_of(nulls) == std::vector<int32_t>{0});
}

TEST_CASE("items outside their bytes, and above the limit, are refused") {
  Stored stored({"abc", "def"});
  stored.offsets[1] = 9;
  const uint8_t index = 0;
  CHECK(ItemCodes().add_indices({&index, nullptr, 1}, 1, stored.items, kLimit).message != nullptr);
  const Stored right({"abc", "def"});
  CHECK(ItemCodes().add_indices({&index, nullptr, 1}, 1, right.items, 5).message != nullptr);
}

TEST_CASE("many items are found again after the table has grown") {
  std::vector<std::string> values;
  for (int number = 0; number < 5000; ++number) values.push_back("item " + std::to_string(number));
  const Stored stored(values);
  std::vector<uint32_t> indices;
  for (uint32_t round = 0; round < 2; ++round)
    for (uint32_t index = 0; index < 5000; index += 7) indices.push_back(index);
  const auto count = static_cast<int64_t>(indices.size());
  ItemCodes codes;
  CHECK(codes.add_indices({reinterpret_cast<const uint8_t*>(indices.data()), nullptr, count}, 4, stored.items, kLimit)
            .message == nullptr);
  CHECK(codes.num_items() == count / 2);
  const std::vector<std::string> items = items_of(codes);
  for (size_t value = 0; value < indices.size(); ++value)
    CHECK(items[static_cast<size_t>(codes.codes()[value])] == values[indices[value]]);
}

}  // namespace
