// level_masks.hpp, unravel.hpp, select_rows.hpp: levels at the borders of blocks of 64, lists that end there, bad
// levels.
#include "engine/arrays/unravel.hpp"
#include "engine/plan/select_rows.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;
using tests::refusal;
using Levels = std::vector<uint16_t>;

constexpr int64_t kLengths[] = {0, 1, 63, 64, 65, 127, 128, 129, 200};

// A list of nullable items: offsets and validity of the items, or a refusal.
struct Lists {
  std::string refused;
  std::vector<int32_t> offsets;
  std::vector<bool> valid;
  int64_t null_lists = 0;
};

Lists unravel_lists(const Levels& rep, const Levels& def, uint8_t kind = kNullAndEmptyList) {
  const uint8_t layers[] = {kNullableItem, kind};
  LayerPlan plan;
  REQUIRE(refusal(plan_layers(layers, 2, nullptr, 0, &plan)) == "");
  const LevelStreams streams{rep.data(), def.data(), static_cast<int64_t>(rep.size())};
  int64_t measured[2] = {};
  Lists found;
  found.refused = refusal(measure_layers(streams, plan, measured));
  if (!found.refused.empty()) return found;
  Bytes items(static_cast<size_t>(measured[0] + 7) / 8), lists(static_cast<size_t>(measured[1] + 7) / 8);
  found.offsets.resize(static_cast<size_t>(measured[1]) + 1);
  const LayerOut out[] = {{items.data(), tests::size_of(items), nullptr, 0, 0},
                          {lists.data(), tests::size_of(lists), found.offsets.data(), measured[1] + 1, 32}};
  int64_t slots[2] = {}, nulls[2] = {};
  found.refused = refusal(unravel(streams, plan, out, slots, nulls));
  for (int64_t item = 0; item < measured[0]; ++item)
    found.valid.push_back((items[static_cast<size_t>(item / 8)] >> (item % 8) & 1) != 0);
  found.null_lists = nulls[1];
  return found;
}

TEST_CASE("masks of 64 levels compare them as unsigned numbers") {
  Levels levels(64);
  const uint16_t some[] = {0, 1, 0x7FFF, 0x8000, 0xFFFF};
  for (size_t at = 0; at < levels.size(); ++at) levels[at] = some[at % 5];
  for (const uint16_t bound : some)
    for (size_t at = 0; at < levels.size(); ++at)
      REQUIRE((mask_at_most(levels.data(), bound) >> at & 1) == (levels[at] <= bound));
}

TEST_CASE("compress_bits moves the kept bits to the low end") {
  tests::Random random(18);
  for (int round = 0; round < 200; ++round) {
    const uint64_t bits = random.next(), keep = round == 0   ? 0
                                                : round == 1 ? ~uint64_t{0}
                                                             : random.next() & random.next();
    uint64_t expected = 0;
    int at = 0;
    for (int bit = 0; bit < 64; ++bit)
      if (keep >> bit & 1) expected |= (bits >> bit & 1) << at++;
    REQUIRE(compress_bits(bits, keep) == expected);
  }
}

TEST_CASE("validity of any number of entries, from any bit on, leaves its neighbours") {
  for (const int64_t count : kLengths)
    for (const int64_t offset : {0, 1, 7, 8, 63, 64}) {
      Levels def;
      for (int64_t entry = 0; entry < count; ++entry) def.push_back(entry % 3 == 0);
      Bytes bits(static_cast<size_t>((offset + count + 7) / 8), 0xAA);
      const Bytes before = bits;
      int64_t nulls = 0;
      REQUIRE(refusal(validity_from_levels(def.data(), count, 1, bits.data(), tests::size_of(bits), offset, &nulls)) ==
              "");
      CHECK(nulls == (count + 2) / 3);
      for (int64_t bit = 0; bit < 8 * tests::size_of(bits); ++bit) {
        const bool found = (bits[static_cast<size_t>(bit / 8)] >> (bit % 8) & 1) != 0;
        const bool old = (before[static_cast<size_t>(bit / 8)] >> (bit % 8) & 1) != 0;
        const bool is_ours = bit >= offset && bit < offset + count;
        CAPTURE(bit);
        REQUIRE(found == (is_ours ? (bit - offset) % 3 != 0 : old));
      }
    }
}

