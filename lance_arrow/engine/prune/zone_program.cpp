#include "engine/prune/zone_program.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace lance_arrow {

namespace {

// Zones judged at a time: what is loaded of them stays in the cache.
constexpr int kBlock = 256;

// Which outcomes may occur. What follows works on bits, so that compilers make vectors of it.
enum Outcome3 : uint8_t { kTrue = 1, kFalse = 2, kNull = 4, kAnything = 7 };

uint8_t Outcomes(bool yes, bool no, bool null) { return static_cast<uint8_t>(yes | no << 1 | null << 2); }

uint8_t Inverted(uint8_t one) { return static_cast<uint8_t>((one & kNull) | (one & kTrue) << 1 | (one & kFalse) >> 1); }

// Null comes out where one side may be null, and the other one null or true.
uint8_t And(uint8_t a, uint8_t b) {
  const int a_null = a >> 2, b_null = b >> 2;
  const int null = ((a_null & (b | b_null)) | (b_null & (a | a_null))) & 1;
  return static_cast<uint8_t>((a & b & kTrue) | ((a | b) & kFalse) | null << 2);
}

uint8_t AndStrict(uint8_t a, uint8_t b) {
  const int a_known = a | a << 1, b_known = b | b << 1;
  return static_cast<uint8_t>((a & b & kTrue) | (((a & b_known) | (b & a_known)) & kFalse) | ((a | b) & kNull));
}

uint8_t IsNull(uint8_t one) { return static_cast<uint8_t>(one >> 2 | ((one | one << 1) & kFalse)); }

uint8_t TrueUnlessNull(uint8_t one) { return static_cast<uint8_t>(((one | one >> 1) & kTrue) | (one & kNull)); }

uint8_t Chosen(uint8_t condition, uint8_t then, uint8_t otherwise) {
  const int yes = -(condition & 1), no = -(condition >> 1 & 1);
  return static_cast<uint8_t>((then & yes) | (otherwise & no) | (condition & kNull));
}

// How many outcomes an instruction takes from the stack; each leaves one.
int Taken(Step step) {
  switch (step) {
    case Step::kAnd:
    case Step::kAndStrict: return 2;
    case Step::kNot:
    case Step::kIsNull:
    case Step::kTrueUnlessNull: return 1;
    case Step::kIfElse: return 3;
    default: return 0;
  }
}

bool HasTwoOperands(Step step) { return step == Step::kLess || step == Step::kLessEqual || step == Step::kEqual; }

}  // namespace

// The zones that are judged at a time.
struct Program::Block {
  const std::vector<const ZoneColumn*>* columns;
  int64_t first;
  int count;
};

// One operand of a comparison in each zone of a block.
template <class T>
struct Program::Side {
  uint8_t flags[kBlock];
  T low[kBlock], high[kBlock];
};

namespace {

// Whether a comparison may be one with NaN: it is false for any other side.
bool MeetsNan(int left, int right) {
  constexpr int kNotNull = kHasValue | kHasNan;
  return (((left & kHasNan) != 0) & ((right & kNotNull) != 0)) | (((right & kHasNan) != 0) & ((left & kNotNull) != 0));
}

bool Has(int flags, int wanted) { return (flags & wanted) == wanted; }

uint8_t Compared(int left, int right, bool never, bool always) {
  const bool both = Has(left & right, kHasValue);
  return Outcomes(both & !never, (both & !always) | MeetsNan(left, right), Has(left | right, kHasNull));
}

template <bool or_equal, class Side>
void Less(const Side& left, const Side& right, int count, uint8_t* out) {
  for (int one = 0; one < count; ++one) {
    const uint8_t flags = left.flags[one], others = right.flags[one];
    const bool is_above = or_equal ? right.high[one] < left.low[one] : !(left.low[one] < right.high[one]);
    const bool is_below = or_equal ? !(right.low[one] < left.high[one]) : left.high[one] < right.low[one];
    out[one] = Compared(flags, others, Has(flags, kHasLow) & Has(others, kHasHigh) & is_above,
                        Has(flags, kHasHigh) & Has(others, kHasLow) & is_below);
  }
}

template <class Side>
void Equal(const Side& left, const Side& right, int count, uint8_t* out) {
  constexpr int kBounds = kHasLow | kHasHigh;
  for (int one = 0; one < count; ++one) {
    const uint8_t flags = left.flags[one], others = right.flags[one];
    const bool apart = (Has(flags, kHasHigh) & Has(others, kHasLow) & (left.high[one] < right.low[one])) |
                       (Has(others, kHasHigh) & Has(flags, kHasLow) & (right.high[one] < left.low[one]));
    const bool same = Has(flags & others, kBounds) & (left.low[one] == left.high[one]) &
                      (right.low[one] == right.high[one]) & (left.low[one] == right.low[one]);
    out[one] = Compared(flags, others, apart, same);
  }
}

template <class Side, class T>
void IsIn(const Side& side, const std::vector<T>& members, bool has_null, bool has_nan, int count, uint8_t* out) {
  for (int one = 0; one < count; ++one) {
    const uint8_t flags = side.flags[one];
    const T &low = side.low[one], &high = side.high[one];
    const auto first = Has(flags, kHasLow) ? std::lower_bound(members.begin(), members.end(), low) : members.begin();
    const auto stop = Has(flags, kHasHigh) ? std::upper_bound(members.begin(), members.end(), high) : members.end();
    const bool value = Has(flags, kHasValue), nan = Has(flags, kHasNan), null = Has(flags, kHasNull);
    bool single = Has(flags, kHasLow | kHasHigh) && low == high;
    // Zeros of both signs are equal to comparisons, but may be different members.
    if constexpr (std::is_same_v<T, double>) single = single && low != 0.0;
    const bool may = value && first < stop;
    // NaN may be a member for one kernel and none for another: it is both.
    out[one] = Outcomes(may || (nan && has_nan) || (null && has_null),
                        (value && !(may && single)) || nan || (null && !has_null), false);
  }
}

}  // namespace

