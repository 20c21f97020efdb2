#include "engine/bind/codec_holders.hpp"

#include <type_traits>

#include "engine/bind/called_codecs.hpp"
#include "engine/bind/compressed_chunks.hpp"
#include "engine/bind/zipped_values.hpp"
#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::engine {

HeldValueCodec* hold_zipped_booleans(const LaValueCodec* bytes) {
  if (bytes->bits != 8) return nullptr;
  auto form = std::make_shared<ZippedBooleans>(ZippedBooleans{bytes});
  return hold_values(form, 1, false);
}

HeldChunkCodec* hold_compressed(const LaChunkCodec* child, const LaFrameCodec* frames, const LaFramePrefixes* prefixes,
                                int64_t most_bytes) {
  auto form = std::make_shared<Compressed>(Compressed{child, frames, prefixes, most_bytes});
  return hold(form, child->bits, child->num_buffers, 0);
}

HeldValueCodec* hold_compressed_values(const LaFrameCodec* frames, int64_t most_bytes) {
  auto form = std::make_shared<CompressedValues>(CompressedValues{frames, most_bytes});
  return hold_values(form, 0, false);
}

HeldValueCodec* hold_called(int64_t bits, const LaValueCodec* own, void* decode, Expand expand) {
  auto form = std::make_shared<CalledValues>(CalledValues{own, decode, expand});
  return hold_values(form, bits, false);
}

HeldChunkCodec* hold_called_chunks(int64_t bits, int64_t num_buffers, const LaChunkCodec* own, void* decode,
                                   DecodeChunks call, const LaChunkMarks* marks) {
  return hold(std::make_shared<CalledChunks>(CalledChunks{bits, own, decode, call, marks}), bits, num_buffers, 0);
}

}  // namespace lance_arrow::engine
