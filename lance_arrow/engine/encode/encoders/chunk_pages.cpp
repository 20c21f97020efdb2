// Pages of chunks of 2.1 and 2.2, with the same choices and bytes as in Python.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "engine/common/layer_kinds.hpp"
#include "engine/encode/chunk_writing.hpp"
#include "engine/encode/distinct.hpp"
#include "engine/encode/encoders/page_writing.hpp"
#include "lance_arrow/block_facts.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kMaxStreamBytes = 0xFFFF;
constexpr int64_t kMaxSmallChunk = 32 << 10;
constexpr int64_t kZippedFromBytes = 256;

struct ChunkPages : ChunkPageForm {
  static constexpr int64_t kFewestValues = 32;

  // How many entries always fit a chunk: as they are, or packed in whole groups with the bits of the largest level.
  // Source: `pages.level_writing.max_chunk_entries`.
  int64_t most_entries(const LaPage& page, const LaChunkRules& of) const {
    constexpr int64_t header = 16, group_values = 1024, run_bytes = 3;
    const int64_t room = large ? 2 * kMaxSmallChunk * 64 : kMaxSmallChunk - header - padded(of.max_bytes);
    const int64_t stream_bytes = room / 2;
    const int64_t bits =
        std::max<int64_t>(std::bit_width(static_cast<uint64_t>(std::max(page.max_rep, page.max_def))), 1);
    const int64_t packed = stream_bytes / (group_values / 8 * bits) * group_values;
    return std::min(std::max(stream_bytes / 2, packed), kMaxStreamBytes / run_bytes);
  }

  // Whether any `most` entries have more than `num_values` values, as blocks of entries tell, which is soon known.
  static bool has_many_values(const LaPage& page, int64_t most, int64_t num_values) {
    constexpr int64_t block_entries = 2048;
    // So many whole blocks lie within the entries, wherever these begin.
    const int64_t num_blocks = (most + 1) / block_entries - 1;
    if (num_blocks < 1 || page.def_levels == nullptr) return false;
    std::vector<int64_t> sums{0};
    for (int64_t first = 0; first + block_entries <= page.num_entries; first += block_entries) {
      uint16_t count = 0;
      for (int64_t entry = first; entry < first + block_entries; ++entry)
        count += page.def_levels[entry] <= static_cast<uint16_t>(page.max_visible);
      sums.push_back(sums.back() + count);
      const auto last = static_cast<int64_t>(sums.size()) - 1;
      if (last >= num_blocks && sums.back() - sums[static_cast<size_t>(last - num_blocks)] <= num_values) return false;
    }
    return true;
  }

  // Limits the values of a chunk so that its entries fit; false if there are too many entries between values.
  bool limit_values(const LaPage& page, LaChunkRules* of) const {
    if (page.rep_levels == nullptr) return true;
    const int64_t num_values = page.values->num_values, most = most_entries(page, *of);
    if (page.num_entries <= most || of->max_values + page.num_entries - num_values <= most) return true;
    if (has_many_values(page, most, of->max_values)) return true;
    std::vector<int64_t> visible;
    visible.reserve(static_cast<size_t>(num_values));
    for (int64_t entry = 0; entry < page.num_entries; ++entry)
      if (page.def_levels == nullptr || page.def_levels[entry] <= page.max_visible) visible.push_back(entry);
    const auto longest = [&](int64_t values) {
      const int64_t count = std::min(values, num_values);
      int64_t found = 0, before = -1;
      for (int64_t first = 0; first + count <= num_values; ++first) {
        const bool is_last = first + count == num_values;
        const int64_t end = is_last ? page.num_entries - 1 : visible[static_cast<size_t>(first + count - 1)];
        found = std::max(found, end - before);
        before = visible[static_cast<size_t>(first)];
      }
      return found;
    };
    const int64_t fewest = std::min(kFewestValues, of->max_values);
    while (of->max_values >= 2 && longest(of->max_values) > most) of->max_values /= 2;
    return of->max_values >= std::max<int64_t>(fewest, 2);
  }

