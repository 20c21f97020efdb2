// Layouts of 2.1 and 2.2: pages of chunks and of one scalar, with the same choices and bytes as their Python halves.
#include <algorithm>
#include <cmath>

#include "engine/common/layer_kinds.hpp"
#include "engine/encode/block_facts.hpp"
#include "engine/encode/chunk_writing.hpp"
#include "engine/encode/distinct.hpp"
#include "engine/encode/encoders/encoded.hpp"
#include "engine/encode/encoders/held_encoders.hpp"
#include "engine/tables/wire_writing.hpp"

namespace lance_arrow::engine {

namespace {

constexpr LaRefusal kNoRoom = "there is no memory for a page";
constexpr int64_t kMaxStreamBytes = 0xFFFF;
constexpr int64_t kMaxSmallChunk = 32 << 10;
constexpr int64_t kZippedFromBytes = 256;

std::string_view view_of(const ByteVector& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

LaRefusal describe(const std::string& message, LaEncoded* out) {
  return out->describe(out->host, reinterpret_cast<const uint8_t*>(message.data()),
                       static_cast<int64_t>(message.size()));
}

std::vector<uint8_t> layers_of(const LaPage& page) { return {page.layers, page.layers + page.num_layers}; }

int64_t num_valid(const LaPage& page) { return page.values->num_values - page.values->num_nulls; }

// --- chunks ---------------------------------------------------------------------------------------------------------

struct ChunkPages : ChunkPageForm {
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
        index_fixed(values.values, values.num_bytes, values.bits / 8, page.def_levels, out, &num_items);
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
                         values.values, values.num_bytes, page.def_levels, out, &num_items);
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
    const double estimate = host.estimate_chunks(host.host, &values, &rules);
    if (estimate == LANCE_ARROW_ASK) return estimate;
    Dictionary dictionary;
    const double num_items = choose_dictionary(page, host, &dictionary);
    if (num_items == LANCE_ARROW_ASK) return num_items;
    if (num_items > 0) return static_cast<double>(raw_bytes(values));
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
    const double estimate = host->estimate_chunks(host->host, page->values, &own->rules);
    return estimate < 0 ? estimate : static_cast<double>(page->values->num_bytes);
  }

  static LaRefusal encode(const void* self, const LaPage* page, const LaPageHost* host, LaEncoded* out) {
    return static_cast<const ChunkPages*>(self)->write(*page, *host, *out);
  }

