// Codecs whose method in Python is called where their C side leaves values to it, or has none.
#pragma once

#include <cstring>

#include "engine/bind/codec_holders.hpp"

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
};

struct CalledChunks {
  const LaChunkCodec* own;
  void* decode;
  Select call;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const CalledChunks*>(self);
    if (form.own != nullptr) {
      const int64_t end = out->end;
      const LaRefusal refusal = form.own->select(form.own->self, chunk, runs, out);
      if (!asks_python(refusal)) return refusal;
      out->end = end;
    }
    return form.call(form.decode, chunk, runs, out);
  }
};

}  // namespace lance_arrow::engine
