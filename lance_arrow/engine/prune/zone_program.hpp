// A filter on zones, three-valued: which of true, false and null may occur among the rows of each.
//
// A program is the filter's tree in postfix order; Python compiles it (`pruning/zone_programs.py`), and nothing else
// decides what a function does to bounds. It errs on one side only: what may not occur, does not. Operands are columns
// (0 and up), and literals (-1 and down).
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "engine/prune/bound_values.hpp"

namespace lance_arrow {

enum class Step : int {
  kUnknown = 0,  // anything
  kFacts = 1,  // true or false where an operand has a value, null where it is null; flag: NaN is null, too
  kIsNan = 2,  // an operand
  kLess = 3,  // two operands
  kLessEqual = 4,
  kEqual = 5,
  kIsIn = 6,  // an operand and the number of the literals; flag: null may be one of these
  // Of what is on the stack.
  kAnd = 7,
  kAndStrict = 8,  // null as soon as one side is
  kNot = 9,
  kIsNull = 10,
  kTrueUnlessNull = 11,
  kIfElse = 12,
};

struct Instruction {
  Step step;
  int left = 0, right = 0;
  int flag = 0;
};

class Program {
 public:
  enum Verdict : int8_t { kNo = 0, kMaybe = 1, kAll = 2 };

  // A column of a kind; where `nulls_are_values`, what is null may also be a valid value (items of dictionaries).
  void AddColumn(char kind, bool nulls_are_values) { columns_.push_back({DomainOf(kind), nulls_are_values}); }
  // Copies one literal, or those that a lookup looks among.
  void AddLiterals(const BoundArray& array, int64_t count);
  void Add(const Instruction& one) { instructions_.push_back(one); }

  // Whether every instruction finds its arguments, of a type that it compares. To be called once, before zones are
  // judged.
  bool Seal();

  size_t num_columns() const { return columns_.size(); }

  // Judges zones: kNo where no row can satisfy the filter, kAll where every row does. `columns` are those of the
  // program, all of `num_zones` zones; null for one that may hold anything.
  void Judge(const std::vector<const ZoneColumn*>& columns, int64_t num_zones, int8_t* verdicts) const;

 private:
  struct Column {
    char domain;
    bool nulls_are_values;
  };

  // Values in ascending order; those of texts lie in `bytes`.
  struct Literals {
    char domain;
    uint8_t flags = 0;  // kHasNull, kHasNan: whether these are among them; kHasValue and bounds of a single value
    int64_t count = 0;  // with nulls and NaN
    std::variant<std::vector<int64_t>, std::vector<uint64_t>, std::vector<double>, std::vector<Wide>, std::vector<Text>>
        values;
    std::vector<char> bytes;
  };

  template <class T>
  struct Side;
  struct Block;

  char DomainOfOperand(int operand) const;
  const Literals& LiteralAt(int operand) const { return literals_[static_cast<size_t>(-1 - operand)]; }
  template <class T>
  void LoadLiterals(const BoundArray& array, int64_t count, Literals* into) const;
  bool HasArguments(const Instruction& one) const;
  bool IsKnown(const Instruction& one, const Block& block) const;
  void LoadFlags(int operand, const Block& block, uint8_t* flags) const;
  template <class T>
  void Load(int operand, const Block& block, Side<T>* side) const;
  void JudgeOperands(const Instruction& one, const Block& block, uint8_t* out) const;

  std::vector<Instruction> instructions_;
  std::vector<Column> columns_;
  std::vector<Literals> literals_;
  size_t depth_ = 0;
};

}  // namespace lance_arrow
