// wire.hpp, file_head.hpp and zone_program.hpp: fields of messages that are cut, and filters on zones with NaN, zeros
// and open bounds.
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "engine/prune/zone_program.hpp"
#include "engine/tables/file_head.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;
using engine::Fields;
using engine::Tail;
using namespace std::string_literals;
using namespace std::string_view_literals;

bool walks(Bytes message, int num_fields) {
  Fields fields(message);
  int found = 0;
  while (fields.next()) ++found;
  return fields.is_sound && found == num_fields;
}

TEST_CASE("numbers of up to 64 bits in up to ten bytes") {
  Fields most("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"sv);
  CHECK(most.next());
  CHECK(most.value == UINT64_MAX);
  CHECK_FALSE(walks("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"sv, 1));
  CHECK_FALSE(walks("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"sv, 1));
  CHECK_FALSE(walks("\x08\x80"sv, 1));
  CHECK_FALSE(walks("\x08"sv, 1));
}

TEST_CASE("fields of every kind, and what is cut") {
  CHECK(walks("", 0));
  CHECK(walks("\x0A\x02zz\x10\x05\x1D....\x21........"sv, 4));
  CHECK_FALSE(walks("\x0A\x03zz"sv, 1));
  CHECK_FALSE(walks("\x1D..."sv, 1));
  CHECK_FALSE(walks("\x21......."sv, 1));
  CHECK_FALSE(walks("\x0B"sv, 1));  // a group
  CHECK_FALSE(walks("\x00\x00"sv, 1));  // field number 0
  CHECK_FALSE(walks("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01zz"sv, 1));  // 2**64 - 1 bytes
}

TEST_CASE("repeated numbers, packed or one by one") {
  std::vector<uint64_t> numbers;
  const auto keep = [&](uint64_t one) { return numbers.push_back(one), true; };
  Fields packed("\x0A\x03\x01\xAC\x02"sv), cut("\x0A\x02\x01\xAC"sv), alone("\x08\x07"sv);
  CHECK((packed.next() && packed.each_number(keep)));
  CHECK((cut.next() && !cut.each_number(keep)));
  CHECK((alone.next() && alone.each_number(keep)));
  CHECK(numbers == std::vector<uint64_t>{1, 300, 1, 7});
}

TEST_CASE("bytes of a file that its tail holds") {
  Tail tail{"0123456789", 100};
  CHECK(tail.at(90, 10) == "0123456789");
  CHECK(tail.at(100, 0) == "");
  CHECK_FALSE(tail.at(89, 2).has_value());
  CHECK(tail.wanted_bytes == 11);
  CHECK_FALSE(tail.at(95, 6).has_value());
  CHECK_FALSE(tail.at(UINT64_MAX, 2).has_value());
  CHECK_FALSE(tail.at(99, UINT64_MAX).has_value());
  CHECK(tail.wanted_bytes == 11);
}

// One zone of floats.
struct Zone {
  std::optional<double> low, high;
  bool null = false, nan = false;
};

BoundArray array_of(const std::vector<double>& values, const uint8_t* validity = nullptr) {
  return {'f', 8, 0, validity, nullptr, reinterpret_cast<const char*>(values.data()), 8 * std::ssize(values)};
}

// What a program says of a zone, which its columns have in common.
int8_t judge(const Program& program, const Zone& zone) {
  const std::vector<double> low{zone.low.value_or(0)}, high{zone.high.value_or(0)};
  const uint8_t has_low = zone.low.has_value(), has_high = zone.high.has_value();
  const uint8_t flags =
      static_cast<uint8_t>((has_low ? kHasValue : 0) | (zone.null ? kHasNull : 0) | (zone.nan ? kHasNan : 0));
  const ZoneColumn column{array_of(low, &has_low), array_of(high, &has_high), &flags, 1};
  int8_t verdict = -1;
  program.Judge(std::vector<const ZoneColumn*>(program.num_columns(), &column), 1, &verdict);
  return verdict;
}

// A filter of one comparison with one or more literals.
struct Filter {
  Program program;
  Instruction comparison;
  int num_negations = 0;

  Filter(Step step, const std::vector<double>& literals, int flag = 0) : comparison{step, 0, 0, flag} {
    program.AddColumn('f', false);
    program.AddLiterals(array_of(literals), std::ssize(literals));
    if (step != Step::kIsIn && step != Step::kFacts && step != Step::kIsNan) comparison.right = -1;
    if (flag != 0 && step != Step::kIsIn && step != Step::kFacts) std::swap(comparison.left, comparison.right);
    program.Add(comparison);
  }
  Filter& followed(Step step) {
    program.Add({step});
    return *this;
  }
  Filter& inverted() { return followed(Step::kNot); }
  int8_t of(const Zone& zone) {
    REQUIRE(program.Seal());
    return judge(program, zone);
  }
  bool excludes(const Zone& zone) { return of(zone) == Program::kNo; }
};