  LaRefusal write(const LaPage& page, const LaPageHost& host, LaEncoded& out) const {
    Encoded values, levels, of_items;
    LaEncoded into = values.face();
    const LaChunkRules* chunk_rules = &rules;
    Dictionary dictionary;
    const double num_items = page.values->bits == 0 ? choose_dictionary(page, host, &dictionary) : 0;
    if (num_items < 0) return "only Python knows whether there is a dictionary";
    if (num_items > 0) {
      chunk_rules = &index_rules;
      const LaBlock* own = &dictionary.index_block();
      if (const LaRefusal refusal = indices->encode(indices->self, own, chunk_rules, &into)) return refusal;
      if (!values.is_whole(own->num_values)) return "an encoder wrote no whole chunks";
      if (const LaRefusal refusal = encode_items(dictionary, &of_items)) return refusal;
    } else if (const LaRefusal refusal = host.encode_chunks(host.host, page.values, chunk_rules, &into)) {
      return refusal;
    }
    const auto num_chunks = static_cast<int64_t>(values.counts.size());
    std::vector<int64_t> starts{0}, num_levels(values.counts.size(), 0);
    for (const int64_t count : values.counts) {
      if (count > chunk_rules->max_values) return "an encoder cut chunks that break the rules";
      starts.push_back(starts.back() + count);
    }
    ChunkWriting writing{num_levels.data(), {}, {}, values.counts.data(), num_chunks, large};
    if (page.def_levels != nullptr) {
      FactsOfBlock of_levels;
      const auto* bytes = reinterpret_cast<const uint8_t*>(page.def_levels);
      const Outcome outcome = of_levels.set(bytes, 16, page.num_entries);
      if (outcome.message != nullptr) return outcome.message;
      into = levels.face();
      const LaRefusal refusal = host.encode_blocks(host.host, &of_levels.block, starts.data(), num_chunks, &into);
      if (refusal != nullptr) return refusal;
      if (levels.buffers.size() != 1) return "levels have no bytes";
      num_levels = values.counts;
      writing.num_levels = num_levels.data();
      writing.levels.push_back(part_of(levels, 0));
    }
    for (size_t buffer = 0; buffer < values.buffers.size(); ++buffer) writing.values.push_back(part_of(values, buffer));
    int64_t num_bytes = 0;
    if (const LaRefusal refusal = measure(writing, &num_bytes)) return refusal;
    const int64_t words_bytes = num_chunks * (large ? 4 : 2);
    uint8_t* chunks = out.room(out.host, 1, num_bytes);
    if (chunks == nullptr) return kNoRoom;
    ByteVector table(static_cast<size_t>(words_bytes));
    const Outcome outcome = write_chunks(writing, table.data(), words_bytes, chunks, num_bytes);
    if (outcome.message != nullptr) return outcome.message;
    uint8_t* words = out.room(out.host, 0, words_bytes);
    if (words == nullptr) return kNoRoom;
    copy_bytes(words, table.data(), words_bytes);
    if (num_items > 0) {
      const auto size = of_items.buffers.empty() ? 0 : static_cast<int64_t>(of_items.buffers[0].size());
      uint8_t* room = out.room(out.host, 2, size);
      if (room == nullptr) return kNoRoom;
      if (size > 0) copy_bytes(room, of_items.buffers[0].data(), size);
    }
    return describe(message(page, values, levels, of_items, static_cast<uint64_t>(num_items)), &out);
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
  std::string message(const LaPage& page, const Encoded& values, const Encoded& levels, const Encoded& of_items,
                      uint64_t num_items) const {
    std::string layout;
    if (!levels.description.empty()) put_bytes(layout, 2, view_of(levels.description));
    put_bytes(layout, 3, view_of(values.description));
    if (num_items > 0) put_bytes(layout, 4, view_of(of_items.description));
    put_number(layout, 5, num_items);
    put_packed(layout, 6, layers_of(page));
    put_number(layout, 7, values.buffers.size());
    put_number(layout, 9, static_cast<uint64_t>(page.values->num_values));
    put_number(layout, 10, large);
    std::string outer;
    put_bytes(outer, 1, layout);
    return outer;
  }
};

// --- one scalar -----------------------------------------------------------------------------------------------------

struct ConstantPages {
  static constexpr int64_t kMaxInlineBytes = 32;

  bool has_scalars;

  // Position of the first valid value if all valid values are equal to it; -1 if they differ.
  static int64_t common(const LaPage& page) {
    const LaBlock& values = *page.values;
    const auto is_valid = [&](int64_t at) { return page.def_levels == nullptr || page.def_levels[at] == 0; };
    if (values.bits == 0) return common_string(page);
    const auto bit = [&](int64_t at) { return values.values[at / 8] >> (at % 8) & 1; };
    const int64_t width = values.bits / 8;
    int64_t first = -1;
    for (int64_t at = 0; at < values.num_values; ++at) {
      if (!is_valid(at)) continue;
      if (first < 0) {
        first = at;
      } else if (width == 8) {
        if (load<uint64_t>(values.values, at) != load<uint64_t>(values.values, first)) return -1;
      } else if (values.bits == 1 ? bit(at) != bit(first)
                                  : std::memcmp(values.values + at * width, values.values + first * width,
                                                static_cast<size_t>(width)) != 0) {
        return -1;
      }
    }
    return first;
  }