template <class T>
void Program::LoadLiterals(const BoundArray& array, int64_t count, Literals* into) const {
  auto& values = into->values.emplace<std::vector<T>>();
  values.reserve(static_cast<size_t>(count));
  const auto scratch = std::make_unique<Side<T>>();
  for (int64_t first = 0; first < count; first += kBlock) {
    const int number = static_cast<int>(std::min<int64_t>(kBlock, count - first));
    std::memset(scratch->flags, 0, sizeof scratch->flags);
    array.Load(first, number, kHasValue, scratch->flags, scratch->low);
    for (int one = 0; one < number; ++one) {
      if (scratch->flags[one] != 0) {
        values.push_back(scratch->low[one]);
        continue;
      }
      // What is there and still no value is NaN.
      into->flags |= array.IsThere(first + one) ? kHasNan : kHasNull;
    }
  }
  if constexpr (std::is_same_v<T, Text>) {
    size_t total = 0;
    for (const Text& one : values) total += one.size;
    into->bytes.reserve(total);
    for (Text& one : values) {
      const size_t start = into->bytes.size();
      into->bytes.insert(into->bytes.end(), one.data, one.data + one.size);
      one.data = into->bytes.data() + start;
    }
  }
  std::sort(values.begin(), values.end());
  if (count == 1 && values.size() == 1) into->flags |= kHasValue | kHasLow | kHasHigh;
}

void Program::AddLiterals(const BoundArray& array, int64_t count) {
  Literals& made = literals_.emplace_back();
  made.domain = DomainOf(array.kind);
  made.count = count;
  WithType(array.kind, [&](auto type) { LoadLiterals<decltype(type)>(array, count, &made); });
}

char Program::DomainOfOperand(int operand) const {
  if (operand >= 0) {
    return static_cast<size_t>(operand) < columns_.size() ? columns_[static_cast<size_t>(operand)].domain : '\0';
  }
  const auto number = static_cast<size_t>(-1 - static_cast<int64_t>(operand));
  return number < literals_.size() && literals_[number].count == 1 ? literals_[number].domain : '\0';
}

bool Program::HasArguments(const Instruction& one) const {
  const char left = DomainOfOperand(one.left);
  switch (one.step) {
    case Step::kFacts:
    case Step::kIsNan: return left != '\0';
    case Step::kLess:
    case Step::kLessEqual:
    case Step::kEqual: return left != '\0' && left == DomainOfOperand(one.right);
    case Step::kIsIn:
      return left != '\0' && one.right >= 0 && static_cast<size_t>(one.right) < literals_.size() &&
             left == literals_[static_cast<size_t>(one.right)].domain;
    default: return one.step >= Step::kUnknown && one.step <= Step::kIfElse;
  }
}

bool Program::Seal() {
  int64_t depth = 0, deepest = 0;
  for (const Instruction& one : instructions_) {
    if (!HasArguments(one) || depth < Taken(one.step)) return false;
    depth += 1 - Taken(one.step);
    deepest = std::max(deepest, depth);
  }
  depth_ = static_cast<size_t>(deepest);
  return depth == 1;
}

