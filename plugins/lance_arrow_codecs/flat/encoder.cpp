// Chunks and blocks of values back to back: the same choices and bytes as in Python.
#include "lance_arrow_codecs/flat/encoder.hpp"

namespace lance_arrow::codecs {

namespace {

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

struct FlatBlocks : Described {
  static double score(const void*, const LaBlock* block, const int64_t*, int64_t) {
    return block->bits == 1 ? LANCE_ARROW_UNFIT : static_cast<double>(block->num_bytes);
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks,
                          LaEncoded* out) {
    uint8_t* room = out->room(out->host, 0, block->num_bytes);
    if (room == nullptr) return kNoRoom;
    copy_bytes(room, block->values, block->num_bytes);
    std::vector<int64_t> sizes(static_cast<size_t>(num_blocks));
    for (size_t one = 0; one < sizes.size(); ++one) sizes[one] = (starts[one + 1] - starts[one]) * block->bits / 8;
    return finish_blocks(starts, num_blocks, sizes, static_cast<const FlatBlocks*>(self)->description, out);
  }
};

}  // namespace

HeldChunkEncoder* hold_flat_encoder(const std::string& description) {
  return hold_chunk_encoder(std::make_shared<FlatEncoder>(FlatEncoder{{description, {}}}));
}

HeldBlocksEncoder* hold_flat_blocks(const std::string& description) {
  return hold_blocks_encoder(std::make_shared<FlatBlocks>(FlatBlocks{{description, {}}}));
}

}  // namespace lance_arrow::codecs
