// wire.hpp, file_head.hpp and zone_judge.hpp: fields of messages that are cut, and filters on zones with NaN, zeros and
// open bounds.
#include <limits>
#include <optional>

#include "engine/prune/zone_judge.hpp"
#include "engine/tables/file_head.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;
using engine::Fields;
using engine::Tail;
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

// A filter of one comparison with one or more literals.
struct Filter {
  Program program;

  Filter(Step step, std::initializer_list<Value> literals, int flag = 0) {
    for (const Value& one : literals) program.AddNumber(one);
    program.instructions.push_back({step, 0, 0, static_cast<int>(literals.size()), flag});
    REQUIRE(program.IsSound(1));
  }
  Filter& inverted() {
    program.instructions.push_back({Step::kNot});
    return *this;
  }
  bool excludes(const Zone& zone) const { return program.Excludes({zone}); }
};

Zone floats(std::optional<Value> low, std::optional<Value> high, bool null = false, bool nan = false) {
  const bool has_values = low.has_value();
  return {true, has_values, null, nan, low, high};
}

TEST_CASE("comparisons at the bounds of a zone") {
  const Zone zone = floats(1.0, 2.0);
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
  const Zone zone = floats(-0.0, 0.0);
  CHECK_FALSE(Filter(Step::kEqual, {0.0}).excludes(zone));
  CHECK(Filter(Step::kEqual, {-0.0}).inverted().excludes(zone));
  CHECK(Filter(Step::kLess, {0.0}).excludes(zone));
  CHECK_FALSE(Filter(Step::kIsIn, {0.0}).excludes(zone));
  CHECK_FALSE(Filter(Step::kIsIn, {0.0}).inverted().excludes(zone));
  CHECK(Filter(Step::kIsIn, {1.0}).inverted().inverted().excludes(floats(2.0, 2.0)));
  CHECK(Filter(Step::kIsIn, {2.0}).inverted().excludes(floats(2.0, 2.0)));
}

TEST_CASE("NaN satisfies no comparison, and the negation of each") {
  const Zone nans = floats({}, {}, false, true), mixed = floats(1.0, 1.0, false, true);
  CHECK(Filter(Step::kLess, {9.0}).excludes(nans));
  CHECK_FALSE(Filter(Step::kLess, {9.0}).inverted().excludes(nans));
  CHECK_FALSE(Filter(Step::kEqual, {1.0}).inverted().excludes(mixed));
  CHECK(Filter(Step::kIsNan, {}).inverted().excludes(nans));
  CHECK(Filter(Step::kIsNull, {}).excludes(nans));
  CHECK_FALSE(Filter(Step::kIsNull, {}, 1).excludes(nans));
  CHECK_FALSE(Filter(Step::kIsIn, {5.0}, 1).excludes(nans));
  CHECK(Filter(Step::kIsIn, {5.0}).excludes(nans));
}

TEST_CASE("nulls satisfy neither a comparison nor its negation") {
  const Zone nulls = floats({}, {}, true);
  CHECK(Filter(Step::kLess, {9.0}).excludes(nulls));
  CHECK(Filter(Step::kLess, {9.0}).inverted().excludes(nulls));
  CHECK(Filter(Step::kIsValid, {}).excludes(nulls));
  CHECK_FALSE(Filter(Step::kIsIn, {5.0}, 2).excludes(nulls));
  CHECK_FALSE(Filter(Step::kIsIn, {5.0}).inverted().excludes(nulls));
}

TEST_CASE("infinite and absent bounds, and literals of another kind, exclude nothing wrong") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  CHECK_FALSE(Filter(Step::kEqual, {inf}).excludes(floats(1.0, inf)));
  CHECK(Filter(Step::kLess, {-inf}).excludes(floats(-inf, inf)));
  CHECK_FALSE(Filter(Step::kLess, {1e300}, 1).excludes(floats(1.0, {})));
  CHECK_FALSE(Filter(Step::kLess, {int64_t{-5}}).excludes(floats(1.0, 2.0)));
  CHECK_FALSE(Filter(Step::kLess, {-5.0}).excludes(Zone()));
}

TEST_CASE("programs whose instructions lack arguments are not sound") {
  const auto is_sound = [](const std::vector<Instruction>& instructions) {
    Program program;
    program.AddNumber(int64_t{5});
    program.instructions = instructions;
    return program.IsSound(1);
  };
  CHECK(is_sound({{Step::kConstant, 1}}));
  CHECK_FALSE(is_sound({}));
  CHECK_FALSE(is_sound({{Step::kNot}}));
  CHECK_FALSE(is_sound({{Step::kConstant}, {Step::kConstant}}));
  CHECK_FALSE(is_sound({{Step::kConstant}, {Step::kAnd, 2}}));
  CHECK_FALSE(is_sound({{Step::kConstant}, {Step::kAnd, 0}}));
  CHECK_FALSE(is_sound({{Step::kLess, 1}}));
  CHECK_FALSE(is_sound({{Step::kLess, -1}}));
  CHECK_FALSE(is_sound({{Step::kEqual, 0, 1}}));
  CHECK_FALSE(is_sound({{Step::kIsIn, 0, 0, 2}}));
  CHECK_FALSE(is_sound({{Step::kIsIn, 0, 1, 0}}));
}

}  // namespace
