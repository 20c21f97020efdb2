// Filters on zones: a zone that holds a row for which the filter is true is never left out.
//
// Rows are drawn, zones made of them, and the filter is evaluated on each row by a second evaluator.
#include <cmath>
#include <limits>
#include <string>

#include "engine/prune/zone_judge.hpp"
#include "input.hpp"

namespace {

using namespace lance_arrow;

enum class Truth { kNo, kYes, kNull };

// A value, NaN, or null.
struct Cell {
  bool is_null = false;
  Value value;

  bool is_nan() const {
    return !is_null && std::holds_alternative<double>(value) && std::isnan(std::get<double>(value));
  }
};

const char* const kWords[] = {"", "a", "ab", "b", "\xff", "\xff\xff"};
constexpr double kNumbers[] = {-0.0,
                               0.0,
                               1.5,
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::denorm_min()};

// Values that meet often: few of each kind.
Value any_value(fuzz::Input& input, int64_t kind) {
  constexpr int64_t signs[] = {INT64_MIN, -1, 0, 1, 2, INT64_MAX};
  constexpr uint64_t counts[] = {0, 1, 2, uint64_t{1} << 63, UINT64_MAX};
  switch (kind) {
    case 0: return input.one_of(signs);
    case 1: return input.one_of(counts);
    case 2: return input.one_of(kNumbers);
    default: return Bytes(input.one_of(kWords));
  }
}

Truth of(bool holds) { return holds ? Truth::kYes : Truth::kNo; }

Truth evaluate(const Program& program, const std::vector<Value>& literals, const std::vector<Cell>& row) {
  std::vector<Truth> stack;
  const auto pop = [&] {
    const Truth top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const Instruction& one : program.instructions) {
    if (one.step == Step::kAnd) {
      Truth all = Truth::kYes;
      for (int count = one.argument; count > 0; --count) {
        const Truth next = pop();
        if (next == Truth::kNo || all == Truth::kNo) all = Truth::kNo;
        else if (next == Truth::kNull) all = Truth::kNull;
      }
      stack.push_back(all);
      continue;
    }
    if (one.step == Step::kNot) {
      const Truth last = pop();
      stack.push_back(last == Truth::kNull ? last : of(last == Truth::kNo));
      continue;
    }
    if (one.step == Step::kConstant) {
      stack.push_back(one.argument == 1 ? Truth::kYes : one.argument == 0 ? Truth::kNo : Truth::kNull);
      continue;
    }
    const Cell& cell = row[static_cast<size_t>(one.argument)];
    const auto literal = static_cast<size_t>(one.literal);
    switch (one.step) {
      case Step::kLess:
      case Step::kLessEqual: {
        if (cell.is_null) {
          stack.push_back(Truth::kNull);
          break;
        }
        const Value &left = one.flag != 0 ? literals[literal] : cell.value,
                    &right = one.flag != 0 ? cell.value : literals[literal];
        stack.push_back(of(one.step == Step::kLess ? left < right : left <= right));
        break;
      }
      case Step::kEqual: stack.push_back(cell.is_null ? Truth::kNull : of(cell.value == literals[literal])); break;
      case Step::kIsNull: stack.push_back(of(cell.is_null || (one.flag != 0 && cell.is_nan()))); break;
      case Step::kIsValid: stack.push_back(of(!cell.is_null)); break;
      case Step::kIsNan: stack.push_back(cell.is_null ? Truth::kNull : of(cell.is_nan())); break;
      default: {
        bool is_member = cell.is_null ? (one.flag & 2) != 0 : cell.is_nan() && (one.flag & 1) != 0;
        for (auto number = literal; number < static_cast<size_t>(one.stop) && !cell.is_null; ++number) {
          // Members are compared by their bits: zeros of both signs differ, which may be true or false here.
          is_member |= cell.value == literals[number];
        }
        stack.push_back(of(is_member));
      }
    }
  }
  return stack.back();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const int64_t kinds[] = {input.number(0, 3), input.number(0, 3)};
  std::vector<std::vector<Cell>> rows;
  for (int64_t count = input.number(1, 4); count > 0; --count) {
    std::vector<Cell> row;
    for (const int64_t kind : kinds) {
      const int64_t what = input.number(0, 7);
      row.push_back({what == 0, what == 1 && kind == 2 ? Value(std::nan("")) : any_value(input, kind)});
    }
    rows.push_back(row);
  }
  std::vector<Zone> zones(2);
  for (size_t column = 0; column < zones.size(); ++column) {
    Zone& zone = zones[column];
    zone = {true, false, false, false, {}, {}};
    for (const auto& row : rows) {
      const Cell& cell = row[column];
      zone.null |= cell.is_null;
      zone.nan |= cell.is_nan();
      if (cell.is_null || cell.is_nan()) continue;
      zone.value = true;
      if (!zone.low.has_value() || cell.value < *zone.low) zone.low = cell.value;
      if (!zone.high.has_value() || cell.value > *zone.high) zone.high = cell.value;
    }
    // Greatest texts may have no upper bound.
    if (kinds[column] == 3 && input.flag()) zone.high.reset();
    zone.is_known = input.number(0, 15) != 0;
  }
  Program program;
  std::vector<Value> literals;
  const int64_t kind = kinds[static_cast<size_t>(input.number(0, 1))];
  for (int64_t count = input.number(1, 4); count > 0; --count) {
    literals.push_back(any_value(input, kind));
    if (kind == 3) program.AddBytes(std::string(std::get<Bytes>(literals.back())));
    else program.AddNumber(literals.back());
  }
  const auto num_literals = static_cast<int64_t>(literals.size());
  int64_t depth = 0;
  for (int64_t count = input.number(1, 12); count > 0; --count) {
    Instruction one{static_cast<Step>(input.number(1, 10)), 0, 0, 0, 0};
    one.flag = static_cast<int>(input.number(0, 3));
    if (one.step == Step::kAnd) {
      if (depth == 0) continue;
      one.argument = static_cast<int>(input.number(1, depth));
      depth -= one.argument;
    } else if (one.step == Step::kNot) {
      if (depth-- == 0) return 0;
    } else if (one.step == Step::kConstant) {
      one.argument = static_cast<int>(input.number(0, 2));
    } else {
      // A filter compares a column with literals of its own type: `file_pruner.py` sees to that.
      one.argument = static_cast<int>(input.number(0, 1));
      const bool has_literals = one.step != Step::kIsNull && one.step != Step::kIsValid && one.step != Step::kIsNan;
      if (has_literals && kinds[static_cast<size_t>(one.argument)] != kind) return 0;
      if (one.step == Step::kIsNan && kinds[static_cast<size_t>(one.argument)] != 2) return 0;
      one.literal = static_cast<int>(input.number(0, num_literals - 1));
      one.stop = static_cast<int>(input.number(one.literal, num_literals));
    }
    program.instructions.push_back(one);
    ++depth;
  }
  if (depth == 0) return 0;
  if (depth > 1) program.instructions.push_back({Step::kAnd, static_cast<int>(depth), 0, 0, 0});
  fuzz::require(program.IsSound(2), "a program whose arguments exist is sound");
  if (!program.Excludes(zones)) return 0;
  for (const auto& row : rows)
    fuzz::require(evaluate(program, literals, row) != Truth::kYes, "no row of the zone satisfies the filter");
  return 0;
}
