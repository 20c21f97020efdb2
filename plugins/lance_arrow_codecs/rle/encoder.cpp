// Chunks and blocks of runs: the same choices and bytes as in Python.
#include "lance_arrow_codecs/rle/encoder.hpp"

#include "lance_arrow/block_facts.hpp"
#include "lance_arrow_codecs/rle/encoding.hpp"

namespace lance_arrow::codecs {

namespace {

// The score of runs that end at the borders of parts.
double score_runs(const LaBlock& block, const int64_t* starts, int64_t num_parts, int64_t header_bytes,
                  const ScoreOptions& options) {
  constexpr int64_t longest_run = 255;
  const int64_t width = block.bits / 8;
  const int64_t least = block.num_runs * (width + 1) + header_bytes;
  const bool is_unwanted = options.stores_plainly ||
                           (options.most_runs >= 0 && static_cast<double>(block.num_runs) >=
                                                          options.most_runs * static_cast<double>(block.num_values));
  if (is_unwanted || least >= block.num_bytes) return LANCE_ARROW_UNFIT;
  // A border of parts splits one run, and every 255 more values need one more. If that decides, they are counted.
  int64_t entries = block.num_runs + num_parts - 1 + block.num_values / longest_run;
  const int64_t packed = block.num_groups * width + 128 * block.total_bits;
  const int64_t most = std::min(block.num_bytes, packed);
  if (least < most && most <= entries * (width + 1) + header_bytes) {
    std::vector<int64_t> counts(static_cast<size_t>(num_parts));
    const Parts parts{block.values, block.num_bytes, starts, num_parts};
    if (count_run_entries(parts, width, counts.data()).message != nullptr) return LANCE_ARROW_ASK;
    entries = 0;
    for (const int64_t count : counts) entries += count;
  }
  const int64_t size = entries * (width + 1) + header_bytes;
  if (size >= block.num_bytes) return LANCE_ARROW_UNFIT;
  return options.factor * std::max(static_cast<double>(size) - 0.5, 0.0);
}

struct RunEncoder : Described {
  static constexpr int64_t kChunkValues = 4096;
  static constexpr int64_t kMostChunkBytes = 8184;
  static constexpr int64_t kLeastChunkBytes = 24;
  static constexpr int64_t kLeastChunkValues = 2;

  static int64_t chunk_values(const LaChunkRules& rules) {
    return rules.max_bytes >= kLeastChunkBytes ? largest_power_of_two(std::min(kChunkValues, rules.max_values)) : 0;
  }

  // The block, with nulls as part of the run before them where that pays off.
  struct Filled {
    const LaBlock* block = nullptr;

    Outcome fill(const LaBlock& given) {
      block = &given;
      const int64_t packed = given.num_groups * given.bits / 8 + 128 * given.total_bits;
      const bool has_both = 0 < given.num_nulls && given.num_nulls < given.num_values;
      if (!has_both || !filling_pays_off(given, std::min(given.num_bytes, packed))) return success();
      const int64_t width = given.bits / 8;
      values_.assign(given.values, given.values + given.num_bytes);
      int64_t before = 0;
      while ((given.present[before / 8] >> (before % 8) & 1) == 0) ++before;
      for (int64_t at = 0; at < given.num_values; ++at) {
        if ((given.present[at / 8] >> (at % 8) & 1) != 0) before = at;
        copy_bytes(values_.data() + at * width, given.values + before * width, width);
      }
      block = &facts_.block;
      return facts_.set(values_.data(), given.bits, given.num_values);
    }

   private:
    std::vector<uint8_t> values_;
    FactsOfBlock facts_;
  };

  // Whether runs over nulls are smaller than other codecs, by a sample.
  static bool filling_pays_off(const LaBlock& block, int64_t most_bytes) {
    constexpr int64_t num_samples = 16, sampled = 512;
    const int64_t run_bytes = block.bits / 8 + 1, num_values = block.num_values;
    // A null ends at most one run and begins at most one.
    if ((block.num_runs - 2 * block.num_nulls) * run_bytes >= most_bytes) return false;
    int64_t runs = 0, values = 0;
    const int64_t step = std::max(num_values / num_samples, sampled);
    for (int64_t first = 0; first < num_values; first += step) {
      const int64_t stop = std::min(first + sampled, num_values);
      runs += filled_runs(block, first, stop);
      values += stop - first;
    }
    const double expected = static_cast<double>(runs) / static_cast<double>(values) * static_cast<double>(num_values);
    return expected * static_cast<double>(run_bytes) < static_cast<double>(most_bytes);
  }

