// Chunks and blocks that begin with their bit width: the same choices and bytes as in Python.
#include "lance_arrow_codecs/inline_bitpacking/encoder.hpp"

#include "lance_arrow/block_facts.hpp"
#include "lance_arrow_codecs/inline_bitpacking/packing.hpp"

namespace lance_arrow::codecs {

namespace {

struct InlinePacker : Described {
  static int64_t num_bytes(const LaBlock& block) { return block.num_groups * block.bits / 8 + 128 * block.total_bits; }

  static double score(const void* self, const LaBlock* block, const LaChunkRules* rules) {
    const ScoreOptions& options = static_cast<const InlinePacker*>(self)->options;
    if (rules->max_values < kGroupValues || block->num_groups == 0) return LANCE_ARROW_UNFIT;
    if (block->bits / 8 + 128 * block->max_bits > (rules->max_bytes & ~int64_t{7})) return LANCE_ARROW_UNFIT;
    const int64_t size = num_bytes(*block);
    if (options.stores_plainly || size >= block->num_bytes) return LANCE_ARROW_UNFIT;
    return options.factor * static_cast<double>(size);
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const LaChunkRules*, LaEncoded* out) {
    const int64_t size = num_bytes(*block);
    uint8_t* room = out->room(out->host, 0, size);
    if (room == nullptr) return kNoRoom;
    std::vector<int64_t> starts;
    LaRefusal refusal = for_even_chunks(block->num_values, kGroupValues, [&](int64_t first, int64_t count) {
      const int64_t bytes = block->bits / 8 + 128 * block->group_bits[first / kGroupValues];
      starts.push_back(first);
      return out->chunk(out->host, count, &bytes, 1);
    });
    if (refusal != nullptr) return refusal;
    starts.push_back(block->num_values);
    const Parts groups{block->values, block->num_bytes, starts.data(), static_cast<int64_t>(starts.size()) - 1};
    const Outcome outcome = pack_inline(groups, static_cast<int>(block->bits), block->group_bits, room, size);
    return outcome.message != nullptr ? outcome.message
                                      : describe(static_cast<const InlinePacker*>(self)->description, out);
  }
};

struct InlineBlocks : Described {
  // Bits of the largest value of each block; false where a block does not fit one chunk.
  static bool measure(const LaBlock& block, const int64_t* starts, int64_t num_blocks, std::vector<int64_t>* bits) {
    std::vector<int64_t> changes(static_cast<size_t>(num_blocks));
    bits->resize(static_cast<size_t>(num_blocks));
    for (int64_t one = 0; one < num_blocks; ++one)
      if (starts[one + 1] - starts[one] > kGroupValues) return false;
    return measure_groups(parts_of(block, starts, num_blocks), static_cast<int>(block.bits), bits->data(),
                          changes.data())
               .message == nullptr;
  }

  static double score(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks) {
    std::vector<int64_t> bits;
    if (block->num_groups == 0 || !measure(*block, starts, num_blocks, &bits)) return LANCE_ARROW_UNFIT;
    return packed_score(num_blocks * block->bits / 8 + 128 * sum(bits), *block,
                        static_cast<const InlineBlocks*>(self)->options);
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks,
                          LaEncoded* out) {
    std::vector<int64_t> bits;
    if (!measure(*block, starts, num_blocks, &bits)) return "a block does not fit one chunk";
    const int64_t size = num_blocks * block->bits / 8 + 128 * sum(bits);
    uint8_t* room = out->room(out->host, 0, size);
    if (room == nullptr) return kNoRoom;
    const Outcome outcome =
        pack_inline(parts_of(*block, starts, num_blocks), static_cast<int>(block->bits), bits.data(), room, size);
    if (outcome.message != nullptr) return outcome.message;
    for (int64_t& one : bits) one = block->bits / 8 + 128 * one;
    return finish_blocks(starts, num_blocks, bits, static_cast<const InlineBlocks*>(self)->description, out);
  }
};

}  // namespace

HeldChunkEncoder* hold_inline_packer(const std::string& description, const ScoreOptions& options) {
  return hold_chunk_encoder(std::make_shared<InlinePacker>(InlinePacker{{description, options}}));
}

HeldBlocksEncoder* hold_inline_blocks(const std::string& description, const ScoreOptions& options) {
  return hold_blocks_encoder(std::make_shared<InlineBlocks>(InlineBlocks{{description, options}}));
}

}  // namespace lance_arrow::codecs
