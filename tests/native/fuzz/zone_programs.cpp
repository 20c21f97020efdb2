// Filters on zones: where a zone is left out no row satisfies the filter, and where it is sure each does.
//
// Rows are drawn, a zone made of them, and the filter is evaluated on each row by a second evaluator.
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "engine/prune/zone_program.hpp"
#include "input.hpp"

namespace {

using namespace lance_arrow;

enum class Truth { kNo, kYes, kNull };

using Value = std::variant<int64_t, uint64_t, double, std::string>;
using Cell = std::optional<Value>;

// Signed and unsigned integers, floats, texts, booleans.
constexpr char kKinds[] = {'i', 'u', 'f', 'b', 'i'};
constexpr int kWidths[] = {8, 8, 8, 4, 0};
constexpr int64_t kBooleans = 4;

bool is_nan(const Cell& cell) {
  return cell && std::holds_alternative<double>(*cell) && std::isnan(std::get<double>(*cell));
}

// Values that meet often: few of each kind.
Value any_value(fuzz::Input& input, int64_t kind) {
  constexpr int64_t signs[] = {INT64_MIN, -1, 0, 1, 2, INT64_MAX};
  constexpr uint64_t counts[] = {0, 1, 2, uint64_t{1} << 63, UINT64_MAX};
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double numbers[] = {-0.0, 0.0, 1.5, -inf, inf, std::numeric_limits<double>::denorm_min()};
  const char* const words[] = {"", "a", "ab", "b", "\xff", "\xff\xff"};
  switch (kind) {
    case 0: return input.one_of(signs);
    case 1: return input.one_of(counts);
    case 2: return input.one_of(numbers);
    case 3: return std::string(input.one_of(words));
    default: return input.number(0, 1);
  }
}

Cell any_cell(fuzz::Input& input, int64_t kind) {
  const int64_t what = input.number(0, 7);
  if (what == 0) return {};
  return what == 1 && kind == 2 ? Value(std::nan("")) : any_value(input, kind);
}

// Cells as an Arrow array has them.
class Stored {
 public:
  Stored(const std::vector<Cell>& cells, int64_t kind) : validity_((cells.size() + 7) / 8) {
    std::vector<int32_t> offsets{0};
    std::string bits((cells.size() + 7) / 8, '\0');
    for (size_t one = 0; one < cells.size(); ++one) {
      if (cells[one]) validity_[one / 8] |= static_cast<uint8_t>(1 << (one % 8));
      const Value value = cells[one].value_or(Value{});
      if (kind == 3) {
        if (cells[one]) values_ += std::get<std::string>(value);
        offsets.push_back(static_cast<int32_t>(values_.size()));
      } else if (kind == kBooleans) {
        if (std::get<int64_t>(value) != 0) bits[one / 8] = static_cast<char>(bits[one / 8] | 1 << (one % 8));
      } else {
        const auto append = [&](auto number) {
          if constexpr (sizeof number == 8) values_.append(reinterpret_cast<const char*>(&number), 8);
        };
        std::visit(append, value);
      }
    }
    if (kind == kBooleans) values_ = bits;
    offsets_.assign(reinterpret_cast<const char*>(offsets.data()), 4 * offsets.size());
    array.kind = kKinds[kind], array.width = kWidths[kind], array.validity = validity_.data();
    array.offsets = offsets_.data(), array.values = values_.data();
    array.values_bytes = static_cast<int64_t>(values_.size());
  }
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;

  BoundArray array;

 private:
  std::vector<uint8_t> validity_;
  std::string values_, offsets_;
};

Truth of(bool holds) { return holds ? Truth::kYes : Truth::kNo; }

Truth compare(Step step, const Cell& left, const Cell& right) {
  if (!left || !right) return Truth::kNull;
  return of(step == Step::kLess ? *left < *right : step == Step::kLessEqual ? *left <= *right : *left == *right);
}

Truth both(Truth a, Truth b, bool is_strict) {
  const bool has_null = a == Truth::kNull || b == Truth::kNull;
  if ((a == Truth::kNo || b == Truth::kNo) && !(is_strict && has_null)) return Truth::kNo;
  return has_null ? Truth::kNull : Truth::kYes;
}

using Lists = std::vector<std::vector<Cell>>;

Truth evaluate(const std::vector<Instruction>& program, const Lists& literals, const std::vector<Cell>& row) {
  std::vector<Truth> stack;
  const auto pop = [&] {
    const Truth top = stack.back();
    stack.pop_back();
    return top;
  };
  const auto at = [&](int operand) {
    return operand < 0 ? literals[static_cast<size_t>(-1 - operand)].front() : row[static_cast<size_t>(operand)];
  };
  for (const Instruction& one : program) {
    switch (one.step) {
      case Step::kAnd:
      case Step::kAndStrict: {
        const Truth right = pop();
        stack.push_back(both(pop(), right, one.step == Step::kAndStrict));
        break;
      }
      case Step::kNot: {
        const Truth last = pop();
        stack.push_back(last == Truth::kNull ? last : of(last == Truth::kNo));
        break;
      }
      case Step::kIsNull: stack.push_back(of(pop() == Truth::kNull)); break;
      case Step::kTrueUnlessNull: stack.push_back(pop() == Truth::kNull ? Truth::kNull : Truth::kYes); break;
      case Step::kIfElse: {
        const Truth otherwise = pop(), then = pop(), condition = pop();
        stack.push_back(condition == Truth::kYes ? then : condition == Truth::kNo ? otherwise : condition);
        break;
      }
      // That it is true is one of what may be.
      case Step::kFacts: {
        const Cell cell = at(one.left);
        stack.push_back(!cell || (one.flag != 0 && is_nan(cell)) ? Truth::kNull : Truth::kYes);
        break;
      }
      case Step::kIsNan: stack.push_back(at(one.left) ? of(is_nan(at(one.left))) : Truth::kNull); break;
      case Step::kIsIn: {
        const Cell cell = at(one.left);
        bool is_member = false;
        for (const Cell& member : literals[static_cast<size_t>(one.right)]) {
          // Zeros of both signs, and NaN, are members for one kernel and none for another.
          if (!cell || !member) is_member |= !cell && !member && one.flag != 0;
          else is_member |= *cell == *member || (is_nan(cell) && is_nan(member));
        }
        stack.push_back(of(is_member));
        break;
      }
      default: stack.push_back(compare(one.step, at(one.left), at(one.right)));
    }
  }
  return stack.back();
}

// A zone of rows: what may occur, and bounds.
struct Zone {
  uint8_t flags = 0;
  std::vector<Cell> low = std::vector<Cell>(1), high = low;