  // Runs of the values that are not null; values under nulls are zero, and one run.
  static int64_t filled_runs(const LaBlock& block, int64_t first, int64_t stop) {
    const int64_t width = block.bits / 8;
    int64_t runs = 0, before = -1;
    const auto differ = [&](int64_t one, int64_t other) {
      // Words need no call.
      if (width == 8) return load<uint64_t>(block.values, one) != load<uint64_t>(block.values, other);
      return std::memcmp(block.values + one * width, block.values + other * width, static_cast<size_t>(width)) != 0;
    };
    for (int64_t at = first; at < stop; ++at) {
      if ((block.present[at / 8] >> (at % 8) & 1) == 0) continue;
      runs += before < 0 || differ(at, before);
      before = at;
    }
    return std::max<int64_t>(runs, 1);
  }

  static double score(const void* self, const LaBlock* block, const LaChunkRules* rules) {
    const int64_t most = chunk_values(*rules);
    if (most < kLeastChunkValues || block->num_groups == 0) return LANCE_ARROW_UNFIT;
    Filled filled;
    if (filled.fill(*block).message != nullptr) return LANCE_ARROW_ASK;
    block = filled.block;
    std::vector<int64_t> starts;
    for_even_chunks(block->num_values, most, [&](int64_t first, int64_t) {
      starts.push_back(first);
      return LaRefusal{nullptr};
    });
    starts.push_back(block->num_values);
    return score_runs(*block, starts.data(), static_cast<int64_t>(starts.size()) - 1, 0,
                      static_cast<const RunEncoder*>(self)->options);
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const LaChunkRules* rules, LaEncoded* out) {
    const int64_t most = chunk_values(*rules), width = block->bits / 8;
    if (most < kLeastChunkValues) return "runs do not fit the chunks";
    Filled filled;
    if (const Outcome outcome = filled.fill(*block); outcome.message != nullptr) return outcome.message;
    block = filled.block;
    const int64_t most_bytes = std::min(kMostChunkBytes, rules->max_bytes);
    std::vector<uint8_t> values, lengths;
    const LaRefusal refusal = for_even_chunks(block->num_values, most, [&](int64_t first, int64_t count) -> LaRefusal {
      const int64_t ends[2] = {first, first + count};
      const Parts part{block->values, block->num_bytes, ends, 1};
      int64_t entries = 0, total = 0;
      Outcome outcome = count_run_entries(part, width, &entries);
      if (outcome.message != nullptr) return outcome.message;
      const int64_t padded = ((entries * width + 7) & ~int64_t{7}) + ((entries + 7) & ~int64_t{7});
      // Such chunks are cut in two: few pages have them.
      if (padded > most_bytes && count > kLeastChunkValues) return "a chunk has too many runs";
      values.resize(static_cast<size_t>(entries * width));
      lengths.resize(static_cast<size_t>(entries));
      outcome = encode_runs(part, width, values.data(), lengths.data(), entries, &entries, &total);
      if (outcome.message != nullptr) return outcome.message;
      const int64_t sizes[2] = {entries * width, entries};
      for (int buffer = 0; buffer < 2; ++buffer) {
        uint8_t* room = out->room(out->host, buffer, sizes[buffer]);
        if (room == nullptr) return kNoRoom;
        copy_bytes(room, buffer == 0 ? values.data() : lengths.data(), sizes[buffer]);
      }
      return out->chunk(out->host, count, sizes, 2);
    });
    return refusal != nullptr ? refusal : describe(static_cast<const RunEncoder*>(self)->description, out);
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
               : finish_blocks(starts, num_blocks, sizes, static_cast<const RunBlocks*>(self)->description, out);
  }
};

}  // namespace

HeldChunkEncoder* hold_run_encoder(const std::string& description, const ScoreOptions& options) {
  return hold_chunk_encoder(std::make_shared<RunEncoder>(RunEncoder{{description, options}}));
}

HeldBlocksEncoder* hold_run_blocks(const std::string& description, const ScoreOptions& options) {
  return hold_blocks_encoder(std::make_shared<RunBlocks>(RunBlocks{{description, options}}));
}

}  // namespace lance_arrow::codecs