  // Whether a dictionary is no choice: there are too many distinct values, or its indices alone are too large.
  bool has_no_dictionary(const LaPage& page, const LaPageHost& host) const {
    const LaBlock& values = *page.values;
    const bool is_candidate =
        std::find(dictionary_bits.begin(), dictionary_bits.end(), values.bits) != dictionary_bits.end();
    if (!is_candidate || values.num_values < dictionary_values) return true;
    constexpr int64_t most = 100000;
    const int64_t most_items = std::min(values.num_values / dictionary_divisor, most);
    std::vector<uint32_t> indices(static_cast<size_t>(values.num_values));
    std::vector<int64_t> firsts(static_cast<size_t>(most_items));
    int64_t num_items = 0;
    const DistinctOut out{indices.data(), values.num_values, firsts.data(), most_items};
    const Outcome outcome =
        index_fixed(values.values, values.num_bytes, values.bits / 8, page.value_levels, out, &num_items);
    if (outcome.message != nullptr) return false;
    if (num_items <= 0) return true;  // all are null, or there are too many
    const double estimate = host.estimate_chunks(host.host, &values, &rules);
    if (estimate == LANCE_ARROW_ASK) return false;
    const auto raw = static_cast<double>(values.num_bytes);
    const double most_bytes = std::min(dictionary_ratio * raw, estimate < 0 ? raw : estimate);
    const bool compresses = compresses_indices || values.num_runs * 4 < values.num_values;
    if (values.num_groups > 0 && most_bytes < raw / 4 && !compresses) {
      // Bit-packed values are small too: indices must be much smaller.
      const double bits = std::ceil(packed_ratio * 8 * most_bytes / static_cast<double>(values.num_values)) - 1;
      if (bits < 1 || num_items > int64_t{1} << static_cast<int>(bits)) return true;
    }
    FactsOfBlock of_indices;
    if (of_indices.set(reinterpret_cast<const uint8_t*>(indices.data()), 32, values.num_values).message != nullptr)
      return false;
    // Plain, packed, or runs, which may go over nulls: none of these is smaller, and the items come on top. Larger ones
    // may be compressed.
    const LaBlock& own = of_indices.block;
    if (values.num_values >= 1024 || compresses_indices) return false;
    const auto packed = static_cast<double>(4 * own.num_groups + 128 * own.total_bits);
    const double runs = 5 * static_cast<double>(std::max<int64_t>(own.num_runs - 2 * values.num_nulls, 1)) - 0.5;
    return std::min({static_cast<double>(own.num_bytes), packed, runs}) >= most_bytes;
  }

  // Strings: distinct values once, and an index for each value.
  struct Dictionary {
    std::vector<uint32_t> indices;
    std::vector<int64_t> offsets;
    ByteVector bytes;
    FactsOfBlock of_indices, of_items;
    LaBlock& index_block() { return of_indices.block; }
    int64_t num_items() const { return of_items.block.num_values; }

    // False without items, or with more than `most_items`.
    bool fill(const LaPage& page, int64_t most_items) {
      const LaBlock& values = *page.values;
      indices.resize(static_cast<size_t>(values.num_values));
      std::vector<int64_t> firsts(static_cast<size_t>(most_items));
      int64_t num_items = 0;
      const DistinctOut out{indices.data(), values.num_values, firsts.data(), most_items};
      constexpr int64_t width = sizeof(int64_t);
      const Outcome outcome =
          index_variable(reinterpret_cast<const uint8_t*>(values.offsets), (values.num_values + 1) * width, 64,
                         values.values, values.num_bytes, page.value_levels, out, &num_items);
      if (outcome.message != nullptr || num_items <= 0) return false;
      offsets.assign(1, 0);
      for (int64_t item = 0; item < num_items; ++item) {
        const int64_t at = firsts[static_cast<size_t>(item)];
        bytes.insert(bytes.end(), values.values + values.offsets[at], values.values + values.offsets[at + 1]);
        offsets.push_back(static_cast<int64_t>(bytes.size()));
      }
      of_items.set_strings(bytes.data(), offsets.data(), values.offset_bits, num_items);
      const auto* words = reinterpret_cast<const uint8_t*>(indices.data());
      if (of_indices.set(words, 32, values.num_values).message != nullptr) return false;
      of_indices.block.present = values.present;
      of_indices.block.num_nulls = values.num_nulls;
      return true;
    }
  };

