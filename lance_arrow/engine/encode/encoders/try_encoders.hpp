// One block by one encoder, as tests of codecs want it.
#pragma once

#include "engine/encode/encoders/encoded.hpp"

namespace lance_arrow::engine {

// The score; where it is one, the block is encoded, or `refused` says why not.
inline double try_chunks(const LaChunkEncoder* encoder, const LaBlock& block, const LaChunkRules& rules, Encoded* out,
                         const char** refused) {
  const double score = encoder->score(encoder->self, &block, &rules);
  LaEncoded face = out->face();
  if (score >= 0) *refused = encoder->encode(encoder->self, &block, &rules, &face);
  return score;
}

inline double try_blocks(const LaBlocksEncoder* encoder, const LaBlock& block, const int64_t* starts,
                         int64_t num_blocks, Encoded* out, const char** refused) {
  const double score = encoder->score(encoder->self, &block, starts, num_blocks);
  LaEncoded face = out->face();
  if (score >= 0) *refused = encoder->encode(encoder->self, &block, starts, num_blocks, &face);
  return score;
}

}  // namespace lance_arrow::engine
