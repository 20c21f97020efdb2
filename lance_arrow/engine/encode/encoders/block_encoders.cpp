// Codecs of many blocks of one description, such as the levels of chunks: the same bytes as their Python halves.
#include "engine/encode/encoders/held_encoders.hpp"

namespace lance_arrow::engine {

namespace {

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

HeldBlocksEncoder* hold_flat_blocks(const std::string& description) {
  return hold_blocks_encoder(std::make_shared<FlatBlocks>(FlatBlocks{{description, {}}}));
}

}  // namespace lance_arrow::engine