TEST_CASE("comparisons at the bounds of a zone") {
  const Zone zone{1.0, 2.0};
  CHECK(Filter(Step::kLess, {1.0}).excludes(zone));
  CHECK_FALSE(Filter(Step::kLessEqual, {1.0}).excludes(zone));
  CHECK(Filter(Step::kLess, {2.0}, 1).excludes(zone));
  CHECK_FALSE(Filter(Step::kLessEqual, {2.0}, 1).excludes(zone));
  CHECK(Filter(Step::kEqual, {2.5}).excludes(zone));
  CHECK_FALSE(Filter(Step::kEqual, {2.0}).excludes(zone));
  CHECK(Filter(Step::kLessEqual, {2.0}).inverted().excludes(zone));
  CHECK_FALSE(Filter(Step::kLess, {2.0}).inverted().excludes(zone));
}

TEST_CASE("zeros of both signs are equal, but may be different members") {
  const Zone zone{-0.0, 0.0};
  CHECK_FALSE(Filter(Step::kEqual, {0.0}).excludes(zone));
  CHECK(Filter(Step::kEqual, {-0.0}).inverted().excludes(zone));
  CHECK(Filter(Step::kLess, {0.0}).excludes(zone));
  CHECK_FALSE(Filter(Step::kIsIn, {0.0}).excludes(zone));
  CHECK_FALSE(Filter(Step::kIsIn, {0.0}).inverted().excludes(zone));
  CHECK(Filter(Step::kIsIn, {1.0}).inverted().inverted().excludes(Zone{2.0, 2.0}));
  CHECK(Filter(Step::kIsIn, {2.0}).inverted().excludes(Zone{2.0, 2.0}));
}

TEST_CASE("NaN satisfies no comparison, and the negation of each") {
  const Zone nans{{}, {}, false, true}, mixed{1.0, 1.0, false, true};
  CHECK(Filter(Step::kLess, {9.0}).excludes(nans));
  CHECK_FALSE(Filter(Step::kLess, {9.0}).inverted().excludes(nans));
  CHECK_FALSE(Filter(Step::kEqual, {1.0}).inverted().excludes(mixed));
  CHECK(Filter(Step::kIsNan, {}).inverted().excludes(nans));
  CHECK(Filter(Step::kFacts, {}).followed(Step::kIsNull).excludes(nans));
  CHECK(Filter(Step::kFacts, {}, 1).followed(Step::kIsNull).of(nans) == Program::kAll);
  CHECK_FALSE(Filter(Step::kIsIn, {5.0, NAN}).excludes(nans));
  CHECK(Filter(Step::kIsIn, {5.0}).excludes(nans));
}

TEST_CASE("nulls satisfy neither a comparison nor its negation") {
  const Zone nulls{{}, {}, true};
  CHECK(Filter(Step::kLess, {9.0}).excludes(nulls));
  CHECK(Filter(Step::kLess, {9.0}).inverted().excludes(nulls));
  CHECK(Filter(Step::kFacts, {}).followed(Step::kIsNull).inverted().excludes(nulls));
  CHECK(Filter(Step::kFacts, {}).followed(Step::kTrueUnlessNull).excludes(nulls));
  CHECK_FALSE(Filter(Step::kIsIn, {5.0}).inverted().excludes(nulls));
}

TEST_CASE("infinite and absent bounds, and unknown columns, exclude nothing wrong") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  CHECK_FALSE(Filter(Step::kEqual, {inf}).excludes(Zone{1.0, inf}));
  CHECK(Filter(Step::kLess, {-inf}).excludes(Zone{-inf, inf}));
  CHECK_FALSE(Filter(Step::kLess, {1e300}, 1).excludes(Zone{1.0, {}}));
  CHECK(Filter(Step::kLess, {1e300}).of(Zone{1.0, {}}) == Program::kMaybe);
  CHECK(Filter(Step::kEqual, {NAN}).excludes(Zone{1.0, 2.0}));
  CHECK(Filter(Step::kEqual, {NAN}).inverted().of(Zone{1.0, 2.0}) == Program::kAll);
  Filter unknown(Step::kLess, {-5.0});
  REQUIRE(unknown.program.Seal());
  int8_t verdict = -1;
  unknown.program.Judge({nullptr}, 1, &verdict);
  CHECK(verdict == Program::kMaybe);
}

