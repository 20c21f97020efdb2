#include "engine/encode/encoders/encoder_choice.hpp"

#include "engine/encode/encoders/encoded.hpp"
#include "engine/encode/encoders/held_encoders.hpp"

namespace lance_arrow::engine {

namespace {

constexpr LaRefusal kNoCodec = "no codec can be chosen natively";

template <class Encoder>
double found_score(const Best<Encoder>& best, bool is_known) {
  if (!is_known) return LANCE_ARROW_ASK;
  return best.encoder == nullptr ? LANCE_ARROW_UNFIT : best.score;
}

bool choose(const BlocksChoice& choice, const LaBlock* block, const int64_t* starts, int64_t num_blocks,
            Best<LaBlocksEncoder>* best) {
  for (const LaBlocksEncoder* one : choice.encoders)
    if (!best->offer(one, one->score(one->self, block, starts, num_blocks))) return false;
  return true;
}

// What layouts of others ask, with an output of their own: its host is checked by them.
struct BestChunks {
  ChunkChoice choice;

  static double score(const void* self, const LaBlock* block, const LaChunkRules* rules) {
    Best<LaChunkEncoder> best;
    return static_cast<const BestChunks*>(self)->choice.choose(block, rules, &best);
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const LaChunkRules* rules, LaEncoded* out) {
    Best<LaChunkEncoder> best;
    if (static_cast<const BestChunks*>(self)->choice.choose(block, rules, &best) < 0) return kNoCodec;
    return best.encoder->encode(best.encoder->self, block, rules, out);
  }
};

struct BestBlocks {
  BlocksChoice choice;

  static double score(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks) {
    return static_cast<const BestBlocks*>(self)->choice.score(block, starts, num_blocks);
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks,
                          LaEncoded* out) {
    Best<LaBlocksEncoder> best;
    if (!choose(static_cast<const BestBlocks*>(self)->choice, block, starts, num_blocks, &best) ||
        best.encoder == nullptr)
      return kNoCodec;
    return best.encoder->encode(best.encoder->self, block, starts, num_blocks, out);
  }
};

}  // namespace

double ChunkChoice::choose(const LaBlock* block, const LaChunkRules* rules, Best<LaChunkEncoder>* best) const {
  for (const LaChunkEncoder* one : encoders)
    if (!best->offer(one, one->score(one->self, block, rules))) return LANCE_ARROW_ASK;
  return found_score(*best, true);
}

LaRefusal encode_chosen(const Best<LaChunkEncoder>& best, const LaBlock* block, const LaChunkRules* rules,
                        LaEncoded* out) {
  if (best.encoder == nullptr) return kNoCodec;
  if (const LaRefusal refusal = best.encoder->encode(best.encoder->self, block, rules, out)) return refusal;
  return static_cast<const Encoded*>(out->host)->is_whole(block->num_values) ? nullptr
                                                                             : "an encoder wrote no whole chunks";
}

double BlocksChoice::score(const LaBlock* block, const int64_t* starts, int64_t num_blocks) const {
  Best<LaBlocksEncoder> best;
  const bool is_known = choose(*this, block, starts, num_blocks, &best);
  return found_score(best, is_known);
}

LaRefusal BlocksChoice::encode(const LaBlock* block, const int64_t* starts, int64_t num_blocks, LaEncoded* out) const {
  Best<LaBlocksEncoder> best;
  if (!choose(*this, block, starts, num_blocks, &best) || best.encoder == nullptr) return kNoCodec;
  if (const LaRefusal refusal = best.encoder->encode(best.encoder->self, block, starts, num_blocks, out))
    return refusal;
  const auto* encoded = static_cast<const Encoded*>(out->host);
  const bool is_whole = encoded->is_whole(block->num_values) &&
                        static_cast<int64_t>(encoded->counts.size()) == num_blocks && encoded->buffers.size() <= 1;
  return is_whole ? nullptr : "an encoder did not encode each block";
}

HeldChunkEncoder* hold_best_chunks(const std::vector<const LaChunkEncoder*>& encoders) {
  auto form = std::make_shared<BestChunks>(BestChunks{{encoders}});
  return new HeldChunkEncoder{{form.get(), &BestChunks::score, &BestChunks::encode}, form};
}

HeldBlocksEncoder* hold_best_blocks(const std::vector<const LaBlocksEncoder*>& encoders) {
  auto form = std::make_shared<BestBlocks>(BestBlocks{{encoders}});
  return new HeldBlocksEncoder{{form.get(), &BestBlocks::score, &BestBlocks::encode}, form};
}

}  // namespace lance_arrow::engine
