#include "lance_arrow_codecs/variable/codec.hpp"

#include <memory>

#include "lance_arrow/text_ranges.hpp"
#include "lance_arrow_codecs/variable/offsets.hpp"

namespace lance_arrow::codecs {
namespace {

// Offsets and bytes of one chunk.
template <class Offset>
struct Variable {
  // Calls work(offsets, values, first offset, last offset).
  template <class Work>
  static LaRefusal opened(const LaChunk* chunk, const LaRuns* runs, Work&& work) {
    constexpr int64_t width = sizeof(Offset);
    const uint8_t* bytes = chunk->buffers[0];
    const int64_t size = chunk->sizes[0];
    if (!runs_fit(*runs, chunk->num_values) || chunk->num_values >= size / width)
      return "a chunk is shorter than its offsets";
    const auto header = static_cast<uint64_t>((chunk->num_values + 1) * width);
    if (load<Offset>(bytes, 0) != header) return "a chunk's first offset is not its header";
    return work(bytes, bytes + header, header, static_cast<uint64_t>(size));
  }

  static LaRefusal select(const void*, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    return opened(chunk, runs, [&](const uint8_t* offsets, const uint8_t* values, uint64_t first, uint64_t last) {
      return append_runs<Offset>(offsets, values, first, last, *runs, out);
    });
  }

  static LaRefusal select_texts(const void*, const LaChunk* chunk, const LaRuns* runs, const LaTextRanges* ranges,
                                uint8_t* marks) {
    return opened(chunk, runs, [&](const uint8_t* offsets, const uint8_t* values, uint64_t first, uint64_t last) {
      return mark_text_runs<Offset>(offsets, values, first, last, *runs, *ranges, marks);
    });
  }
};

// The same of a block, which has a header of its own.
template <class Offset>
struct VariableBlock {
  static LaRefusal select(const void*, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    if (!runs_fit(*runs, chunk->num_values)) return "a block has fewer values";
    VariableChunk opened;
    const Chunk block{0, chunk->buffers[0], chunk->sizes[0], 0, chunk->num_values};
    const Outcome outcome = open_block<Offset>(block, &opened);
    if (outcome.message != nullptr) return outcome.message;
    return append_runs<Offset>(opened.offsets, opened.bytes, 0, static_cast<uint64_t>(opened.num_bytes), *runs, out);
  }
};

}  // namespace

HeldChunkCodec* hold_variable(int64_t offset_bits, bool is_block) {
  if (is_block) {
    if (offset_bits == 32) return hold(std::make_shared<VariableBlock<uint32_t>>(), 0, 1, 0);
    return hold(std::make_shared<VariableBlock<uint64_t>>(), 0, 1, 0);
  }
  if (offset_bits == 32) return hold(std::make_shared<Variable<uint32_t>>(), 0, 1, 0);
  return hold(std::make_shared<Variable<uint64_t>>(), 0, 1, 0);
}

HeldChunkMarks* hold_variable_marks(int64_t offset_bits) {
  return offset_bits == 32 ? hold_marks(Variable<uint32_t>{}) : hold_marks(Variable<uint64_t>{});
}

}  // namespace lance_arrow::codecs
