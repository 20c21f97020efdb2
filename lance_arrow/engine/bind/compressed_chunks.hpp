// The C side of what compression is made of: frames, a codec of chunks below them, and byte streams.
#pragma once

#include <new>

#include "engine/bind/codec_tables.hpp"
#include "engine/decode/lz4.hpp"
#include "engine/decode/streams.hpp"
#include "engine/decode/zstd_frames.hpp"

namespace lance_arrow::engine {

// The size as a 32-bit word, then one raw block. An empty frame is empty.
struct Lz4Frames {
  static constexpr int64_t kHead = 4, kLargestRatio = 255, kWrong = -2;

  static int64_t plain_bytes(const void*, const uint8_t* frame, int64_t size) {
    if (size == 0) return 0;
    if (size < kHead) return kWrong;
    const auto declared = static_cast<int64_t>(load<uint32_t>(frame, 0));
    return declared <= (size - kHead) * kLargestRatio ? declared : kWrong;
  }

  static LaRefusal decompress(const void*, const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes) {
    if (size == 0 && out_bytes == 0) return kDone;
    if (size < kHead || !decode_lz4_block(frame + kHead, size - kHead, out, out_bytes))
      return "an LZ4 block is malformed";
    return kDone;
  }

  static LaRefusal decompress_prefix(const void*, const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes,
                                     int64_t prefix_bytes) {
    if (size < kHead || !decode_lz4_prefix(frame + kHead, size - kHead, out, out_bytes, prefix_bytes))
      return "an LZ4 block is malformed";
    return kDone;
  }
};

// The size as a 64-bit word, which some writers leave out, then a standard frame. An empty frame is empty.
struct ZstdFrames {
  bool (*decode)(const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes);

  static int64_t plain_bytes(const void*, const uint8_t* frame, int64_t size) {
    return size == 0 ? 0 : zstd_plain_bytes(zstd_frame(frame, size));
  }

  static LaRefusal decompress(const void* self, const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes) {
    if (size == 0 && out_bytes == 0) return kDone;
    const ZstdFrame found = zstd_frame(frame, size);
    if (!is_zstd_frame_of(found, out_bytes) ||
        !static_cast<const ZstdFrames*>(self)->decode(found.bytes, found.size, out, out_bytes))
      return "a zstd frame is malformed, or contradicts its declared size";
    return kDone;
  }
};

// Buffer 0 of a chunk as a frame; the child goes on with what it holds.
struct Compressed {
  static constexpr int64_t kMostBuffers = 8;

  const LaChunkCodec* child;
  const LaFrameCodec* frames;
  const LaFramePrefixes* prefixes;  // null: frames are decompressed as a whole
  int64_t most_bytes;  // of a frame's content

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const Compressed*>(self);
    if (chunk->num_buffers < 1 || chunk->num_buffers > kMostBuffers) return "a chunk has other buffers than its codec";
    const int64_t plain_bytes = form.frames->plain_bytes(form.frames->self, chunk->buffers[0], chunk->sizes[0]);
    if (const LaRefusal refusal = check_declared(plain_bytes, form.most_bytes)) return refusal;
    if (is_all_as_it_is(form, *chunk, *runs, plain_bytes))
      return form.frames->decompress(form.frames->self, chunk->buffers[0], chunk->sizes[0], out->values, plain_bytes);
    // Not memory of the thread: a child may have compressed parts itself.
    const std::unique_ptr<uint8_t[]> plain(new (std::nothrow) uint8_t[static_cast<size_t>(plain_bytes) + 1]);
    if (plain == nullptr) return LA_ABOVE_LIMIT;
    if (const LaRefusal refusal = open(form, *chunk, *runs, plain.get(), plain_bytes)) return refusal;
    const uint8_t* buffers[kMostBuffers] = {plain.get()};
    int64_t sizes[kMostBuffers] = {plain_bytes};
    std::copy(chunk->buffers + 1, chunk->buffers + chunk->num_buffers, buffers + 1);
    std::copy(chunk->sizes + 1, chunk->sizes + chunk->num_buffers, sizes + 1);
    const LaChunk below{buffers, sizes, chunk->num_buffers, chunk->num_values};
    return form.child->select(form.child->self, &below, runs, out);
  }

