// Codecs of many blocks of one description, such as the levels of chunks: the same bytes as their Python halves.
#include <algorithm>

#include "engine/encode/encoders/held_encoders.hpp"
#include "engine/encode/packing.hpp"
#include "engine/encode/run_encoding.hpp"
#include "engine/encode/summaries.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kGroupValues = 1024;
constexpr LaRefusal kNoRoom = "there is no memory for encoded blocks";

struct Described {
  std::string description;
  ScoreOptions options;
};

Parts parts_of(const LaBlock& block, const int64_t* starts, int64_t num_blocks) {
  return {block.values, block.num_bytes, starts, num_blocks};
}

double packed_score(int64_t size, const LaBlock& block, const ScoreOptions& options) {
  if (options.stores_plainly || size >= block.num_bytes) return LANCE_ARROW_UNFIT;
  return options.factor * static_cast<double>(size);
}

// Ends every block; all are in buffer 0.
LaRefusal finish(const int64_t* starts, int64_t num_blocks, const std::vector<int64_t>& sizes,
                 const std::string& description, LaEncoded* out) {
  for (int64_t block = 0; block < num_blocks; ++block) {
    const int64_t size = sizes[static_cast<size_t>(block)];
    if (const LaRefusal refusal = out->chunk(out->host, starts[block + 1] - starts[block], &size, 1)) return refusal;
  }
  return out->describe(out->host, reinterpret_cast<const uint8_t*>(description.data()),
                       static_cast<int64_t>(description.size()));
}

int64_t sum(const std::vector<int64_t>& numbers) {
  int64_t total = 0;
  for (const int64_t number : numbers) total += number;
  return total;
}

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
    return finish(starts, num_blocks, sizes, static_cast<const FlatBlocks*>(self)->description, out);
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
    return finish(starts, num_blocks, bits, static_cast<const InlineBlocks*>(self)->description, out);
  }
};

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
                                      : finish(starts, num_blocks, sizes, own->descriptions[bits], out);
  }
};

struct RunBlocks : Described {
  static constexpr int64_t kHeaderBytes = 8;

  static double score(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks) {
    if (block->num_groups == 0) return LANCE_ARROW_UNFIT;
    return score_runs(*block, starts, num_blocks, kHeaderBytes * num_blocks,
                      static_cast<const RunBlocks*>(self)->options);
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks,
                          LaEncoded* out) {
    const Parts parts = parts_of(*block, starts, num_blocks);
    const int64_t width = block->bits / 8;
    std::vector<int64_t> sizes(static_cast<size_t>(num_blocks));
    Outcome outcome = count_run_entries(parts, width, sizes.data());
    if (outcome.message != nullptr) return outcome.message;
    const int64_t size = sum(sizes) * (width + 1) + kHeaderBytes * num_blocks;
    uint8_t* room = out->room(out->host, 0, size);
    if (room == nullptr) return kNoRoom;
    int64_t total = 0;
    outcome = encode_run_blocks(parts, width, sizes.data(), room, size, &total);
    return outcome.message != nullptr
               ? outcome.message
               : finish(starts, num_blocks, sizes, static_cast<const RunBlocks*>(self)->description, out);
  }
};

template <class Form>
HeldBlocksEncoder* hold_blocks(std::shared_ptr<Form> form) {
  return new HeldBlocksEncoder{{form.get(), &Form::score, &Form::encode}, form};
}

}  // namespace

HeldBlocksEncoder* hold_flat_blocks(const std::string& description) {
  return hold_blocks(std::make_shared<FlatBlocks>(FlatBlocks{{description, {}}}));
}

HeldBlocksEncoder* hold_inline_blocks(const std::string& description, const ScoreOptions& options) {
  return hold_blocks(std::make_shared<InlineBlocks>(InlineBlocks{{description, options}}));
}

HeldBlocksEncoder* hold_run_blocks(const std::string& description, const ScoreOptions& options) {
  return hold_blocks(std::make_shared<RunBlocks>(RunBlocks{{description, options}}));
}

HeldBlocksEncoder* hold_packed_blocks(const std::vector<std::string>& descriptions, const ScoreOptions& options,
                                      bool packs_zeros) {
  return hold_blocks(std::make_shared<PackedBlocks>(PackedBlocks{descriptions, options, packs_zeros}));
}

}  // namespace lance_arrow::engine
