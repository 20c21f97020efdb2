// Codecs of mini-block chunks of fixed-width values: the same choices and bytes as their Python halves.
#include <algorithm>
#include <bit>

#include "engine/encode/block_facts.hpp"
#include "engine/encode/encoders/held_encoders.hpp"
#include "engine/encode/packing.hpp"
#include "engine/encode/run_encoding.hpp"
#include "engine/encode/stream_samples.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kGroupValues = 1024;
constexpr LaRefusal kNoRoom = "there is no memory for encoded values";

int64_t largest_power_of_two(int64_t limit) {
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

LaRefusal describe(const std::string& description, LaEncoded* out) {
  return out->describe(out->host, reinterpret_cast<const uint8_t*>(description.data()),
                       static_cast<int64_t>(description.size()));
}

struct Described {
  std::string description;
  ScoreOptions options;
};

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

// --- inline bit packing ---------------------------------------------------------------------------------------------

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

// --- runs -----------------------------------------------------------------------------------------------------------

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

// Asked only where compressed byte streams of samples take less than a part of plain or packed values.
struct StreamsAsked {
  int64_t least_bytes;
  double most_part;

  static double score(const void* self, const LaBlock* block, const LaChunkRules* rules) {
    const auto* own = static_cast<const StreamsAsked*>(self);
    const bool is_split = block->bits == 32 || block->bits == 64;
    if (!is_split || block->num_bytes < own->least_bytes) return LANCE_ARROW_UNFIT;
    if (std::min(block->num_values, rules->max_values) < kGroupValues) return LANCE_ARROW_UNFIT;
    const auto plain = static_cast<double>(std::min(block->num_bytes, InlinePacker::num_bytes(*block)));
    const double most = own->most_part * plain / static_cast<double>(block->num_bytes);
    return sampled_stream_part(*block) >= most ? LANCE_ARROW_UNFIT : LANCE_ARROW_ASK;
  }

  static LaRefusal encode(const void*, const LaBlock*, const LaChunkRules*, LaEncoded*) {
    return "compressed byte streams are written in Python";
  }
};

template <class Form>
HeldChunkEncoder* hold_encoder(std::shared_ptr<Form> form) {
  return new HeldChunkEncoder{{form.get(), &Form::score, &Form::encode}, form};
}

}  // namespace

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

HeldChunkEncoder* hold_flat_encoder(const std::string& description) {
  return hold_encoder(std::make_shared<FlatEncoder>(FlatEncoder{{description, {}}}));
}

HeldChunkEncoder* hold_inline_packer(const std::string& description, const ScoreOptions& options) {
  return hold_encoder(std::make_shared<InlinePacker>(InlinePacker{{description, options}}));
}

HeldChunkEncoder* hold_run_encoder(const std::string& description, const ScoreOptions& options) {
  return hold_encoder(std::make_shared<RunEncoder>(RunEncoder{{description, options}}));
}

HeldChunkEncoder* hold_streams_asked(int64_t least_bytes, double most_part) {
  return hold_encoder(std::make_shared<StreamsAsked>(StreamsAsked{least_bytes, most_part}));
}

HeldChunkEncoder* hold_asked_encoder(int64_t least_bytes, int64_t least_values) {
  return hold_encoder(std::make_shared<AskedEncoder>(AskedEncoder{least_bytes, least_values}));
}

}  // namespace lance_arrow::engine