  // Decompresses the bytes up to those of the last value that is wanted, if the scheme can, or all.
  static LaRefusal open(const Compressed& form, const LaChunk& chunk, const LaRuns& runs, uint8_t* to,
                        int64_t plain_bytes) {
    const bool is_by_value = form.prefixes != nullptr && form.child->plain_bytes > 0 && runs.num_runs > 0;
    const int64_t last = is_by_value ? runs.stops[runs.num_runs - 1] : chunk.num_values;
    if (!is_by_value || last >= chunk.num_values || plain_bytes != chunk.num_values * form.child->plain_bytes)
      return form.frames->decompress(form.frames->self, chunk.buffers[0], chunk.sizes[0], to, plain_bytes);
    return form.prefixes->decompress(form.prefixes->self, chunk.buffers[0], chunk.sizes[0], to, plain_bytes,
                                     last * form.child->plain_bytes);
  }

  // Whether all values are wanted, and a frame holds just them: it is decompressed where they go.
  static bool is_all_as_it_is(const Compressed& form, const LaChunk& chunk, const LaRuns& runs, int64_t plain_bytes) {
    return form.child->plain_bytes > 0 && runs.num_runs == 1 && runs.starts[0] == 0 &&
           runs.stops[0] == chunk.num_values && plain_bytes == chunk.num_values * form.child->plain_bytes;
  }
};

// Zipped values of any length, each of them the content of a frame.
struct CompressedValues {
  const LaFrameCodec* frames;
  int64_t most_bytes;  // of a value

  static LaRefusal expand(const void* self, const uint8_t* data, const int64_t* starts, const int64_t* sizes,
                          int64_t num_values, LaValues* out) {
    const auto& form = *static_cast<const CompressedValues*>(self);
    const LaFrameCodec& frames = *form.frames;
    // Measured before anything is decompressed: one piece of memory serves all.
    int64_t end = out->end;
    for (int64_t value = 0; value < num_values; ++value) {
      const int64_t plain_bytes = frames.plain_bytes(frames.self, data + starts[value], sizes[value]);
      if (const LaRefusal refusal = check_declared(plain_bytes, form.most_bytes)) return refusal;
      if (plain_bytes > (int64_t{1} << 60) - end) return LA_ABOVE_LIMIT;
      end += plain_bytes;
      out->ends[value] = end;
    }
    uint8_t* to = out->reserve(out->host, out->end, end - out->end);
    if (to == nullptr) return LA_ABOVE_LIMIT;
    for (int64_t value = 0; value < num_values; ++value) {
      const int64_t plain_bytes = out->ends[value] - out->end;
      const LaRefusal refusal = frames.decompress(frames.self, data + starts[value], sizes[value], to, plain_bytes);
      if (refusal != nullptr) return refusal;
      to += plain_bytes;
      out->end += plain_bytes;
    }
    return kDone;
  }
};

// Byte b of every value of a chunk in stream b.
template <class T>
struct ByteStreams {
  static LaRefusal select(const void*, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    constexpr auto width = static_cast<int64_t>(sizeof(T));
    // With fewer values wanted than one in so many, reaching each singly beats putting all together.
    constexpr int64_t few = 16;
    const uint8_t* bytes = chunk->buffers[0];
    const int64_t count = chunk->num_values;
    if (chunk->sizes[0] % width != 0 || chunk->sizes[0] / width != count || !runs_fit(*runs, count))
      return "byte streams have another size than their values";
    if (num_selected(*runs) > count / few)
      return select_decoded(*chunk, width, *runs, out, [&](uint8_t* to, int64_t) {
        join_streams<width>(bytes, count, width, to);
        return success();
      });
    uint8_t* to = out->values;
    for (int64_t run = 0; run < runs->num_runs; ++run)
      for (int64_t value = runs->starts[run]; value < runs->stops[run]; ++value, to += width)
        for (int64_t stream = 0; stream < width; ++stream) to[stream] = bytes[stream * count + value];
    return kDone;
  }
};

}  // namespace lance_arrow::engine