// Outcomes of two columns that are each compared with 0, joined as a step says: all pairs of what may occur.
TEST_CASE("conditions are joined as their rows are") {
  // Below, at, null: true, false, null.
  const std::vector<Zone> zones{{-1.0, -1.0},       {1.0, 1.0},       {{}, {}, true},   {-1.0, 1.0},
                                {-1.0, -1.0, true}, {1.0, 1.0, true}, {-1.0, 1.0, true}};
  const auto outcomes = [](const Zone& zone) {
    std::vector<int> found;
    if (zone.low.has_value() && *zone.low < 0) found.push_back(1);
    if (zone.high.has_value() && *zone.high > 0) found.push_back(0);
    if (zone.null) found.push_back(-1);
    return found;
  };
  const auto joined = [](Step step, int a, int b, int c) {
    if (step == Step::kIfElse) return a == 1 ? b : a == 0 ? c : -1;
    if (step == Step::kAnd && (a == 0 || b == 0)) return 0;
    return a == -1 || b == -1 ? -1 : a & b;
  };
  for (const Step step : {Step::kAnd, Step::kAndStrict, Step::kIfElse}) {
    for (size_t number = 0; number < 343; ++number) {
      const Zone* of[] = {&zones[number % 7], &zones[number / 7 % 7], &zones[number / 49]};
      bool may[3] = {};
      for (const int a : outcomes(*of[0])) {
        for (const int b : outcomes(*of[1])) {
          for (const int c : outcomes(*of[2])) may[1 + joined(step, a, b, c)] = true;
        }
      }
      std::vector<double> bounds[6];
      uint8_t valid[6], flags[3];
      std::vector<ZoneColumn> columns(3);
      Program program, inverted;
      const std::vector<double> zero{0.0};
      for (int one = 0; one < 3; ++one) {
        bounds[one] = {of[one]->low.value_or(0)}, bounds[3 + one] = {of[one]->high.value_or(0)};
        valid[one] = of[one]->low.has_value(), valid[3 + one] = of[one]->high.has_value();
        flags[one] = static_cast<uint8_t>((valid[one] ? kHasValue : 0) | (of[one]->null ? kHasNull : 0));
        columns[static_cast<size_t>(one)] = {array_of(bounds[one], &valid[one]),
                                             array_of(bounds[3 + one], &valid[3 + one]), &flags[one], 1};
      }
      for (Program* made : {&program, &inverted}) {
        made->AddLiterals(array_of(zero), 1);
        for (int one = 0; one < 3; ++one) {
          made->AddColumn('f', false);
          if (one < 2 || step == Step::kIfElse) made->Add({Step::kLess, one, -1});
        }
        made->Add({step});
      }
      inverted.Add({Step::kNot});
      REQUIRE((program.Seal() && inverted.Seal()));
      int8_t verdict = -1, opposite = -1;
      program.Judge({&columns[0], &columns[1], &columns[2]}, 1, &verdict);
      inverted.Judge({&columns[0], &columns[1], &columns[2]}, 1, &opposite);
      CHECK(verdict == (!may[2] ? Program::kNo : may[0] || may[1] ? Program::kMaybe : Program::kAll));
      CHECK(opposite == (!may[1] ? Program::kNo : may[0] || may[2] ? Program::kMaybe : Program::kAll));
    }
  }
}

TEST_CASE("values of every width are loaded as they are compared") {
  const auto loads = [](char kind, int width, const std::string& bytes, auto expected) {
    const BoundArray array{kind, width, 1, nullptr, nullptr, bytes.data(), std::ssize(bytes)};
    decltype(expected) found[1];
    uint8_t flags[1] = {};
    CHECK(array.SlotBytes(2) <= std::ssize(bytes));
    CHECK(array.Load(0, 1, kHasLow, flags, found));
    CHECK(flags[0] == kHasLow);
    return found[0] == expected;
  };
  CHECK(loads('i', 1, "\0\xFF"s, int64_t{-1}));
  CHECK(loads('u', 2, "\0\0\xFE\xFF"s, uint64_t{0xFFFE}));
  CHECK(loads('i', 0, "\x02"s, int64_t{1}));
  CHECK(loads('f', 2, "\0\0\x01\x80"s, -std::ldexp(1.0, -24)));
  CHECK(loads('f', 2, "\0\0\x00\x3E"s, 1.5));
  CHECK(loads('f', 2, "\0\0\x00\xFC"s, -std::numeric_limits<double>::infinity()));
  CHECK(
      loads('d', 16, std::string(16, '\0') + std::string(16, '\xFF'), Wide{-1, {UINT64_MAX, UINT64_MAX, UINT64_MAX}}));
  CHECK(loads('d', 32, std::string(32, '\0') + "\x05"s + std::string(31, '\0'), Wide{0, {0, 0, 5}}));
  CHECK(loads('x', 3, "abcdef"s, Text{"def", 3}));
  CHECK(Wide{-1, {UINT64_MAX, UINT64_MAX, 0}} < Wide{0, {0, 0, 1}});
  CHECK(Text{"\x7F", 1} < Text{"\x80", 1});
  const std::string half_nan = "\x01\x7C";
  double found[1];
  uint8_t flags[1] = {};
  CHECK(BoundArray{'f', 2, 0, nullptr, nullptr, half_nan.data(), 2}.Load(0, 1, kHasLow, flags, found));
  CHECK(flags[0] == 0);
}

TEST_CASE("offsets that leave the values are noticed") {
  for (const auto& [start, stop] : {std::pair{0, 3}, {-1, 1}, {2, 1}, {0, 2}}) {
    const int32_t offsets[] = {start, stop};
    const BoundArray array{'b', 4, 0, nullptr, reinterpret_cast<const char*>(offsets), "ab", 2};
    Text found[1];
    uint8_t flags[1] = {};
    const bool is_right = start == 0 && stop == 2;
    CHECK(array.Load(0, 1, kHasLow, flags, found) == is_right);
    CHECK(flags[0] == (is_right ? kHasLow : 0));
    CHECK(found[0] == Text{"ab", is_right ? size_t{2} : 0});
  }
}

}  // namespace