  static int64_t common_string(const LaPage& page) {
    const LaBlock& values = *page.values;
    int64_t first = -1, size = 0;
    for (int64_t at = 0; at < values.num_values; ++at) {
      if (page.def_levels != nullptr && page.def_levels[at] != 0) continue;
      const int64_t start = values.offsets[at], own_size = values.offsets[at + 1] - start;
      if (first < 0) {
        first = at;
        size = own_size;
      } else if (own_size != size || std::memcmp(values.values + start, values.values + values.offsets[first],
                                                 static_cast<size_t>(size)) != 0) {
        return -1;
      }
    }
    return first;
  }

  // A string as Arrow's buffers: their number, their sizes, two offsets, the bytes. Source: spec 7.
  static std::string scalar_of(const LaBlock& values, int64_t at) {
    const uint64_t size = static_cast<uint64_t>(values.offsets[at + 1] - values.offsets[at]);
    const auto width = static_cast<size_t>(values.offset_bits / 8);
    const uint32_t head[3] = {2, static_cast<uint32_t>(2 * width), static_cast<uint32_t>(size)};
    const uint64_t words[2] = {0, size};
    std::string out(reinterpret_cast<const char*>(head), sizeof head);
    for (const uint64_t word : words) out.append(reinterpret_cast<const char*>(&word), width);
    return out.append(reinterpret_cast<const char*>(values.values + values.offsets[at]), static_cast<size_t>(size));
  }

  static LaRefusal put(LaEncoded& out, int64_t buffer, const void* bytes, size_t size) {
    uint8_t* room = out.room(out.host, buffer, static_cast<int64_t>(size));
    if (room == nullptr) return kNoRoom;
    copy_bytes(room, static_cast<const uint8_t*>(bytes), static_cast<int64_t>(size));
    return nullptr;
  }

  static double score(const void* self, const LaPage* page, const LaPageHost*) {
    const auto* own = static_cast<const ConstantPages*>(self);
    if (num_valid(*page) == 0) return 0.0;
    return own->has_scalars && common(*page) >= 0 ? 0.0 : LANCE_ARROW_UNFIT;
  }

  // Source: lance.encodings21.ConstantLayout.
  static LaRefusal encode(const void* self, const LaPage* page, const LaPageHost* host, LaEncoded* out) {
    if (num_valid(*page) == 0) return static_cast<const ConstantPages*>(self)->write_nulls(*page, *host, *out);
    const LaBlock& values = *page->values;
    std::string layout;
    put_packed(layout, 5, layers_of(*page));
    const int64_t at = common(*page), width = values.bits / 8;
    if (at < 0 || width > kMaxInlineBytes) return "a scalar that has a buffer, or none";
    int64_t buffer = 0;
    if (values.bits == 0) {
      const std::string scalar = scalar_of(values, at);
      if (const LaRefusal refusal = put(*out, buffer++, scalar.data(), scalar.size())) return refusal;
    } else {
      const char bit = static_cast<char>(values.bits == 1 ? values.values[at / 8] >> (at % 8) & 1 : 0);
      const std::string_view scalar{reinterpret_cast<const char*>(values.values + at * width),
                                    static_cast<size_t>(width)};
      put_bytes(layout, 6, values.bits == 1 ? std::string_view{&bit, 1} : scalar);
    }
    if (page->def_levels != nullptr)
      if (const LaRefusal refusal = put_levels(*out, buffer, page->def_levels, page->num_entries)) return refusal;
    return describe_constant(layout, out);
  }

  // No repetition levels, then definition levels as they are.
  static LaRefusal put_levels(LaEncoded& out, int64_t buffer, const uint16_t* levels, int64_t num_levels) {
    if (const LaRefusal refusal = put(out, buffer, nullptr, 0)) return refusal;
    return put(out, buffer + 1, levels, 2 * static_cast<size_t>(num_levels));
  }

  static LaRefusal describe_constant(const std::string& layout, LaEncoded* out) {
    std::string outer;
    put_bytes(outer, 2, layout);
    return describe(outer, out);
  }

