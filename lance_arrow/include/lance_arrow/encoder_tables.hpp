// What codecs share that offer encoders (lance_arrow_native.h): tables that own what they point to, scores, chunks of
// equal numbers of values, blocks one behind the other.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "lance_arrow/outcome.hpp"
#include "lance_arrow/parts.hpp"
#include "lance_arrow_native.h"

namespace lance_arrow {

struct HeldChunkEncoder : LaChunkEncoder {
  std::shared_ptr<void> form;
};

struct HeldBlocksEncoder : LaBlocksEncoder {
  std::shared_ptr<void> form;
};

struct HeldPageEncoder : LaPageEncoder {
  std::shared_ptr<void> form;
};

struct HeldFrameEncoder : LaFrameEncoder {
  std::shared_ptr<void> form;
};

template <class Form>
HeldChunkEncoder* hold_chunk_encoder(std::shared_ptr<Form> form) {
  return new HeldChunkEncoder{{form.get(), &Form::score, &Form::encode}, form};
}

template <class Form>
HeldBlocksEncoder* hold_blocks_encoder(std::shared_ptr<Form> form) {
  return new HeldBlocksEncoder{{form.get(), &Form::score, &Form::encode}, form};
}

// How a codec is scored, as by `EncodeOptions`.
struct ScoreOptions {
  double factor = 1.0;  // of encoded bytes, where they compete with plain ones
  bool stores_plainly = false;
  double most_runs = -1.0;  // largest number of runs for each value; negative: any
};

inline constexpr int64_t kGroupValues = 1024;
inline constexpr LaRefusal kNoRoom = "there is no memory for encoded values";

inline int64_t largest_power_of_two(int64_t limit) {
  return limit > 0 ? static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(limit))) : 0;
}

// Calls visit(first, count) for chunks of `chunk_values`, the last one shorter; there is at least one.
template <class Visit>
LaRefusal for_even_chunks(int64_t num_values, int64_t chunk_values, Visit&& visit) {
  int64_t first = 0;
  do {
    const int64_t count = std::min(chunk_values, num_values - first);
    if (const LaRefusal refusal = visit(first, count)) return refusal;
    first += count;
  } while (first < num_values);
  return nullptr;
}

inline LaRefusal describe(const std::string& description, LaEncoded* out) {
  return out->describe(out->host, reinterpret_cast<const uint8_t*>(description.data()),
                       static_cast<int64_t>(description.size()));
}

// What most encoders have; a description is a serialized `CompressiveEncoding`.
struct Described {
  std::string description;
  ScoreOptions options;
};

inline Parts parts_of(const LaBlock& block, const int64_t* starts, int64_t num_blocks) {
  return {block.values, block.num_bytes, starts, num_blocks};
}

inline double packed_score(int64_t size, const LaBlock& block, const ScoreOptions& options) {
  if (options.stores_plainly || size >= block.num_bytes) return LANCE_ARROW_UNFIT;
  return options.factor * static_cast<double>(size);
}

// Ends every block; all are in buffer 0.
inline LaRefusal finish_blocks(const int64_t* starts, int64_t num_blocks, const std::vector<int64_t>& sizes,
                               const std::string& description, LaEncoded* out) {
  for (int64_t block = 0; block < num_blocks; ++block) {
    const int64_t size = sizes[static_cast<size_t>(block)];
    if (const LaRefusal refusal = out->chunk(out->host, starts[block + 1] - starts[block], &size, 1)) return refusal;
  }
  return describe(description, out);
}

inline int64_t sum(const std::vector<int64_t>& numbers) {
  int64_t total = 0;
  for (const int64_t number : numbers) total += number;
  return total;
}

}  // namespace lance_arrow
