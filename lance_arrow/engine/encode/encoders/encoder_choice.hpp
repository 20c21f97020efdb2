// The encoder with the smallest score; the first of equal ones, and none where only Python knows.
#pragma once

#include <vector>

#include "lance_arrow_native.h"

namespace lance_arrow::engine {

template <class Encoder>
struct Best {
  const Encoder* encoder = nullptr;
  double score = LANCE_ARROW_UNFIT;

  // False where only Python knows.
  bool offer(const Encoder* one, double found) {
    if (found == LANCE_ARROW_ASK) return false;
    if (found >= 0 && (encoder == nullptr || found < score)) {
      encoder = one;
      score = found;
    }
    return true;
  }
};

// Codecs with the order of their names.
struct ChunkChoice {
  std::vector<const LaChunkEncoder*> encoders;

  // The score of the best, LANCE_ARROW_UNFIT without one, or LANCE_ARROW_ASK.
  double choose(const LaBlock* block, const LaChunkRules* rules, Best<LaChunkEncoder>* best) const;
};

// Chunks of the best encoder, if there is one. `out` must be an `Encoded` of the engine: what was written is checked.
LaRefusal encode_chosen(const Best<LaChunkEncoder>& best, const LaBlock* block, const LaChunkRules* rules,
                        LaEncoded* out);

struct BlocksChoice {
  std::vector<const LaBlocksEncoder*> encoders;

  double score(const LaBlock* block, const int64_t* starts, int64_t num_blocks) const;
  LaRefusal encode(const LaBlock* block, const int64_t* starts, int64_t num_blocks, LaEncoded* out) const;
};

}  // namespace lance_arrow::engine
