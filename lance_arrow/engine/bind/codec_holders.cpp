#include "engine/bind/codec_holders.hpp"

#include <type_traits>

#include "engine/bind/called_codecs.hpp"
#include "engine/bind/codec_tables.hpp"
#include "engine/bind/compressed_chunks.hpp"
#include "engine/bind/packed_rows.hpp"
#include "engine/bind/zipped_values.hpp"

namespace lance_arrow::engine {

HeldChunkCodec* hold_flat(int64_t bits) {
  return hold(std::make_shared<Flat>(Flat{bits}), bits, 1, bits % 8 == 0 ? bits / 8 : 0);
}

HeldChunkCodec* hold_variable(int64_t offset_bits, bool is_block) {
  if (is_block) {
    if (offset_bits == 32) return hold(std::make_shared<VariableBlock<uint32_t>>(), 0, 1, 0);
    return hold(std::make_shared<VariableBlock<uint64_t>>(), 0, 1, 0);
  }
  if (offset_bits == 32) return hold(std::make_shared<Variable<uint32_t>>(), 0, 1, 0);
  return hold(std::make_shared<Variable<uint64_t>>(), 0, 1, 0);
}

HeldChunkCodec* hold_list_rows(const LaChunkCodec* child, int64_t items_per_value,
                               const std::vector<int64_t>& bitmap_bits, int64_t num_stored, int64_t item_bits) {
  constexpr int64_t most_bits = int64_t{1} << 31;
  int64_t row_bytes = (item_bits + 7) / 8;
  for (const int64_t bits : bitmap_bits) {
    if (bits < 1 || bits > most_bits) return nullptr;
    row_bytes += (bits + 7) / 8;
  }
  const int64_t num_buffers = num_stored + (child == nullptr ? 0 : child->num_buffers);
  if (item_bits < 1 || item_bits > most_bits || num_buffers > ListRows::kMostBuffers) return nullptr;
  if (child != nullptr &&
      (child->bits == 0 || items_per_value > most_bits / child->bits || child->bits * items_per_value != item_bits))
    return nullptr;
  auto form =
      std::make_shared<ListRows>(ListRows{child, items_per_value, bitmap_bits, num_stored, item_bits, row_bytes});
  return hold(form, 8 * row_bytes, num_buffers, 0);
}

HeldValueCodec* hold_zipped(int64_t bits) {
  return hold_values(std::make_shared<ZippedBytes>(ZippedBytes{bits}), bits, true);
}

HeldValueCodec* hold_zipped_nulls(int64_t stored_bytes, int64_t row_bytes) {
  auto form = std::make_shared<ZippedNulls>(ZippedNulls{stored_bytes, row_bytes});
  return hold_values(form, 8 * row_bytes, false);
}

HeldValueCodec* hold_zipped_booleans(const LaValueCodec* bytes) {
  if (bytes->bits != 8) return nullptr;
  auto form = std::make_shared<ZippedBooleans>(ZippedBooleans{bytes});
  return hold_values(form, 1, false);
}

HeldValueCodec* hold_packed_rows(const std::vector<const LaValueCodec*>& codecs,
                                 const std::vector<int64_t>& stored_bytes, const std::vector<int64_t>& row_bytes) {
  auto form = std::make_shared<PackedRows>(PackedRows{codecs, stored_bytes, row_bytes});
  return hold_values(form, 0, false);
}

HeldFrameCodec* hold_zstd(bool (*decode)(const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes)) {
  auto form = std::make_shared<ZstdFrames>(ZstdFrames{decode});
  return new HeldFrameCodec{{form.get(), &ZstdFrames::plain_bytes, &ZstdFrames::decompress}, form};
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

HeldStoredValues* hold_stored_zstd(int64_t most_bytes) {
  auto form = std::make_shared<StoredZstd>(StoredZstd{most_bytes});
  return new HeldStoredValues{{form.get(), &StoredZstd::head_bytes, &StoredZstd::is_stored}, form};
}

HeldValueCodec* hold_called(int64_t bits, const LaValueCodec* own, void* decode, Expand expand) {
  auto form = std::make_shared<CalledValues>(CalledValues{own, decode, expand});
  return hold_values(form, bits, false);
}

HeldChunkCodec* hold_called_chunks(int64_t bits, int64_t num_buffers, const LaChunkCodec* own, void* decode,
                                   DecodeChunks call) {
  return hold(std::make_shared<CalledChunks>(CalledChunks{bits, own, decode, call}), bits, num_buffers, 0);
}

}  // namespace lance_arrow::engine
