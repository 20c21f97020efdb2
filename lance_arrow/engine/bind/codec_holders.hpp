// Codec tables that own what they point to; a capsule owns a holder.
#pragma once

#include <memory>
#include <vector>

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::engine {

// Null where `bytes` are no bytes.
HeldValueCodec* hold_zipped_booleans(const LaValueCodec* bytes);
// `prefixes` may be null: then frames are decompressed as a whole.
HeldChunkCodec* hold_compressed(const LaChunkCodec* child, const LaFrameCodec* frames, const LaFramePrefixes* prefixes,
                                int64_t most_bytes);
HeldValueCodec* hold_compressed_values(const LaFrameCodec* frames, int64_t most_bytes);

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
                                   DecodeChunks call, const LaChunkMarks* marks);

}  // namespace lance_arrow::engine
