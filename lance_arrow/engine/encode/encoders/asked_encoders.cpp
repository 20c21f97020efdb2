// Encoders of codecs that are written in Python: never fit for small blocks, and asked about others.
#include <algorithm>

#include "engine/encode/encoders/held_encoders.hpp"
#include "lance_arrow/block_facts.hpp"

namespace lance_arrow::engine {

namespace {

struct AskedEncoder {
  int64_t least_bytes;
  int64_t least_values;

  static double score(const void* self, const LaBlock* block, const LaChunkRules* rules) {
    const auto* own = static_cast<const AskedEncoder*>(self);
    const bool is_small =
        raw_bytes(*block) < own->least_bytes || std::min(block->num_values, rules->max_values) < own->least_values;
    return is_small ? LANCE_ARROW_UNFIT : LANCE_ARROW_ASK;
  }

  static LaRefusal encode(const void*, const LaBlock*, const LaChunkRules*, LaEncoded*) {
    return "this codec is written in Python";
  }
};

struct AskedBlocks {
  int64_t least_bytes;

  static double score(const void* self, const LaBlock* block, const int64_t*, int64_t) {
    return raw_bytes(*block) < static_cast<const AskedBlocks*>(self)->least_bytes ? LANCE_ARROW_UNFIT : LANCE_ARROW_ASK;
  }

  static LaRefusal encode(const void*, const LaBlock*, const int64_t*, int64_t, LaEncoded*) {
    return "this codec is written in Python";
  }
};

}  // namespace

HeldChunkEncoder* hold_asked_encoder(int64_t least_bytes, int64_t least_values) {
  return hold_chunk_encoder(std::make_shared<AskedEncoder>(AskedEncoder{least_bytes, least_values}));
}

HeldBlocksEncoder* hold_asked_blocks(int64_t least_bytes) {
  auto form = std::make_shared<AskedBlocks>(AskedBlocks{least_bytes});
  return hold_blocks_encoder(form);
}

}  // namespace lance_arrow::engine
