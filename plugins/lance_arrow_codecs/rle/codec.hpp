// The C table of plain runs.
#pragma once

#include <memory>

#include "lance_arrow/codec_tables.hpp"
#include "lance_arrow_codecs/rle/runs.hpp"

namespace lance_arrow::codecs {

// Run values and 8-bit run lengths, in two buffers or in one block.
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

inline HeldChunkCodec* hold_run_lengths(int64_t bits, bool is_block) {
  return hold(std::make_shared<RunLengths>(RunLengths{bits / 8, is_block}), bits, is_block ? 1 : 2, 0);
}

}  // namespace lance_arrow::codecs