  // A page without a value. The reference reads nulls of a leaf from its own layer, so what lies inside a null is null.
  LaRefusal write_nulls(const LaPage& page, const LaPageHost& host, LaEncoded& out) const {
    std::vector<uint8_t> layers = layers_of(page);
    std::vector<uint16_t> levels(page.def_levels,
                                 page.def_levels + (page.def_levels == nullptr ? 0 : page.num_entries));
    const auto found = std::ranges::find_if(layers, [](uint8_t layer) { return layer != kAllValidItem; });
    if (found != layers.end() && *found == kNullableItem && found != layers.begin()) {
      const auto inner = static_cast<uint16_t>(found - layers.begin());
      std::fill(layers.begin(), found, uint8_t{kNullableItem});
      for (uint16_t& level : levels) level = static_cast<uint16_t>(level + inner);
    }
    std::string layout;
    put_packed(layout, 5, layers);
    // Nulls of one layer need no levels.
    if (layers.size() == 1 && layers[0] == kNullableItem) return describe_constant(layout, &out);
    if (levels.empty()) return "a page without values, levels and rows";
    const auto num_levels = static_cast<int64_t>(levels.size());
    if (!has_scalars) {
      if (const LaRefusal refusal = put_levels(out, 0, levels.data(), num_levels)) return refusal;
      return describe_constant(layout, &out);
    }
    FactsOfBlock of_levels;
    const Outcome outcome = of_levels.set(reinterpret_cast<const uint8_t*>(levels.data()), 16, num_levels);
    if (outcome.message != nullptr) return outcome.message;
    Encoded encoded;
    LaEncoded into = encoded.face();
    const int64_t whole[2] = {0, num_levels};
    if (const LaRefusal refusal = host.encode_blocks(host.host, &of_levels.block, whole, 1, &into)) return refusal;
    if (encoded.buffers.size() > 1) return "levels have more than one buffer";
    const ByteVector none;
    const ByteVector& bytes = encoded.buffers.empty() ? none : encoded.buffers[0];
    if (const LaRefusal refusal = put(out, 0, nullptr, 0)) return refusal;
    if (const LaRefusal refusal = put(out, 1, bytes.data(), bytes.size())) return refusal;
    put_bytes(layout, 8, view_of(encoded.description));
    put_number(layout, 10, static_cast<uint64_t>(num_levels));
    return describe_constant(layout, &out);
  }
};

// --- what is never written here -------------------------------------------------------------------------------------

// Small zipped values cost more than chunks; where zipped values win all the same, Python writes them.
struct ZippedPages {
  double cost_of_byte;

  static double score(const void* self, const LaPage* page, const LaPageHost*) {
    if (page->values->num_values == 0) return LANCE_ARROW_UNFIT;
    return static_cast<double>(raw_bytes(*page->values)) * static_cast<const ZippedPages*>(self)->cost_of_byte + 1;
  }

  static LaRefusal encode(const void*, const LaPage*, const LaPageHost*, LaEncoded*) {
    return "this layout is written in Python";
  }
};

struct NoPages {
  static double score(const void*, const LaPage*, const LaPageHost*) { return LANCE_ARROW_UNFIT; }

  static LaRefusal encode(const void*, const LaPage*, const LaPageHost*, LaEncoded*) {
    return "this layout holds no such page";
  }
};

template <class Form>
HeldPageEncoder* hold_pages(std::shared_ptr<Form> form) {
  return new HeldPageEncoder{{form.get(), &Form::score, &Form::encode}, form};
}

}  // namespace

HeldPageEncoder* hold_chunk_pages(const ChunkPageForm& form) {
  return hold_pages(std::make_shared<ChunkPages>(ChunkPages{form}));
}

HeldPageEncoder* hold_constant_pages(bool has_scalars) {
  return hold_pages(std::make_shared<ConstantPages>(ConstantPages{has_scalars}));
}

HeldPageEncoder* hold_zipped_pages(double cost_of_byte) {
  return hold_pages(std::make_shared<ZippedPages>(ZippedPages{cost_of_byte}));
}

HeldPageEncoder* hold_no_pages() { return hold_pages(std::make_shared<NoPages>()); }

}  // namespace lance_arrow::engine
