// A filter on the zones of one file, three-valued: `zone_predicates.py` again, for what compares columns with literals.
//
// A program is the filter's tree in postfix order. Whatever is not understood may give anything; so a zone is left out
// only where the vectorised judge, which understands more, would leave it out too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/tables/wire.hpp"

namespace lance_arrow {

using engine::Bytes;

// Values of one column, or literals: signed and unsigned integers (also what counts time), floats, bytes.
using Value = std::variant<int64_t, uint64_t, double, Bytes>;

// What is known of the values of a column in one zone.
struct Zone {
  bool is_known = false;
  bool value = true, null = true, nan = true;  // whether such a one may occur
  std::optional<Value> low, high;  // absent: unbounded
};

// Which outcomes may occur.
struct Outcome3 {
  bool yes, no, null;
};

enum class Step : int {
  kUnknown = 0,
  kConstant = 1,  // argument: 0 false, 1 true, 2 null
  kLess = 2,  // column, literal; the other way round where `flag` is set
  kLessEqual = 3,
  kEqual = 4,
  kAnd = 5,  // argument: how many
  kNot = 6,
  kIsNull = 7,  // column; `flag`: NaN counts
  kIsValid = 8,
  kIsNan = 9,
  kIsIn = 10,  // column, literals from `literal` to `stop`; `flag`: 1 NaN is one, 2 null is one
};

struct Instruction {
  Step step;
  int argument = 0;  // a column, or a count
  int literal = 0, stop = 0;
  int flag = 0;
};

inline bool Holds(const std::optional<Value>& left, const Value& right, bool (*compare)(const Value&, const Value&)) {
  return left.has_value() && left->index() == right.index() && compare(*left, right);
}

// Literals own their bytes: a program outlives what it was made of.
class Program {
 public:
  std::vector<Instruction> instructions;

  void AddNumber(Value value) { literals_.push_back({{}, value}); }
  void AddBytes(std::string bytes) { literals_.push_back({std::move(bytes), Bytes()}); }
  size_t num_literals() const { return literals_.size(); }

  // Whether no row of a zone can satisfy the filter; `zones` are those of its columns.
  bool Excludes(const std::vector<Zone>& zones) const {
    std::vector<Outcome3> stack;
    for (const Instruction& one : instructions) {
      if (one.step == Step::kAnd) {
        Outcome3 all = stack.back();
        stack.pop_back();
        for (int i = 1; i < one.argument; ++i) {
          all = And(stack.back(), all);
          stack.pop_back();
        }
        stack.push_back(all);
      } else if (one.step == Step::kNot) {
        std::swap(stack.back().yes, stack.back().no);
      } else {
        stack.push_back(Judge(one, zones));
      }
    }
    return stack.size() == 1 && !stack.back().yes;
  }

  // Whether every instruction finds its arguments; `num_columns` are judged.
  bool IsSound(int num_columns) const {
    int64_t depth = 0;
    const auto num_literals = static_cast<int>(literals_.size());
    for (const Instruction& one : instructions) {
      if (one.step == Step::kAnd) {
        if (one.argument < 1 || depth < one.argument) return false;
        depth -= one.argument;
      } else if (one.step == Step::kNot) {
        if (depth < 1) return false;
        --depth;
      } else if (one.step != Step::kUnknown && one.step != Step::kConstant) {
        if (one.argument < 0 || one.argument >= num_columns) return false;
        const bool compares = one.step == Step::kLess || one.step == Step::kLessEqual || one.step == Step::kEqual;
        if (compares && (one.literal < 0 || one.literal >= num_literals)) return false;
        if (one.step == Step::kIsIn && (one.literal < 0 || one.stop < one.literal || one.stop > num_literals))
          return false;
      }
      ++depth;
    }
    return depth == 1;
  }

 private:
  struct Literal {
    std::string owned;
    Value value;
  };

