// Pages of one scalar of 2.1 and 2.2, with the same choices and bytes as in Python.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/common/layer_kinds.hpp"
#include "engine/encode/distinct.hpp"
#include "engine/encode/encoders/page_writing.hpp"
#include "lance_arrow/block_facts.hpp"

namespace lance_arrow::engine {

namespace {

struct ConstantPages {
  static constexpr int64_t kMaxInlineBytes = 32;

  bool has_scalars;

  // Position of the first valid value if all valid values are equal to it; -1 if they differ.
  static int64_t common(const LaPage& page) {
    const LaBlock& values = *page.values;
    const auto is_valid = [&](int64_t at) { return page.value_levels == nullptr || page.value_levels[at] == 0; };
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
      if (page.value_levels != nullptr && page.value_levels[at] != 0) continue;
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
      if (const LaRefusal refusal = put_buffer(*out, buffer++, scalar.data(), scalar.size())) return refusal;
    } else {
      const char bit = static_cast<char>(values.bits == 1 ? values.values[at / 8] >> (at % 8) & 1 : 0);
      const std::string_view scalar{reinterpret_cast<const char*>(values.values + at * width),
                                    static_cast<size_t>(width)};
      put_bytes(layout, 6, values.bits == 1 ? std::string_view{&bit, 1} : scalar);
    }
    if (page->rep_levels != nullptr || page->def_levels != nullptr)
      if (const LaRefusal refusal = put_levels(*out, buffer, *page, page->def_levels)) return refusal;
    return describe_constant(layout, out);
  }

  // Levels as they are: two buffers, empty ones where there are none.
  static LaRefusal put_levels(LaEncoded& out, int64_t buffer, const LaPage& page, const uint16_t* def) {
    const size_t size = 2 * static_cast<size_t>(page.num_entries);
    const size_t rep_size = page.rep_levels == nullptr ? 0 : size;
    if (const LaRefusal refusal = put_buffer(out, buffer, page.rep_levels, rep_size)) return refusal;
    return put_buffer(out, buffer + 1, def, def == nullptr ? 0 : size);
  }

  static LaRefusal describe_constant(const std::string& layout, LaEncoded* out) {
    std::string outer;
    put_bytes(outer, 2, layout);
    return describe_page(outer, out);
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
      if (const LaRefusal refusal = put_levels(out, 0, page, levels.data())) return refusal;
      return describe_constant(layout, &out);
    }
    Encoded rep, def;
    const int64_t whole[2] = {0, num_levels};
    int64_t buffer = 0;
    for (const auto& [given, encoded] :
         {std::pair{page.rep_levels, &rep}, std::pair{const_cast<const uint16_t*>(levels.data()), &def}}) {
      ByteVector bytes;
      if (given != nullptr) {
        FactsOfBlock of_levels;
        const Outcome outcome = of_levels.set(reinterpret_cast<const uint8_t*>(given), 16, num_levels);
        if (outcome.message != nullptr) return outcome.message;
        LaEncoded into = encoded->face();
        const LaRefusal refusal = host.encode_blocks(host.host, &of_levels.block, whole, 1, &into);
        if (refusal != nullptr) return refusal;
        if (encoded->buffers.size() > 1) return "levels have more than one buffer";
        if (!encoded->buffers.empty()) bytes = encoded->buffers[0];
      }
      if (const LaRefusal refusal = put_buffer(out, buffer++, bytes.data(), bytes.size())) return refusal;
    }
    if (page.rep_levels != nullptr) put_bytes(layout, 7, view_of(rep.description));
    put_bytes(layout, 8, view_of(def.description));
    if (page.rep_levels != nullptr) put_number(layout, 9, static_cast<uint64_t>(num_levels));
    put_number(layout, 10, static_cast<uint64_t>(num_levels));
    return describe_constant(layout, &out);
  }
};

}  // namespace

HeldPageEncoder* hold_constant_pages(bool has_scalars) {
  return hold_pages(std::make_shared<ConstantPages>(ConstantPages{has_scalars}));
}

}  // namespace lance_arrow::engine
