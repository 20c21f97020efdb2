// Values of variable width as codes into one dictionary, which all pages of a read share: no item occurs twice in it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/dictionary_items.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

class ItemCodes {
 public:
  // Items of text are checked as UTF-8, each once.
  explicit ItemCodes(bool is_text = false) : is_text_(is_text) {}

  // Writes codes to memory of the caller's, with room for so many; without it they lie in memory of their own.
  void lend(int32_t* codes, int64_t room) {
    lent_ = codes;
    room_ = room;
  }

  // Codes of values that a page holds as indices into `items`. Nulls have any code.
  Outcome add_indices(const ItemIndices& wanted, int64_t index_bytes, const Items& items, int64_t limit);

  // Codes of `count` values that end at `ends`; the first begins at 0. Empty ones are `kEmpty` until `settle_empty`:
  // most of them stand for nulls.
  Outcome add_values(const uint8_t* bytes, const int64_t* ends, int64_t count, int64_t limit);

  // Gives empty values that are valid an item. Nulls have the code 0; `validity` is null where there are none.
  Outcome settle_empty(const uint8_t* validity, int64_t limit);

  const int32_t* codes() const { return lent_ != nullptr ? lent_ : own_.data(); }
  int64_t num_codes() const { return num_codes_; }
  bool is_lent() const { return lent_ != nullptr; }
  int64_t num_items() const { return static_cast<int64_t>(ends_.size()); }
  int64_t num_item_bytes() const { return ends_.empty() ? 0 : ends_.back(); }
  void copy_items(uint8_t* values, uint8_t* offsets, int offset_bits) const;

  void clear();
  int64_t kept_bytes() const;

 private:
  bool is_text_;
  static constexpr int32_t kUnknown = -1, kEmpty = -2;
  // Dictionaries of few items are taken whole, so that batches of a page have equal ones.
  static constexpr int64_t kFewItems = 1024;

  template <class Index>
  Outcome add_by(const ItemIndices& wanted, const Items& items, int64_t limit);
  template <class Index>
  Outcome add_known(const ItemIndices& wanted, const Items& items, int32_t* to) const;
  int32_t* more_codes(int64_t count);
  Outcome begin_page(const Items& items, int64_t limit);
  Outcome code_of_item(const Items& items, int64_t item, int64_t limit, int32_t* code);
  Outcome code_of(const uint8_t* bytes, int64_t size, int64_t limit, int32_t* code);
  void grow();

  std::vector<int32_t> own_;
  int32_t* lent_ = nullptr;
  int64_t room_ = 0, num_codes_ = 0;
  std::vector<uint8_t> bytes_;
  std::vector<int64_t> ends_;
  std::vector<uint64_t> hashes_;
  std::vector<int32_t> slots_;  // open addressing: codes by hash
  const Items* page_ = nullptr;  // whose items `code_of_index_` knows
  std::vector<int32_t> code_of_index_;
  bool is_known_ = false;  // whether it knows all of them
  bool is_same_ = false;  // whether they are the indices
  bool has_empty_ = false;
};

}  // namespace lance_arrow::engine
