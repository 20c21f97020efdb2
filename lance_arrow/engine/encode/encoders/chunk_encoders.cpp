// Codecs of mini-block chunks of fixed-width values: the same choices and bytes as their Python halves.
#include <algorithm>
#include <bit>

#include "engine/encode/encoders/held_encoders.hpp"
#include "lance_arrow/block_facts.hpp"

namespace lance_arrow::engine {

namespace {

// --- flat -----------------------------------------------------------------------------------------------------------

struct FlatEncoder : Described {
  static constexpr int64_t kChunkBytes = 8185;  // source: spec 10

  static int64_t chunk_values(const LaBlock& block, const LaChunkRules& rules) {
    const int64_t num_bytes = std::min(std::max(kChunkBytes, rules.target_bytes), rules.max_bytes & ~int64_t{7});
    const int64_t found = largest_power_of_two(std::min(8 * num_bytes / block.bits, rules.max_values));
    const int64_t smallest = block.bits == 1 ? 8 : 2;
    return found >= std::min(smallest, std::max<int64_t>(block.num_values, 1)) ? found : 0;
  }

  static double score(const void*, const LaBlock* block, const LaChunkRules* rules) {
    return chunk_values(*block, *rules) == 0 ? LANCE_ARROW_UNFIT : static_cast<double>(block->num_bytes);
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const LaChunkRules* rules, LaEncoded* out) {
    const int64_t most = chunk_values(*block, *rules);
    if (most == 0) return "flat values do not fit the chunks";
    uint8_t* room = out->room(out->host, 0, block->num_bytes);
    if (room == nullptr) return kNoRoom;
    copy_bytes(room, block->values, block->num_bytes);
    const LaRefusal refusal = for_even_chunks(block->num_values, most, [&](int64_t, int64_t count) {
      const int64_t size = (count * block->bits + 7) / 8;
      return out->chunk(out->host, count, &size, 1);
    });
    return refusal != nullptr ? refusal : describe(static_cast<const FlatEncoder*>(self)->description, out);
  }
};

// --- asked ----------------------------------------------------------------------------------------------------------

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

}  // namespace

HeldChunkEncoder* hold_flat_encoder(const std::string& description) {
  return hold_chunk_encoder(std::make_shared<FlatEncoder>(FlatEncoder{{description, {}}}));
}

HeldChunkEncoder* hold_asked_encoder(int64_t least_bytes, int64_t least_values) {
  return hold_chunk_encoder(std::make_shared<AskedEncoder>(AskedEncoder{least_bytes, least_values}));
}

}  // namespace lance_arrow::engine
