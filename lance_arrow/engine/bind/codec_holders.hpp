// Codec tables that own what they point to; a capsule owns a holder.
#pragma once

#include <memory>
#include <vector>

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::engine {

HeldChunkCodec* hold_flat(int64_t bits);
HeldChunkCodec* hold_variable(int64_t offset_bits, bool is_block);
// `child` may be null: all items are null, and have `item_bits` in a value. Null where the child has no fixed width.
HeldChunkCodec* hold_list_rows(const LaChunkCodec* child, int64_t items_per_value,
                               const std::vector<int64_t>& bitmap_bits, int64_t num_stored, int64_t item_bits);
// Rows of so many bytes, of which only the first ones are stored: bitmaps of lists whose items are all null.
HeldValueCodec* hold_zipped_nulls(int64_t stored_bytes, int64_t row_bytes);
// Null where `bytes` are no bytes.
HeldValueCodec* hold_zipped_booleans(const LaValueCodec* bytes);
// Fields of packed structs: the bytes of each that are stored, and of the rows that are made; minus those of a length.
HeldValueCodec* hold_packed_rows(const std::vector<const LaValueCodec*>& codecs,
                                 const std::vector<int64_t>& stored_bytes, const std::vector<int64_t>& row_bytes);
HeldValueCodec* hold_zipped(int64_t bits);

// `decode` writes the content of a standard frame, exactly so many bytes, or returns false.
HeldFrameCodec* hold_zstd(bool (*decode)(const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes));
// `prefixes` may be null: then frames are decompressed as a whole.
HeldChunkCodec* hold_compressed(const LaChunkCodec* child, const LaFrameCodec* frames, const LaFramePrefixes* prefixes,
                                int64_t most_bytes);
HeldValueCodec* hold_compressed_values(const LaFrameCodec* frames, int64_t most_bytes);

struct HeldStoredValues : LaStoredValues {
  std::shared_ptr<void> form;
};
HeldStoredValues* hold_stored_zstd(int64_t most_bytes);

using Expand = LaRefusal (*)(const void*, const uint8_t*, const int64_t*, const int64_t*, int64_t, LaValues*);

// All values of some chunks, one chunk after the other.
struct DecodedChunks {
  std::vector<uint8_t> values;
  std::vector<int64_t> offsets;  // of values of any length: one more than values; else empty
};
using DecodeChunks = LaRefusal (*)(const void*, const LaChunk* chunks, int64_t num_chunks, DecodedChunks* out);

// Codecs whose method in Python, `decode`, is called for what `own` leaves to it, and to name a limit; for everything
// where `own` is null.
HeldValueCodec* hold_called(int64_t bits, const LaValueCodec* own, void* decode, Expand expand);
HeldChunkCodec* hold_called_chunks(int64_t bits, int64_t num_buffers, const LaChunkCodec* own, void* decode,
                                   DecodeChunks call);

}  // namespace lance_arrow::engine