  Zone(const Lists& rows, size_t column) {
    for (const auto& row : rows) {
      const Cell& cell = row[column];
      flags |= !cell ? kHasNull : is_nan(cell) ? kHasNan : kHasValue;
      if (!cell || is_nan(cell)) continue;
      if (!low[0] || *cell < *low[0]) low[0] = cell;
      if (!high[0] || *cell > *high[0]) high[0] = cell;
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const int64_t kinds[] = {input.number(0, 4), input.number(0, 4)};
  Lists rows;
  for (int64_t count = input.number(1, 4); count > 0; --count)
    rows.push_back({any_cell(input, kinds[0]), any_cell(input, kinds[1])});
  Program program;
  std::vector<std::unique_ptr<Stored>> kept;
  std::vector<Zone> zones;
  std::vector<ZoneColumn> columns(2);
  std::vector<const ZoneColumn*> shown;
  for (size_t column = 0; column < 2; ++column) {
    Zone& zone = zones.emplace_back(rows, column);
    // Bounds may be open.
    if (input.number(0, 7) == 0) zone.low[0].reset();
    if (input.number(0, 7) == 0) zone.high[0].reset();
    const int64_t kind = kinds[column];
    for (const auto* bound : {&zone.low, &zone.high}) kept.push_back(std::make_unique<Stored>(*bound, kind));
    program.AddColumn(kKinds[kind], false);
  }
  for (size_t column = 0; column < 2; ++column) {
    columns[column] = {kept[2 * column]->array, kept[2 * column + 1]->array, &zones[column].flags, 1};
    shown.push_back(input.number(0, 15) != 0 ? &columns[column] : nullptr);
  }
  Lists literals;
  const int64_t kind = kinds[static_cast<size_t>(input.number(0, 1))];
  for (int64_t count = input.number(1, 4); count > 0; --count) {
    auto& list = literals.emplace_back();
    for (int64_t length = input.number(0, 3) == 0 ? input.number(0, 4) : 1; length > 0; --length)
      list.push_back(any_cell(input, kind));
    program.AddLiterals(Stored(list, kind).array, std::ssize(list));
  }
  std::vector<Instruction> instructions;
  int64_t depth = 0;
  const auto kind_of = [&](int operand) {
    if (operand >= 0) return kinds[static_cast<size_t>(operand)];
    return literals[static_cast<size_t>(-1 - operand)].size() == 1 ? kind : -1;
  };
  for (int64_t count = input.number(1, 12); count > 0; --count) {
    Instruction one{static_cast<Step>(input.number(1, 12))};
    one.flag = static_cast<int>(input.number(0, 1));
    if (one.step >= Step::kAnd) {
      const int64_t taken = one.step == Step::kIfElse ? 3 : one.step <= Step::kAndStrict ? 2 : 1;
      if (depth < taken) continue;
      depth -= taken;
    } else {
      // A filter compares values of one type: `zone_programs.py` sees to that.
      const auto last = -static_cast<int64_t>(literals.size());
      one.left = static_cast<int>(input.number(last, 1));
      one.right = static_cast<int>(one.step == Step::kIsIn ? input.number(0, -last - 1) : input.number(last, 1));
      const int64_t left = kind_of(one.left);
      const bool compares = one.step >= Step::kLess && one.step <= Step::kEqual;
      if (left < 0 || (compares && left != kind_of(one.right)) || (one.step == Step::kIsIn && left != kind)) continue;
    }
    instructions.push_back(one);
    ++depth;
  }
  for (; depth > 1; --depth) instructions.push_back({Step::kAnd});
  if (depth == 0) return 0;
  for (const Instruction& one : instructions) program.Add(one);
  fuzz::require(program.Seal(), "a program whose arguments exist is sound");
  int8_t verdict = -1;
  program.Judge(shown, 1, &verdict);
  for (const auto& row : rows) {
    const Truth found = evaluate(instructions, literals, row);
    fuzz::require(verdict != Program::kNo || found != Truth::kYes, "no row of a zone left out satisfies the filter");
    fuzz::require(verdict != Program::kAll || found == Truth::kYes, "each row of a sure zone satisfies the filter");
  }
  return 0;
}