  // Whether the dictionary is smaller; LANCE_ARROW_ASK, or the number of its items, 0 for none.
  double choose_dictionary(const LaPage& page, const LaPageHost& host, Dictionary* dictionary) const {
    const LaBlock& values = *page.values;
    constexpr int64_t most = 100000;
    const bool is_candidate = std::find(dictionary_bits.begin(), dictionary_bits.end(), 0) != dictionary_bits.end();
    if (!is_candidate || values.num_values < dictionary_values) return 0;
    if (!dictionary->fill(page, std::min(values.num_values / dictionary_divisor, most))) return 0;
    if (indices == nullptr || items == nullptr) return LANCE_ARROW_ASK;
    const auto raw = static_cast<double>(raw_bytes(values));
    const double plain = host.estimate_chunks(host.host, &values, &estimate_rules);
    if (plain == LANCE_ARROW_ASK) return plain;
    const double most_bytes = dictionary_ratio * raw;
    const auto offsets_bytes = static_cast<double>(values.num_values * (values.offset_bits / 8));
    const auto is_smaller = [&](double num_bytes) {
      return (num_bytes < std::min(most_bytes, offsets_bytes) && !compresses_strings) ||
             num_bytes < std::min(most_bytes, plain < 0 ? raw : plain);
    };
    const LaBlock* own = &dictionary->index_block();
    const double of_indices = indices->score(indices->self, own, &estimate_rules);
    if (of_indices == LANCE_ARROW_ASK) return of_indices;
    const double num_bytes = of_indices < 0 ? static_cast<double>(own->num_bytes) : of_indices;
    // Whatever the items take.
    if (!is_smaller(num_bytes)) return 0;
    const LaBlock* of_items = &dictionary->of_items.block;
    const int64_t whole[2] = {0, of_items->num_values};
    const double encoded = large ? items->score(items->self, of_items, whole, 1) : LANCE_ARROW_UNFIT;
    if (encoded == LANCE_ARROW_ASK) return encoded;
    const auto item_bytes = static_cast<double>(raw_bytes(*of_items));
    const bool is_better = is_smaller(num_bytes + (encoded < 0 ? item_bytes : std::min(item_bytes, encoded)));
    return is_better ? static_cast<double>(dictionary->num_items()) : 0;
  }

  double score_strings(const LaPage& page, const LaPageHost& host) const {
    const LaBlock& values = *page.values;
    LaChunkRules own_rules = rules, of_indices = index_rules;
    const bool fits = limit_values(page, &own_rules);
    const double estimate = fits ? host.estimate_chunks(host.host, &values, &own_rules) : LANCE_ARROW_UNFIT;
    if (estimate == LANCE_ARROW_ASK) return estimate;
    Dictionary dictionary;
    const double num_items = choose_dictionary(page, host, &dictionary);
    if (num_items == LANCE_ARROW_ASK) return num_items;
    if (num_items > 0)
      return limit_values(page, &of_indices) ? static_cast<double>(raw_bytes(values)) : LANCE_ARROW_UNFIT;
    if (estimate < 0) return estimate;
    // A row in a chunk of few large values costs more to read.
    constexpr double penalty = 4.0;
    return static_cast<double>(raw_bytes(values)) * (values.max_value_bytes < zipped_from_bytes ? 1.0 : penalty);
  }

