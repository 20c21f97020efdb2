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

}  // namespace lance_arrow::engine
