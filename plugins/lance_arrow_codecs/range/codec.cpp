#include "lance_arrow_codecs/range/codec.hpp"

namespace lance_arrow::codecs {
namespace {

template <class T>
struct Range {
  T start, step;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const Range*>(self);
    if (!runs_fit(*runs, chunk->num_values)) return "more values are wanted than a chunk has";
    int64_t at = 0;
    for (int64_t run = 0; run < runs->num_runs; ++run)
      for (int64_t value = runs->starts[run]; value < runs->stops[run]; ++value)
        store<T>(out->values, at++, static_cast<T>(form.start + static_cast<T>(value) * form.step));
    return kDone;
  }
};

}  // namespace

HeldChunkCodec* hold_range(int64_t bits, uint64_t start, uint64_t step) {
  if (bits == 32) return hold_one(Range<uint32_t>{static_cast<uint32_t>(start), static_cast<uint32_t>(step)}, bits, 0);
  return hold_one(Range<uint64_t>{start, step}, 64, 0);
}

}  // namespace lance_arrow::codecs