  static double score(const void* self, const LaPage* page, const LaPageHost* host) {
    const auto* own = static_cast<const ChunkPages*>(self);
    if (page->values->num_values == 0) return LANCE_ARROW_UNFIT;
    if (page->values->bits == 0) return own->score_strings(*page, *host);
    if (page->values->bits >= 8 * kZippedFromBytes) return LANCE_ARROW_ASK;
    if (!own->has_no_dictionary(*page, *host)) return LANCE_ARROW_ASK;
    LaChunkRules own_rules = own->rules;
    if (!own->limit_values(*page, &own_rules)) return LANCE_ARROW_UNFIT;
    const double estimate = host->estimate_chunks(host->host, page->values, &own_rules);
    return estimate < 0 ? estimate : static_cast<double>(page->values->num_bytes);
  }

  static LaRefusal encode(const void* self, const LaPage* page, const LaPageHost* host, LaEncoded* out) {
    return static_cast<const ChunkPages*>(self)->write(*page, *host, *out);
  }

  LaRefusal write(const LaPage& page, const LaPageHost& host, LaEncoded& out) const {
    Encoded values, rep, def, of_items;
    LaEncoded into = values.face();
    Dictionary dictionary;
    const double num_items = page.values->bits == 0 ? choose_dictionary(page, host, &dictionary) : 0;
    if (num_items < 0) return "only Python knows whether there is a dictionary";
    LaChunkRules chunk_rules = num_items > 0 ? index_rules : rules;
    if (!limit_values(page, &chunk_rules)) return "too many entries lie between values";
    if (num_items > 0) {
      const LaBlock* own = &dictionary.index_block();
      if (const LaRefusal refusal = indices->encode(indices->self, own, &chunk_rules, &into)) return refusal;
      if (!values.is_whole(own->num_values)) return "an encoder wrote no whole chunks";
      if (const LaRefusal refusal = encode_items(dictionary, &of_items)) return refusal;
    } else if (const LaRefusal refusal = host.encode_chunks(host.host, page.values, &chunk_rules, &into)) {
      return refusal;
    }
    const auto num_chunks = static_cast<int64_t>(values.counts.size());
    std::vector<int64_t> starts{0}, num_levels(values.counts.size(), 0), index;
    for (const int64_t count : values.counts) {
      if (count > chunk_rules.max_values) return "an encoder cut chunks that break the rules";
      starts.push_back(starts.back() + count);
    }
    ChunkWriting writing{num_levels.data(), {}, {}, values.counts.data(), num_chunks, large};
    if (page.rep_levels != nullptr) {
      const std::vector<int64_t> value_starts = starts;
      index.resize(2 * values.counts.size());
      const LevelCut cut{page.rep_levels, page.def_levels, page.num_entries, static_cast<int>(page.max_rep),
                         static_cast<int>(page.max_visible)};
      const Outcome outcome = cut_levels(cut, value_starts.data(), num_chunks, starts.data(), index.data());
      if (outcome.message != nullptr) return outcome.message;
    }
    for (const auto& [given, encoded] : {std::pair{page.rep_levels, &rep}, std::pair{page.def_levels, &def}}) {
      if (given == nullptr) continue;
      FactsOfBlock of_levels;
      const Outcome outcome = of_levels.set(reinterpret_cast<const uint8_t*>(given), 16, page.num_entries);
      if (outcome.message != nullptr) return outcome.message;
      into = encoded->face();
      const LaRefusal refusal = host.encode_blocks(host.host, &of_levels.block, starts.data(), num_chunks, &into);
      if (refusal != nullptr) return refusal;
      if (encoded->buffers.size() != 1) return "levels have no bytes";
      for (size_t chunk = 0; chunk < num_levels.size(); ++chunk) num_levels[chunk] = starts[chunk + 1] - starts[chunk];
      writing.levels.push_back(part_of(*encoded, 0));
    }
    for (size_t buffer = 0; buffer < values.buffers.size(); ++buffer) writing.values.push_back(part_of(values, buffer));
    int64_t num_bytes = 0;
    if (const LaRefusal refusal = measure(writing, &num_bytes)) return refusal;
    const int64_t words_bytes = num_chunks * (large ? 4 : 2);
    uint8_t* chunks = out.room(out.host, 1, num_bytes);
    if (chunks == nullptr) return kNoRoomForPage;
    ByteVector table(static_cast<size_t>(words_bytes));
    const Outcome outcome = write_chunks(writing, table.data(), words_bytes, chunks, num_bytes);
    if (outcome.message != nullptr) return outcome.message;
    uint8_t* words = out.room(out.host, 0, words_bytes);
    if (words == nullptr) return kNoRoomForPage;
    copy_bytes(words, table.data(), words_bytes);
    int64_t buffer = 2;
    if (num_items > 0) {
      const ByteVector none;
      const ByteVector& bytes = of_items.buffers.empty() ? none : of_items.buffers[0];
      if (const LaRefusal refusal = put_buffer(out, buffer++, bytes.data(), bytes.size())) return refusal;
    }
    if (!index.empty())
      if (const LaRefusal refusal = put_buffer(out, buffer, index.data(), sizeof(int64_t) * index.size()))
        return refusal;
    return describe_page(message(page, values, rep, def, of_items, static_cast<uint64_t>(num_items)), &out);
  }

