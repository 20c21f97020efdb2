#include "lance_arrow_codecs/delta/codec.hpp"

#include <algorithm>
#include <vector>

namespace lance_arrow::codecs {
namespace {

template <class T>
struct Delta {
  T base;
  const LaChunkCodec* deltas;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const Delta*>(self);
    constexpr auto width = static_cast<int64_t>(sizeof(T));
    LaRefusal refusal = kDone;
    const LaRefusal found = select_decoded(*chunk, width, *runs, out, [&](uint8_t* to, int64_t) {
      const int64_t count = chunk->num_values;
      const Leased<std::vector<uint8_t>> scratch;
      const LaChunk below{chunk->buffers, chunk->sizes, chunk->num_buffers, std::max<int64_t>(count - 1, 0)};
      scratch->resize(static_cast<size_t>(below.num_values * width + 1));
      refusal = select_all(*form.deltas, below, scratch->data());
      T value = form.base;
      for (int64_t at = 0; at < count; ++at) {
        if (at > 0) value = static_cast<T>(value + load<T>(scratch->data(), at - 1));
        store<T>(to, at, value);
      }
      return success();
    });
    return refusal != kDone ? refusal : found;
  }
};

}  // namespace

HeldChunkCodec* hold_delta(int64_t bits, uint64_t base, const LaChunkCodec* deltas) {
  if (deltas->bits != bits) return nullptr;
  if (bits == 32) return hold_one(Delta<uint32_t>{static_cast<uint32_t>(base), deltas}, bits, deltas->num_buffers);
  return hold_one(Delta<uint64_t>{base, deltas}, bits, deltas->num_buffers);
}

}  // namespace lance_arrow::codecs
