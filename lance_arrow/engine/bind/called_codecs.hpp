// Codecs whose method in Python is called where their C side leaves values to it, or has none.
#pragma once

#include <algorithm>
#include <cstring>

#include "engine/bind/codec_holders.hpp"
#include "lance_arrow/codec_tables.hpp"
#include "lance_arrow/scratch.hpp"

namespace lance_arrow::engine {

// Whether a sentence of a C side says nothing of the bytes. The method in Python decodes them, or names the limit.
inline bool asks_python(LaRefusal refusal) {
  return refusal != nullptr && (std::strcmp(refusal, LA_LEFT) == 0 || std::strcmp(refusal, LA_ABOVE_LIMIT) == 0);
}

struct CalledValues {
  const LaValueCodec* own;
  void* decode;
  Expand call;

  static LaRefusal expand(const void* self, const uint8_t* data, const int64_t* starts, const int64_t* sizes,
                          int64_t num_values, LaValues* out) {
    const auto& form = *static_cast<const CalledValues*>(self);
    if (form.own != nullptr) {
      const int64_t end = out->end;
      const LaRefusal refusal = form.own->expand(form.own->self, data, starts, sizes, num_values, out);
      if (!asks_python(refusal)) return refusal;
      out->end = end;
    }
    return form.call(form.decode, data, starts, sizes, num_values, out);
  }

  // Whether Python decodes all values.
  static bool is(const LaValueCodec* codec) {
    return codec->expand == &CalledValues::expand && static_cast<const CalledValues*>(codec->self)->own == nullptr;
  }
};

inline int64_t kept_bytes(const DecodedChunks& held) {
  return lance_arrow::kept_bytes(held.values) + lance_arrow::kept_bytes(held.offsets);
}

struct CalledChunks {
  int64_t bits;
  const LaChunkCodec* own;
  void* decode;
  DecodeChunks call;
  const LaChunkMarks* marks;  // null: numbers are decoded to be compared

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const CalledChunks*>(self);
    if (form.own != nullptr) {
      const int64_t end = out->end;
      const LaRefusal refusal = form.own->select(form.own->self, chunk, runs, out);
      if (!asks_python(refusal)) return refusal;
      out->end = end;
    }
    const Leased<DecodedChunks> decoded;
    const LaRefusal refusal = form.call(form.decode, chunk, 1, &*decoded);
    return refusal != nullptr ? refusal : pick(form.bits, *decoded, 0, chunk->num_values, *runs, out);
  }

  // What the codec says of numbers that are not decoded; null where nothing.
  static const LaChunkMarks* marks_of(const LaChunkCodec* codec) {
    if (codec->select != &CalledChunks::select) return nullptr;
    return static_cast<const CalledChunks*>(codec->self)->marks;
  }

  // The codec, if Python decodes all of its chunks, several in one call.
  static const CalledChunks* of(const LaChunkCodec* codec) {
    if (codec->select != &CalledChunks::select) return nullptr;
    const auto* form = static_cast<const CalledChunks*>(codec->self);
    // Single bits of a chunk need not begin at a byte.
    return form->own == nullptr && form->bits != 1 ? form : nullptr;
  }

  // The codec without Python's part; null where Python decodes all chunks.
  static const LaChunkCodec* native_of(const LaChunkCodec* codec) {
    return codec->select != &CalledChunks::select ? codec : static_cast<const CalledChunks*>(codec->self)->own;
  }

  // Runs of one of the chunks, whose values begin at `first`, go where they belong.
  static LaRefusal pick(int64_t bits, const DecodedChunks& decoded, int64_t first, int64_t num_values,
                        const LaRuns& runs, LaValues* out) {
    if (!runs_fit(runs, num_values)) return "a chunk is shorter than its values";
    if (bits > 0) {
      const uint8_t* values = decoded.values.data() + first * bits / 8;
      const int64_t num_bytes = static_cast<int64_t>(decoded.values.size()) - first * bits / 8;
      const LaChunk plain{&values, &num_bytes, 1, num_values};
      const PlainChunks chunks{bits};
      return PlainChunks::select(&chunks, &plain, &runs, out);
    }
    const int64_t* offsets = decoded.offsets.data() + first;
    int64_t* ends = out->ends;
    for (int64_t run = 0; run < runs.num_runs; ++run) {
      const int64_t start = offsets[runs.starts[run]], size = offsets[runs.stops[run]] - start;
      uint8_t* to = out->reserve(out->host, out->end, size);
      if (to == nullptr) return LA_ABOVE_LIMIT;
      copy_bytes(to, decoded.values.data() + start, size);
      for (int64_t value = runs.starts[run]; value < runs.stops[run]; ++value)
        *ends++ = out->end + offsets[value + 1] - start;
      out->end += size;
    }
    return kDone;
  }
};

// Whether offsets that Python made of so many values stay within its bytes.
inline bool are_offsets(const DecodedChunks& decoded, int64_t num_values) {
  const auto& offsets = decoded.offsets;
  return static_cast<int64_t>(offsets.size()) == num_values + 1 && offsets.front() >= 0 &&
         offsets.back() <= static_cast<int64_t>(decoded.values.size()) &&
         std::is_sorted(offsets.begin(), offsets.end());
}

}  // namespace lance_arrow::engine
