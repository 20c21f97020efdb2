// The C side of what compression is made of: frames, and a codec of chunks below them.
#pragma once

#include <new>

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::engine {

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

}  // namespace lance_arrow::engine
