#include "lance_arrow_codecs/out_of_line_bitpacking/codec.hpp"

#include <memory>

#include "lance_arrow_codecs/out_of_line_bitpacking/unpacking.hpp"

namespace lance_arrow::codecs {
namespace {

struct OutOfLineBitpacking {
  int word_bits;
  int packed_bits;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const OutOfLineBitpacking*>(self);
    return select_decoded(*chunk, form.word_bits / 8, *runs, out, [&](uint8_t* to, int64_t num_bytes) {
      const int64_t start = 0, borders[2] = {0, chunk->num_values};
      const Chunks one{chunk->buffers[0], chunk->sizes[0], &start, chunk->sizes, borders, 1};
      return unpack_out_of_line(one, form.word_bits, form.packed_bits, to, num_bytes);
    });
  }
};

}  // namespace

HeldChunkCodec* hold_out_of_line_bitpacking(int64_t word_bits, int64_t packed_bits) {
  const OutOfLineBitpacking form{static_cast<int>(word_bits), static_cast<int>(packed_bits)};
  return hold(std::make_shared<OutOfLineBitpacking>(form), word_bits, 1, 0);
}

}  // namespace lance_arrow::codecs
