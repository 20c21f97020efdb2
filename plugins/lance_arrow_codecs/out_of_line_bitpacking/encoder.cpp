// Blocks of one bit width: the same choices and bytes as in Python.
#include "lance_arrow_codecs/out_of_line_bitpacking/encoder.hpp"

#include "lance_arrow_codecs/out_of_line_bitpacking/packing.hpp"

namespace lance_arrow::codecs {

namespace {

struct PackedBlocks {
  std::vector<std::string> descriptions;
  ScoreOptions options;
  bool packs_zeros;

  static std::vector<int64_t> sizes_of(const LaBlock& block, const int64_t* starts, int64_t num_blocks) {
    std::vector<int64_t> sizes(static_cast<size_t>(num_blocks));
    const int64_t group = 128 * block.max_bits;
    for (size_t one = 0; one < sizes.size(); ++one) {
      const int64_t count = starts[one + 1] - starts[one];
      sizes[one] = count / kGroupValues * group + std::min(count % kGroupValues * block.bits / 8, group);
    }
    return sizes;
  }

  static double score(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks) {
    const auto* own = static_cast<const PackedBlocks*>(self);
    if (block->num_groups == 0 || (block->max_bits == 0 && !own->packs_zeros)) return LANCE_ARROW_UNFIT;
    return packed_score(sum(sizes_of(*block, starts, num_blocks)), *block, own->options);
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks,
                          LaEncoded* out) {
    const auto* own = static_cast<const PackedBlocks*>(self);
    const auto bits = static_cast<size_t>(block->max_bits);
    if (bits >= own->descriptions.size()) return "no description has so many bits";
    const std::vector<int64_t> sizes = sizes_of(*block, starts, num_blocks);
    const int64_t size = sum(sizes);
    uint8_t* room = out->room(out->host, 0, size);
    if (room == nullptr) return kNoRoom;
    const Outcome outcome = pack_out_of_line(parts_of(*block, starts, num_blocks), static_cast<int>(block->bits),
                                             static_cast<int>(block->max_bits), room, size);
    return outcome.message != nullptr ? outcome.message
                                      : finish_blocks(starts, num_blocks, sizes, own->descriptions[bits], out);
  }
};

}  // namespace

HeldBlocksEncoder* hold_packed_blocks(const std::vector<std::string>& descriptions, const ScoreOptions& options,
                                      bool packs_zeros) {
  return hold_blocks_encoder(std::make_shared<PackedBlocks>(PackedBlocks{descriptions, options, packs_zeros}));
}

}  // namespace lance_arrow::codecs