void Program::Judge(const std::vector<const ZoneColumn*>& columns, int64_t num_zones, int8_t* verdicts) const {
  const auto step = static_cast<size_t>(std::min<int64_t>(kBlock, num_zones));
  std::vector<uint8_t> stack((depth_ + 2) * step);  // an instruction looks at up to three
  for (int64_t first = 0; first < num_zones; first += kBlock) {
    const Block block{&columns, first, static_cast<int>(std::min<int64_t>(kBlock, num_zones - first))};
    uint8_t* top = stack.data();  // behind the last outcomes
    for (const Instruction& one : instructions_) {
      uint8_t* out = top - static_cast<size_t>(Taken(one.step)) * step;
      const uint8_t *second = out + step, *third = second + step;
      const auto each = [&](auto&& judged) {
        for (int zone = 0; zone < block.count; ++zone) out[zone] = judged(zone);
      };
      switch (one.step) {
        case Step::kAnd: each([&](int zone) { return And(out[zone], second[zone]); }); break;
        case Step::kAndStrict: each([&](int zone) { return AndStrict(out[zone], second[zone]); }); break;
        case Step::kNot: each([&](int zone) { return Inverted(out[zone]); }); break;
        case Step::kIsNull: each([&](int zone) { return IsNull(out[zone]); }); break;
        case Step::kTrueUnlessNull: each([&](int zone) { return TrueUnlessNull(out[zone]); }); break;
        case Step::kIfElse: each([&](int zone) { return Chosen(out[zone], second[zone], third[zone]); }); break;
        default: JudgeOperands(one, block, out);
      }
      top = out + step;
    }
    for (int zone = 0; zone < block.count; ++zone) {
      const uint8_t found = stack[static_cast<size_t>(zone)];
      // What may be true is kMaybe, and kAll where it can be nothing else.
      verdicts[first + zone] = static_cast<int8_t>((found & kTrue) + (found == kTrue));
    }
  }
}

bool Program::IsKnown(const Instruction& one, const Block& block) const {
  const auto is_known = [&](int operand) {
    if (operand < 0) return true;
    const ZoneColumn* column = (*block.columns)[static_cast<size_t>(operand)];
    return column != nullptr && DomainOf(column->low.kind) == columns_[static_cast<size_t>(operand)].domain;
  };
  return is_known(one.left) && (!HasTwoOperands(one.step) || is_known(one.right));
}

void Program::LoadFlags(int operand, const Block& block, uint8_t* flags) const {
  const auto count = static_cast<size_t>(block.count);
  if (operand < 0) {
    std::memset(flags, LiteralAt(operand).flags, count);
    return;
  }
  std::memcpy(flags, (*block.columns)[static_cast<size_t>(operand)]->flags + block.first, count);
  if (!columns_[static_cast<size_t>(operand)].nulls_are_values) return;
  for (size_t one = 0; one < count; ++one) flags[one] |= (flags[one] & kHasNull) != 0 ? kHasValue : 0;
}

template <class T>
void Program::Load(int operand, const Block& block, Side<T>* side) const {
  LoadFlags(operand, block, side->flags);
  if (operand >= 0) {
    const ZoneColumn& column = *(*block.columns)[static_cast<size_t>(operand)];
    column.low.Load(block.first, block.count, kHasLow, side->flags, side->low);
    column.high.Load(block.first, block.count, kHasHigh, side->flags, side->high);
    return;
  }
  const auto& values = std::get<std::vector<T>>(LiteralAt(operand).values);
  const T value = values.empty() ? T{} : values.front();
  std::fill_n(side->low, block.count, value);
  std::fill_n(side->high, block.count, value);
}

void Program::JudgeOperands(const Instruction& one, const Block& block, uint8_t* out) const {
  if (one.step == Step::kUnknown || !IsKnown(one, block)) {
    std::memset(out, kAnything, static_cast<size_t>(block.count));
    return;
  }
  if (one.step == Step::kFacts || one.step == Step::kIsNan) {
    LoadFlags(one.left, block, out);
    for (int zone = 0; zone < block.count; ++zone) {
      const bool value = Has(out[zone], kHasValue), null = Has(out[zone], kHasNull), nan = Has(out[zone], kHasNan);
      const bool is_there = value || (nan && one.flag == 0);
      out[zone] = one.step == Step::kIsNan ? Outcomes(nan, value, null)
                                           : Outcomes(is_there, is_there, null || (nan && one.flag != 0));
    }
    return;
  }
  WithType(DomainOfOperand(one.left), [&](auto type) {
    using T = decltype(type);
    Side<T> left;
    Load(one.left, block, &left);
    if (one.step == Step::kIsIn) {
      const Literals& members = literals_[static_cast<size_t>(one.right)];
      IsIn(left, std::get<std::vector<T>>(members.values), one.flag != 0 && Has(members.flags, kHasNull),
           Has(members.flags, kHasNan), block.count, out);
    } else {
      Side<T> right;
      Load(one.right, block, &right);
      if (one.step == Step::kLess) Less<false>(left, right, block.count, out);
      else if (one.step == Step::kLessEqual) Less<true>(left, right, block.count, out);
      else Equal(left, right, block.count, out);
    }
  });
}

}  // namespace lance_arrow