TEST_CASE("a bitmap without room, and levels that are none, are misuse") {
  const Levels def(9);
  Bytes bits(1);
  int64_t nulls = 0;
  CHECK(validity_from_levels(def.data(), 9, 1, bits.data(), 1, 0, &nulls).blame == kCaller);
  CHECK(validity_from_levels(def.data(), 1, 1, bits.data(), 1, 8, &nulls).blame == kCaller);
  CHECK(validity_from_levels(def.data(), 1, 0, bits.data(), 1, 0, &nulls).blame == kCaller);
  CHECK(validity_from_levels(def.data(), 1, 0x10000, bits.data(), 1, 0, &nulls).blame == kCaller);
  CHECK(refusal(validity_from_levels(def.data(), 0, 1, bits.data(), 1, 8, &nulls)) == "");
}

TEST_CASE("levels above their bound are found at every place") {
  for (const size_t place : {0, 63, 64, 99}) {
    Levels levels(100, 2);
    levels[place] = 3;
    const Outcome outcome = check_levels({levels.data(), nullptr, 100}, 2, 0);
    CHECK(refusal(outcome) == "a repetition level is above the number of lists");
    CHECK(outcome.index == static_cast<int64_t>(place));
    CHECK(check_levels({nullptr, levels.data(), 100}, 0, 2).index == static_cast<int64_t>(place));
  }
  CHECK(refusal(check_levels({nullptr, nullptr, 0}, 0, 0)) == "");
  CHECK(check_levels({nullptr, nullptr, 0}, 0x10000, 0).blame == kCaller);
}

TEST_CASE("lists end anywhere in blocks of 64 entries") {
  for (const int64_t length : {1, 2, 31, 32, 63, 64, 65, 128}) {
    Levels rep, def;
    for (int64_t entry = 0; entry < 300; ++entry) {
      rep.push_back(entry % length == 0);
      def.push_back(entry % 5 == 0);
    }
    const Lists found = unravel_lists(rep, def);
    REQUIRE(found.refused == "");
    REQUIRE(found.offsets.size() == static_cast<size_t>((300 + length - 1) / length) + 1);
    for (size_t list = 0; list < found.offsets.size(); ++list)
      REQUIRE(found.offsets[list] == std::min<int64_t>(300, static_cast<int64_t>(list) * length));
    for (size_t item = 0; item < found.valid.size(); ++item) REQUIRE(found.valid[item] == (item % 5 != 0));
  }
}

TEST_CASE("null and empty lists have no items, also at the border of a block") {
  for (const size_t place : {0, 62, 63, 64, 65, 127, 128, 139}) {
    Levels rep(140, 1), def(140, 0);
    def[place] = 2;  // a null list
    if (place + 1 < 140) def[place + 1] = 3;  // an empty one
    const Lists found = unravel_lists(rep, def);
    REQUIRE(found.refused == "");
    CHECK(found.null_lists == 1);
    CHECK(found.offsets[place] == found.offsets[place + 1]);
    CHECK(found.offsets.back() == static_cast<int32_t>(place + 1 < 140 ? 138 : 139));
  }
}

TEST_CASE("an entry cannot continue a list that has no items") {
  for (const size_t place : {1, 63, 64, 65}) {
    Levels rep(100, 1), def(100, 0);
    rep[place] = 0;
    CHECK(unravel_lists(rep, def).refused == "");
    def[place - 1] = 2;
    CHECK(unravel_lists(rep, def).refused == "an entry continues a list that is not open");
    def[place - 1] = 0;
    def[place] = 3;
    CHECK(unravel_lists(rep, def).refused == "an entry continues a list that is not open");
  }
  CHECK(unravel_lists({0}, {0}).refused == "an entry continues a list that is not open");
  CHECK(unravel_lists({2}, {0}).refused == "a repetition level is above the number of lists");
  CHECK(unravel_lists({1}, {4}).refused == "a definition level is above what the layers use");
  CHECK(unravel_lists({1}, {3}, kEmptyableList).refused == "a definition level is above what the layers use");
}

TEST_CASE("offsets of 32 bits count no further than 2**31 - 1") {
  const uint8_t layers[] = {kAllValidItem, kAllValidList};
  LayerPlan plan;
  REQUIRE(refusal(plan_layers(layers, 2, nullptr, 0, &plan)) == "");
  const Levels rep{1, 0};
  std::vector<int32_t> offsets(2);
  const LayerOut out[] = {{nullptr, 0, nullptr, 0, 0}, {nullptr, 0, offsets.data(), 2, 32}};
  for (const int64_t before : {int64_t{INT32_MAX} - 2, int64_t{INT32_MAX} - 1}) {
    int64_t slots[2] = {before, 0}, nulls[2] = {};
    const std::string refused = refusal(unravel({rep.data(), nullptr, 2}, plan, out, slots, nulls));
    CHECK(refused == (before + 2 > INT32_MAX ? "a list has more items than its offsets can count" : ""));
  }
  CHECK(offsets[1] == INT32_MAX);
}

