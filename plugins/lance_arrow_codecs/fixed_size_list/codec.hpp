// The C tables of lists of one length.
#pragma once

#include <vector>

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

// `child` may be null: all items are null, and have `item_bits` in a value. Null where the child has no fixed width.
HeldChunkCodec* hold_list_rows(const LaChunkCodec* child, int64_t items_per_value,
                               const std::vector<int64_t>& bitmap_bits, int64_t num_stored, int64_t item_bits);

// Rows of so many bytes, of which only the first ones are stored: bitmaps of lists whose items are all null.
HeldValueCodec* hold_zipped_nulls(int64_t stored_bytes, int64_t row_bytes);

}  // namespace lance_arrow::codecs
