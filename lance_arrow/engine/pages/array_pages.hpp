// Pages of array encodings: values, and their nulls, in plain buffers of their own.
#pragma once

#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

// Values of `bits` each, back to back; with validity, a bit for each value in the second buffer. The caller owns it.
Page* new_flat_page(int64_t bits, bool has_validity);

// Lists of `list_size` items, each of `item_bits`, back to back. A bit for each item lies in the second buffer; with
// validity, a bit for each list in the third. A value is a row of the bits of its items and of the items, each in whole
// bytes. The caller owns it.
Page* new_nullable_items_page(int64_t list_size, int64_t item_bits, bool has_validity);

// Lists of lists of one length, as rows of all parts: the bitmaps of each layer of items, outer-most first, then the
// innermost items. Bitmaps are read once, whole; items lie in the first buffer, and with validity a bit for each row in
// the second.
struct ListRowsForm {
  static constexpr int kAllValid = -1, kAllNull = -2;
  std::vector<int64_t> bits;  // of each part in a row
  std::vector<int> buffers;  // of each part: its number, or what all items are
  bool has_validity;
};

// The caller owns it. Bits of a part whose items are all valid become 0 in `Page::parts`.
Page* new_list_rows_page(const ListRowsForm& form);

}  // namespace lance_arrow::engine