TEST_CASE("fixed-size lists of structs are full, agree, and end with the list around them") {
  const uint8_t layers[] = {kAllValidItem, kNullableItem, kAllValidList};
  const int64_t dimensions[] = {0, 2, 0};
  LayerPlan plan;
  REQUIRE(refusal(plan_layers(layers, 3, dimensions, 3, &plan)) == "");
  int64_t slots[3];
  const auto measured = [&](const Levels& rep, const Levels& def) {
    return refusal(measure_layers({rep.data(), def.data(), static_cast<int64_t>(rep.size())}, plan, slots));
  };
  CHECK(measured({1, 0, 0, 0}, {0, 0, 1, 1}) == "");
  CHECK((slots[0] == 4 && slots[1] == 2 && slots[2] == 1));
  CHECK(measured({1, 0, 0}, {0, 0, 0}) == "the last fixed-size list is not full");
  CHECK(measured({1, 0}, {0, 1}) == "the entries of a fixed-size list disagree");
  CHECK(measured({1, 1}, {0, 0}) == "a list begins inside a fixed-size list");
}

TEST_CASE("plans have 1 to 64 known layers, of which the inner-most is no list") {
  LayerPlan plan;
  const std::vector<uint8_t> many(65, kNullableItem);
  const int64_t dimension = 2;
  const uint8_t list = kNullableList, unknown[] = {0, 7}, item = kNullableItem;
  CHECK(refusal(plan_layers(many.data(), 64, nullptr, 0, &plan)) == "");
  CHECK(plan_layers(many.data(), 65, nullptr, 0, &plan).blame == kCaller);
  CHECK(plan_layers(many.data(), 0, nullptr, 0, &plan).blame == kCaller);
  CHECK(plan_layers(&list, 1, nullptr, 0, &plan).blame == kCaller);
  CHECK(plan_layers(&unknown[0], 1, nullptr, 0, &plan).blame == kCaller);
  CHECK(plan_layers(&unknown[1], 1, nullptr, 0, &plan).blame == kCaller);
  CHECK(plan_layers(&item, 1, &dimension, 1, &plan).blame == kCaller);
}

TEST_CASE("rows are found in chunks, and chunks must hold the rows that they say") {
  const Levels rep{1, 0, 1, 0, 0, 1}, def{0, 1, 0, 0, 0, 0};
  const int64_t level_starts[] = {0, 3, 6}, value_starts[] = {0, 2, 5};
  int64_t first_rows[] = {0, 2}, num_rows[] = {2, 1};
  const int64_t run_start = 1, run_stop = 3;
  int64_t places[4] = {-1, -1, -1, -1};
  const auto select = [&] {
    return refusal(select_rows({rep.data(), def.data(), 6}, 1, 0, {level_starts, value_starts, first_rows, num_rows, 2},
                               {&run_start, &run_stop, 1}, {places, places + 1, places + 2, places + 3}));
  };
  CHECK(select() == "");
  CHECK((places[0] == 2 && places[1] == 6 && places[2] == 1 && places[3] == 5));
  num_rows[1] = 2;
  CHECK(select() == "the rows of a chunk contradict the repetition index");
  num_rows[1] = 1;
  first_rows[1] = 1;
  CHECK(select() == "the chunks are not in row order");
}

TEST_CASE("the repetition index is put to the test where chunks meet") {
  const Levels rep{1, 0, 0, 0, 1, 0};
  const int64_t level_starts[] = {0, 3, 6};
  const auto check = [&](int64_t left_before, int64_t left_after) {
    const int64_t before[] = {0, left_before}, after[] = {left_before, left_after};
    return refusal(check_open_rows(rep.data(), 6, 1, level_starts, before, after, 2));
  };
  CHECK(check(3, 0) == "");
  CHECK(check(3, 2) == "");
  CHECK(check(0, 0) == "the start of a chunk contradicts the repetition index");
  CHECK(check(3, 1) == "the unfinished row of a chunk contradicts the repetition index");
  CHECK(check(3, 4) == "a chunk leaves more entries of a row open than it has");
  CHECK(check(3, -1) == "a chunk leaves more entries of a row open than it has");
}

}  // namespace
