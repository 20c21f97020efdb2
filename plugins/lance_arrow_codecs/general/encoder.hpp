// The encoder that asks Python whether compressed byte streams are worth their time.
#pragma once

#include <algorithm>
#include <memory>

#include "lance_arrow/encoder_tables.hpp"
#include "lance_arrow_codecs/general/stream_samples.hpp"

namespace lance_arrow::codecs {

// Asked only where compressed byte streams of samples take less than a part of plain or packed values.
struct StreamsAsked {
  int64_t least_bytes;
  double most_part;

  static double score(const void* self, const LaBlock* block, const LaChunkRules* rules) {
    const auto* own = static_cast<const StreamsAsked*>(self);
    const bool is_split = block->bits == 32 || block->bits == 64;
    if (!is_split || block->num_bytes < own->least_bytes) return LANCE_ARROW_UNFIT;
    if (std::min(block->num_values, rules->max_values) < kGroupValues) return LANCE_ARROW_UNFIT;
    const int64_t packed_bytes = block->num_groups * block->bits / 8 + 128 * block->total_bits;
    const auto plain = static_cast<double>(std::min(block->num_bytes, packed_bytes));
    const double most = own->most_part * plain / static_cast<double>(block->num_bytes);
    return sampled_stream_part(*block) >= most ? LANCE_ARROW_UNFIT : LANCE_ARROW_ASK;
  }

  static LaRefusal encode(const void*, const LaBlock*, const LaChunkRules*, LaEncoded*) {
    return "compressed byte streams are written in Python";
  }
};

// Python is asked where LZ4 makes samples of byte streams smaller than `most_part` of plain or packed values.
inline HeldChunkEncoder* hold_streams_asked(int64_t least_bytes, double most_part) {
  return hold_chunk_encoder(std::make_shared<StreamsAsked>(StreamsAsked{least_bytes, most_part}));
}

}  // namespace lance_arrow::codecs