  Value At(int number) const {
    const Literal& held = literals_[static_cast<size_t>(number)];
    return std::holds_alternative<Bytes>(held.value) ? Value(Bytes(held.owned)) : held.value;
  }

  static Outcome3 And(const Outcome3& a, const Outcome3& b) {
    return {a.yes && b.yes, a.no || b.no, (a.null && (b.yes || b.null)) || (b.null && (a.yes || a.null))};
  }

  Outcome3 Judge(const Instruction& one, const std::vector<Zone>& zones) const {
    constexpr Outcome3 kAnything{true, true, true};
    if (one.step == Step::kUnknown) return kAnything;
    if (one.step == Step::kConstant) return {one.argument == 1, one.argument == 0, one.argument == 2};
    const Zone& zone = zones[static_cast<size_t>(one.argument)];
    if (!zone.is_known) return kAnything;
    switch (one.step) {
      case Step::kLess:
      case Step::kLessEqual: return Less(zone, At(one.literal), one.step == Step::kLessEqual, one.flag != 0);
      case Step::kEqual: return Equal(zone, At(one.literal));
      case Step::kIsNull:
        return one.flag != 0 ? Outcome3{zone.null || zone.nan, zone.value, false}
                             : Outcome3{zone.null, zone.value || zone.nan, false};
      case Step::kIsValid: return {zone.value || zone.nan, zone.null, false};
      case Step::kIsNan: return {zone.nan, zone.value, zone.null};
      case Step::kIsIn: return IsIn(zone, one);
      default: return kAnything;
    }
  }

  static bool Below(const Value& a, const Value& b) { return a < b; }
  static bool NotAbove(const Value& a, const Value& b) { return a <= b; }
  static bool NotBelow(const Value& a, const Value& b) { return a >= b; }
  static bool Above(const Value& a, const Value& b) { return a > b; }
  static bool Same(const Value& a, const Value& b) { return a == b; }

  static Outcome3 Less(const Zone& zone, const Value& literal, bool or_equal, bool swapped) {
    const auto& nearest = swapped ? zone.high : zone.low;
    const auto& farthest = swapped ? zone.low : zone.high;
    bool never, always;
    if (!swapped) {
      never = Holds(nearest, literal, or_equal ? Above : NotBelow);
      always = Holds(farthest, literal, or_equal ? NotAbove : Below);
    } else {
      never = Holds(nearest, literal, or_equal ? Below : NotAbove);
      always = Holds(farthest, literal, or_equal ? NotBelow : Above);
    }
    return {zone.value && !never, (zone.value && !always) || zone.nan, zone.null};
  }

  static Outcome3 Equal(const Zone& zone, const Value& literal) {
    const bool apart = Holds(zone.high, literal, Below) || Holds(zone.low, literal, Above);
    const bool same = Holds(zone.low, literal, Same) && Holds(zone.high, literal, Same);
    return {zone.value && !apart, (zone.value && !same) || zone.nan, zone.null};
  }

  Outcome3 IsIn(const Zone& zone, const Instruction& one) const {
    bool may = false;
    for (int number = one.literal; zone.value && !may && number < one.stop; ++number) {
      const Value literal = At(number);
      may = !Holds(zone.high, literal, Below) && !Holds(zone.low, literal, Above);
    }
    bool single = zone.low.has_value() && zone.high.has_value() && *zone.low == *zone.high;
    // Zeros of both signs are equal to comparisons, but may be different members.
    if (single && std::holds_alternative<double>(*zone.low) && std::get<double>(*zone.low) == 0.0) single = false;
    const bool has_nan = (one.flag & 1) != 0, has_null = (one.flag & 2) != 0;
    return {may || (has_nan && zone.nan) || (has_null && zone.null),
            (zone.value && !(may && single)) || zone.nan || (zone.null && !has_null), false};
  }

  std::vector<Literal> literals_;
};

}  // namespace lance_arrow
