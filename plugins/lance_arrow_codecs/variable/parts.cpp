#include "lance_arrow_codecs/variable/parts.hpp"

#include <new>

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

namespace {

constexpr int64_t kMostBuffers = 8;

template <class Offset>
struct VariableParts {
  const LaChunkCodec* offsets;
  const LaFrameCodec* frames;
  int64_t most_frame_bytes;
  PartsForm form;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& codec = *static_cast<const VariableParts*>(self);
    if (!runs_fit(*runs, chunk->num_values)) return "more values are wanted than a chunk has";
    if (chunk->num_values >= (int64_t{1} << 31)) return LA_ABOVE_LIMIT;
    Places places;
    if (const LaRefusal refusal = codec.find(*chunk, &places)) return refusal;
    const int64_t count = chunk->num_values + 1, start = 0;
    const Leased<std::vector<uint8_t>> stored;
    stored->resize(static_cast<size_t>(count * kWidth));
    const LaChunk of_offsets{places.buffers, places.sizes, codec.offsets->num_buffers, count};
    LaValues to{stored->data(), 0, nullptr, 0, nullptr, nullptr};
    const LaRuns all{&start, &count, 1};
    if (const LaRefusal refusal = codec.offsets->select(codec.offsets->self, &of_offsets, &all, &to)) return refusal;
    if (load<Offset>(stored->data(), 0) != places.base) return "a chunk's first offset is not its header";
    std::unique_ptr<uint8_t[]> plain;
    const uint8_t* bytes = places.bytes;
    int64_t size = places.num_bytes;
    if (codec.frames != nullptr) {
      const LaFrameCodec& one = *codec.frames;
      const int64_t plain_bytes = one.plain_bytes(one.self, bytes, size);
      if (const LaRefusal refusal = check_declared(plain_bytes, codec.most_frame_bytes)) return refusal;
      plain.reset(new (std::nothrow) uint8_t[static_cast<size_t>(plain_bytes) + 1]);
      if (plain == nullptr) return LA_ABOVE_LIMIT;
      if (const LaRefusal refusal = one.decompress(one.self, bytes, size, plain.get(), plain_bytes)) return refusal;
      bytes = plain.get();
      size = plain_bytes;
    }
    return append_runs<Offset>(stored->data(), bytes, places.base, places.base + static_cast<uint64_t>(size), *runs,
                               out);
  }

 private:
  static constexpr auto kWidth = static_cast<int64_t>(sizeof(Offset));

  struct Places {
    const uint8_t* buffers[kMostBuffers];  // of the offsets
    int64_t sizes[kMostBuffers];
    const uint8_t* bytes;
    int64_t num_bytes;
    uint64_t base = 0;  // what offsets count from
  };

  LaRefusal find(const LaChunk& chunk, Places* out) const {
    const int64_t of_offsets = offsets->num_buffers;
    if (form == PartsForm::kApart) {
      std::copy(chunk.buffers, chunk.buffers + of_offsets, out->buffers);
      std::copy(chunk.sizes, chunk.sizes + of_offsets, out->sizes);
      out->bytes = chunk.buffers[of_offsets];
      out->num_bytes = chunk.sizes[of_offsets];
      return kDone;
    }
    const uint8_t* bytes = chunk.buffers[0];
    const int64_t size = chunk.sizes[0];
    int64_t header = 0, border = (chunk.num_values + 1) * kWidth;
    if (form == PartsForm::kBlock) {
      header = 2 * kWidth;
      if (size < header) return "a block of strings is too short for its header";
      const uint64_t declared = load<Offset>(bytes, 1);
      if (load<Offset>(bytes, 0) != 8 * kWidth || declared < static_cast<uint64_t>(header) ||
          declared > static_cast<uint64_t>(size))
        return "the header of a block of strings contradicts its description";
      border = static_cast<int64_t>(declared);
    } else {
      out->base = static_cast<uint64_t>(border);
    }
    if (border > size) return "offsets reach beyond their chunk";
    if (of_offsets == 0 && border > header) return "offsets without bytes have bytes";
    out->buffers[0] = bytes + header;
    out->sizes[0] = border - header;
    out->bytes = bytes + border;
    out->num_bytes = size - border;
    return kDone;
  }
};

template <class Offset>
HeldChunkCodec* hold_parts(const LaChunkCodec* offsets, const LaFrameCodec* frames, int64_t most_frame_bytes,
                           PartsForm form) {
  const int64_t num_buffers = form == PartsForm::kApart ? offsets->num_buffers + 1 : 1;
  if (num_buffers > kMostBuffers || (form != PartsForm::kApart && offsets->num_buffers > 1)) return nullptr;
  using Codec = VariableParts<Offset>;
  return hold(std::make_shared<Codec>(Codec{offsets, frames, most_frame_bytes, form}), 0, num_buffers, 0);
}

}  // namespace

HeldChunkCodec* hold_variable_parts(int64_t offset_bits, const LaChunkCodec* offsets, const LaFrameCodec* frames,
                                    int64_t most_frame_bytes, PartsForm form) {
  if (offsets->bits != offset_bits) return nullptr;
  if (offset_bits == 32) return hold_parts<uint32_t>(offsets, frames, most_frame_bytes, form);
  return offset_bits == 64 ? hold_parts<uint64_t>(offsets, frames, most_frame_bytes, form) : nullptr;
}

}  // namespace lance_arrow::codecs