  LaRefusal encode_items(Dictionary& dictionary, Encoded* out) const {
    const LaBlock* block = &dictionary.of_items.block;
    const int64_t whole[2] = {0, block->num_values};
    LaEncoded into = out->face();
    if (const LaRefusal refusal = items->encode(items->self, block, whole, 1, &into)) return refusal;
    const bool is_one = out->is_whole(block->num_values) && out->buffers.size() <= 1;
    return is_one ? nullptr : "an encoder did not encode one block";
  }

  static ChunkPart part_of(const Encoded& of, size_t buffer) {
    return {of.buffers[buffer].data(), static_cast<int64_t>(of.buffers[buffer].size()), of.sizes[buffer].data(), 0};
  }

  // Bytes of all chunks; refuses parts that are too large for their words or headers, which Python cuts smaller.
  LaRefusal measure(const ChunkWriting& writing, int64_t* num_bytes) const {
    const auto num_levels = static_cast<int64_t>(writing.levels.size());
    const int64_t header = padded(2 + 2 * num_levels + (large ? 4 : 2) * static_cast<int64_t>(writing.values.size()));
    for (int64_t chunk = 0; chunk < writing.num_chunks; ++chunk) {
      int64_t size = header;
      for (const ChunkPart& part : writing.levels) {
        if (part.sizes[chunk] > kMaxStreamBytes) return "the levels of a chunk are too large";
        size += padded(part.sizes[chunk]);
      }
      if (writing.num_levels[chunk] > kMaxStreamBytes) return "a chunk has too many levels";
      for (const ChunkPart& part : writing.values) size += padded(part.sizes[chunk]);
      if (!large && size > kMaxSmallChunk) return "a chunk is too large";
      *num_bytes += size;
    }
    return nullptr;
  }

  // Source: lance.encodings21.MiniBlockLayout.
  std::string message(const LaPage& page, const Encoded& values, const Encoded& rep, const Encoded& def,
                      const Encoded& of_items, uint64_t num_items) const {
    std::string layout;
    if (!rep.description.empty()) put_bytes(layout, 1, view_of(rep.description));
    if (!def.description.empty()) put_bytes(layout, 2, view_of(def.description));
    put_bytes(layout, 3, view_of(values.description));
    if (num_items > 0) put_bytes(layout, 4, view_of(of_items.description));
    put_number(layout, 5, num_items);
    put_packed(layout, 6, layers_of(page));
    put_number(layout, 7, values.buffers.size());
    put_number(layout, 8, page.rep_levels != nullptr);
    put_number(layout, 9, static_cast<uint64_t>(page.values->num_values));
    put_number(layout, 10, large);
    std::string outer;
    put_bytes(outer, 1, layout);
    return outer;
  }
};

}  // namespace

HeldPageEncoder* hold_chunk_pages(const ChunkPageForm& form) {
  return hold_pages(std::make_shared<ChunkPages>(ChunkPages{form}));
}

}  // namespace lance_arrow::engine
