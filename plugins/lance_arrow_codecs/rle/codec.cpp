#include "lance_arrow_codecs/rle/codec.hpp"

#include <memory>
#include <vector>

#include "lance_arrow/number_ranges.hpp"
#include "lance_arrow_codecs/rle/runs.hpp"

namespace lance_arrow::codecs {
namespace {

struct RunLengths {
  int64_t width;
  bool is_block;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const RunLengths*>(self);
    return select_decoded(*chunk, form.width, *runs, out, [&](uint8_t* to, int64_t num_bytes) {
      const int64_t start = 0, borders[2] = {0, chunk->num_values};
      const Chunks one{chunk->buffers[0], chunk->sizes[0], &start, chunk->sizes, borders, 1};
      if (form.is_block) return expand_run_blocks(one, form.width, to, num_bytes);
      return with_value_type(form.width, [&]<class Value>() {
        const codecs::Runs stored{chunk->buffers[0], chunk->sizes[0], chunk->buffers[1], chunk->sizes[1]};
        return expand_chunk<Value>(stored, Chunk{0, nullptr, 0, 0, chunk->num_values}, to, true);
      });
    });
  }
};

// Runs compared once each, and their marks expanded in their stead.
struct RunMarks {
  int64_t width;

  static LaRefusal select_where(const void* self, const LaChunk* chunk, const LaRuns* runs,
                                const LaNumberRanges* ranges, uint8_t* marks) {
    const int64_t width = static_cast<const RunMarks*>(self)->width, num_runs = chunk->sizes[1];
    if (chunk->sizes[0] % width != 0 || chunk->sizes[0] / width != num_runs)
      return "run values and run lengths differ in number";
    const Leased<std::vector<uint8_t>> of_runs;
    of_runs->resize(static_cast<size_t>(num_runs + 1));
    mark_numbers(*ranges, chunk->buffers[0], num_runs, of_runs->data());
    LaValues place{marks, 0, nullptr, 0, nullptr, nullptr};
    return select_decoded(*chunk, 1, *runs, &place, [&](uint8_t* to, int64_t) {
      const codecs::Runs stored{of_runs->data(), num_runs, chunk->buffers[1], num_runs};
      return expand_chunk<uint8_t>(stored, Chunk{0, nullptr, 0, 0, chunk->num_values}, to, true);
    });
  }
};

}  // namespace

HeldChunkMarks* hold_run_marks(int64_t bits) { return hold_marks(RunMarks{bits / 8}); }

HeldChunkCodec* hold_run_lengths(int64_t bits, bool is_block) {
  return hold(std::make_shared<RunLengths>(RunLengths{bits / 8, is_block}), bits, is_block ? 1 : 2, 0);
}

}  // namespace lance_arrow::codecs
