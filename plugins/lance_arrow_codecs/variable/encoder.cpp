// Chunks and blocks of offsets and bytes: the same choices and bytes as in Python.
#include "lance_arrow_codecs/variable/encoder.hpp"

#include "lance_arrow_codecs/variable/chunks.hpp"

namespace lance_arrow::codecs {

namespace {

StoredOffsets stored(const LaBlock& block) {
  constexpr int64_t width = sizeof(int64_t);
  return {reinterpret_cast<const uint8_t*>(block.offsets), (block.num_values + 1) * width, 64};
}

struct StringChunks {
  std::string description;

  // Values of each chunk; false where two do not fit one.
  static bool plan(const LaBlock& block, const LaChunkRules& rules, std::vector<int64_t>* counts) {
    counts->assign(static_cast<size_t>(std::max<int64_t>(block.num_values / 2 + 1, 1)), 0);
    int64_t num_chunks = 1;
    if (block.num_values > 0) {
      const ChunkLimits limits{rules.target_bytes, rules.max_bytes, rules.max_values};
      const Outcome outcome =
          plan_variable_chunks(stored(block), block.num_bytes, static_cast<int>(block.offset_bits), limits,
                               counts->data(), static_cast<int64_t>(counts->size()), &num_chunks);
      if (outcome.message != nullptr || num_chunks < 0) return false;
    }
    counts->resize(static_cast<size_t>(num_chunks));
    return true;
  }

  static double score(const void*, const LaBlock* block, const LaChunkRules* rules) {
    std::vector<int64_t> counts;
    if (block->bits != 0 || !plan(*block, *rules, &counts)) return LANCE_ARROW_UNFIT;
    const int64_t num_offsets = block->num_values + 2 * static_cast<int64_t>(counts.size());
    return static_cast<double>(block->num_bytes + num_offsets * (block->offset_bits / 8));
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const LaChunkRules* rules, LaEncoded* out) {
    std::vector<int64_t> counts;
    if (block->bits != 0 || !plan(*block, *rules, &counts)) return "two strings do not fit a chunk";
    const auto num_chunks = static_cast<int64_t>(counts.size());
    const int64_t width = block->offset_bits / 8;
    int64_t num_bytes = 0, first = 0;
    for (const int64_t count : counts) {
      num_bytes += padded((count + 1) * width + block->offsets[first + count] - block->offsets[first], width);
      first += count;
    }
    uint8_t* room = out->room(out->host, 0, num_bytes);
    if (room == nullptr) return kNoRoom;
    std::vector<int64_t> sizes(counts.size());
    int64_t total = 0;
    const Outcome outcome =
        write_variable_chunks(stored(*block), block->values, block->num_bytes, counts.data(), num_chunks,
                              static_cast<int>(block->offset_bits), sizes.data(), room, num_bytes, &total);
    if (outcome.message != nullptr) return outcome.message;
    for (size_t chunk = 0; chunk < counts.size(); ++chunk)
      if (const LaRefusal refusal = out->chunk(out->host, counts[chunk], &sizes[chunk], 1)) return refusal;
    return describe(static_cast<const StringChunks*>(self)->description, out);
  }
};

// A header of two words (bits of an offset, place of the bytes), offsets from 0, bytes. Source: spec 5.2.
struct StringBlocks {
  std::string description;

  static int64_t size_of(const LaBlock& block, int64_t start, int64_t stop) {
    return (stop - start + 3) * (block.offset_bits / 8) + block.offsets[stop] - block.offsets[start];
  }

  static double score(const void*, const LaBlock* block, const int64_t* starts, int64_t num_blocks) {
    if (block->bits != 0) return LANCE_ARROW_UNFIT;
    int64_t size = 0;
    for (int64_t one = 0; one < num_blocks; ++one) size += size_of(*block, starts[one], starts[one + 1]);
    return static_cast<double>(size);
  }

  template <class Offset>
  static void write(const LaBlock& block, int64_t start, int64_t stop, uint8_t* to) {
    constexpr int64_t width = sizeof(Offset);
    const int64_t header = (stop - start + 3) * width, base = block.offsets[start];
    store<Offset>(to, 0, static_cast<Offset>(block.offset_bits));
    store<Offset>(to, 1, static_cast<Offset>(header));
    for (int64_t value = start; value <= stop; ++value)
      store<Offset>(to, 2 + value - start, static_cast<Offset>(block.offsets[value] - base));
    copy_bytes(to + header, block.values + base, block.offsets[stop] - base);
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks,
                          LaEncoded* out) {
    if (block->bits != 0) return "a block of strings has no fixed width";
    for (int64_t one = 0; one < num_blocks; ++one) {
      const int64_t start = starts[one], stop = starts[one + 1], size = size_of(*block, start, stop);
      if (block->offset_bits == 32 && size > INT32_MAX) return "a block is too large for its offsets";
      uint8_t* room = out->room(out->host, 0, size);
      if (room == nullptr) return kNoRoom;
      if (block->offset_bits == 32) write<uint32_t>(*block, start, stop, room);
      else write<uint64_t>(*block, start, stop, room);
      if (const LaRefusal refusal = out->chunk(out->host, stop - start, &size, 1)) return refusal;
    }
    return describe(static_cast<const StringBlocks*>(self)->description, out);
  }
};

}  // namespace

HeldChunkEncoder* hold_string_encoder(const std::string& description) {
  auto form = std::make_shared<StringChunks>(StringChunks{description});
  return hold_chunk_encoder(form);
}

HeldBlocksEncoder* hold_string_blocks(const std::string& description) {
  auto form = std::make_shared<StringBlocks>(StringBlocks{description});
  return hold_blocks_encoder(form);
}

}  // namespace lance_arrow::codecs
