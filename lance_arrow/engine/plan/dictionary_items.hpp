// Dictionary items in the engine: the items that indices of a chunk name, laid out as values.
#pragma once

#include <algorithm>

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::engine {

// Indices of `count` values. Values with a definition level above 0 are null, with any index; without levels none is.
struct ItemIndices {
  const uint8_t* indices;
  const uint16_t* def;
  int64_t count;
};

// Whether all indices, those of nulls among them, are below num_items. Without an early end, it is a loop of vectors;
// with several maxima, none of them waits for the one before.
template <class Index>
bool are_inside(const ItemIndices& wanted, int64_t num_items) {
  constexpr int64_t lanes = 64 / static_cast<int64_t>(sizeof(Index));
  const uint8_t* __restrict indices = wanted.indices;
  const int64_t count = wanted.count;
  Index most[lanes] = {};
  int64_t value = 0;
  for (; value + lanes <= count; value += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane) most[lane] = std::max(most[lane], load<Index>(indices, value + lane));
  for (; value < count; ++value) most[0] = std::max(most[0], load<Index>(indices, value));
  return static_cast<uint64_t>(*std::max_element(most, most + lanes)) < static_cast<uint64_t>(num_items);
}

// Rejects indices outside the dictionary; those of nulls may be any number.
template <class Index>
Outcome check_inside(const ItemIndices& wanted, int64_t num_items) {
  for (int64_t value = 0; value < wanted.count; ++value) {
    const bool is_null = wanted.def != nullptr && wanted.def[value] > 0;
    if (!is_null && static_cast<uint64_t>(load<Index>(wanted.indices, value)) >= static_cast<uint64_t>(num_items))
      return corrupt("an index lies outside the dictionary", value);
  }
  return success();
}

// A dictionary that the chunks' values point into; offsets are null for fixed-width items.
struct Items {
  int64_t bits = 0;
  const uint8_t* values = nullptr;
  int64_t values_bytes = 0;
  const uint8_t* offsets = nullptr;
  int offset_bits = 0;
  int64_t num_items = 0;

  Outcome expand(const ItemIndices& wanted, int64_t index_bytes, LaValues* out) const {
    switch (index_bytes) {
      case 1: return expand_by<uint8_t>(wanted, out);
      case 2: return expand_by<uint16_t>(wanted, out);
      case 4: return expand_by<uint32_t>(wanted, out);
      default: return expand_by<uint64_t>(wanted, out);
    }
  }

  // Checks indices that are kept; those of nulls become 0.
  Outcome settle(uint8_t* indices, int64_t index_bytes, const uint16_t* def, int64_t count) const {
    switch (index_bytes) {
      case 1: return settle_by<uint8_t>(indices, def, count);
      case 2: return settle_by<uint16_t>(indices, def, count);
      case 4: return settle_by<uint32_t>(indices, def, count);
      default: return settle_by<uint64_t>(indices, def, count);
    }
  }

  // Copies the offsets of items of variable width, which must ascend within the values.
  Outcome copy_offsets(uint8_t* to, int to_bits) const {
    int64_t end = 0;
    if (offsets == nullptr) return misuse("items of one width have no offsets");
    for (int64_t item = 0; item <= num_items; ++item) {
      const uint64_t next = offset_bits == 32 ? load<uint32_t>(offsets, item) : load<uint64_t>(offsets, item);
      if (next > static_cast<uint64_t>(values_bytes) || static_cast<int64_t>(next) < end)
        return corrupt("a dictionary item lies outside its bytes", item);
      end = static_cast<int64_t>(next);
      if (to_bits == 32) store<int32_t>(to, item, static_cast<int32_t>(end));
      else store<int64_t>(to, item, end);
    }
    return success();
  }

  // Where an item of variable width lies in the values.
  Outcome find(int64_t item, int64_t* start, int64_t* size) const {
    const bool is_narrow = offset_bits == 32;
    const uint64_t first = is_narrow ? load<uint32_t>(offsets, item) : load<uint64_t>(offsets, item);
    const uint64_t stop = is_narrow ? load<uint32_t>(offsets, item + 1) : load<uint64_t>(offsets, item + 1);
    if (first > stop || stop > static_cast<uint64_t>(values_bytes))
      return corrupt("a dictionary item lies outside its bytes", item);
    *start = static_cast<int64_t>(first);
    *size = static_cast<int64_t>(stop - first);
    return success();
  }

 private:
  template <class Index>
  Outcome settle_by(uint8_t* indices, const uint16_t* def, int64_t count) const {
    for (int64_t value = 0; value < count; ++value) {
      if (def != nullptr && def[value] > 0) store<Index>(indices, value, 0);
      else if (load<Index>(indices, value) >= static_cast<uint64_t>(num_items))
        return corrupt("an index lies outside the dictionary", value);
    }
    return success();
  }

  template <class Index>
  Outcome expand_by(const ItemIndices& wanted, LaValues* out) const {
    if (!are_inside<Index>(wanted, num_items)) {
      const Outcome outcome = check_inside<Index>(wanted, num_items);
      if (outcome.message != nullptr) return outcome;
    }
    if (offsets != nullptr)
      return offset_bits == 32 ? copy_variable<Index, uint32_t>(wanted, out)
                               : copy_variable<Index, uint64_t>(wanted, out);
    if (bits == 1) {
      copy_bits<Index>(wanted, out);
      return success();
    }
    switch (bits / 8) {
      case 1: copy_fixed<Index, 1>(wanted, out->values); break;
      case 2: copy_fixed<Index, 2>(wanted, out->values); break;
      case 4: copy_fixed<Index, 4>(wanted, out->values); break;
      case 8: copy_fixed<Index, 8>(wanted, out->values); break;
      case 16: copy_fixed<Index, 16>(wanted, out->values); break;
      default: copy_fixed<Index, 0>(wanted, out->values);
    }
    return success();
  }

  static bool is_null(const ItemIndices& wanted, int64_t value) {
    return wanted.def != nullptr && wanted.def[value] > 0;
  }

  template <class Index>
  static uint64_t index_of(const ItemIndices& wanted, int64_t value) {
    return load<Index>(wanted.indices, value);
  }

  // Items are single bits, and nulls are 0.
  template <class Index>
  void copy_bits(const ItemIndices& wanted, LaValues* out) const {
    for (int64_t value = 0; value < wanted.count; ++value) {
      const uint64_t item = index_of<Index>(wanted, value);
      const bool is_set = !is_null(wanted, value) && (values[item / 8] >> (item % 8) & 1) != 0;
      const int64_t bit = out->bit_offset + value;
      uint8_t* to = out->values + bit / 8;
      *to = static_cast<uint8_t>((*to & ~(1 << bit % 8)) | is_set << bit % 8);
    }
  }

  // kWidth bytes are moved at once where the compiler knows them.
  template <class Index, int kWidth>
  void copy_fixed(const ItemIndices& wanted, uint8_t* to) const {
    const auto width = static_cast<size_t>(kWidth != 0 ? kWidth : bits / 8);
    if (wanted.def == nullptr) {
      for (int64_t value = 0; value < wanted.count; ++value, to += width)
        std::memcpy(to, values + index_of<Index>(wanted, value) * width, width);
      return;
    }
    for (int64_t value = 0; value < wanted.count; ++value, to += width) {
      if (is_null(wanted, value)) std::memset(to, 0, width);
      else std::memcpy(to, values + index_of<Index>(wanted, value) * width, width);
    }
  }

  // Items of a small dictionary, each at the begin of a place of its own, so that most are copied by one move.
  struct PaddedItems {
    static constexpr int64_t kMost = 256, kPlace = 16;
    int64_t sizes[kMost];
    uint8_t bytes[kMost * kPlace];  // the first ones of longer items
  };

  // False where there are many items, compared with values, or where one of them lies outside its bytes.
  template <class Offset>
  bool pad(int64_t num_values, PaddedItems* to) const {
    if (num_items > PaddedItems::kMost || num_items > num_values) return false;
    for (int64_t item = 0; item < num_items; ++item) {
      const uint64_t start = load<Offset>(offsets, item), stop = load<Offset>(offsets, item + 1);
      if (start > stop || stop > static_cast<uint64_t>(values_bytes)) return false;
      to->sizes[item] = static_cast<int64_t>(stop - start);
      copy_bytes(to->bytes + item * PaddedItems::kPlace, values + start,
                 std::min(to->sizes[item], PaddedItems::kPlace));
    }
    return true;
  }

  // Nulls are empty. Measured before anything is copied: one piece of memory serves all.
  template <class Index, class Offset>
  Outcome copy_variable(const ItemIndices& wanted, LaValues* out) const {
    PaddedItems padded;
    const bool is_padded = pad<Offset>(wanted.count, &padded);
    // Copied, or compilers would read them again after each store.
    const uint8_t* const indices = wanted.indices;
    const int64_t count = wanted.count;
    int64_t* const ends = out->ends;
    int64_t end = out->end;
    if (is_padded && wanted.def == nullptr) {
      for (int64_t value = 0; value < count; ++value) {
        end += padded.sizes[static_cast<size_t>(load<Index>(indices, value))];
        ends[value] = end;
      }
    } else {
      for (int64_t value = 0; value < count; ++value) {
        if (!is_null(wanted, value)) {
          const auto item = static_cast<int64_t>(load<Index>(indices, value));
          const uint64_t start = load<Offset>(offsets, item), stop = load<Offset>(offsets, item + 1);
          if (start > stop || stop > static_cast<uint64_t>(values_bytes))
            return corrupt("a dictionary item lies outside its bytes", value);
          end += static_cast<int64_t>(stop - start);
        }
        ends[value] = end;
      }
    }
    uint8_t* to = out->reserve(out->host, out->end, end - out->end);
    if (to == nullptr) return above_limit();
    const uint8_t *const stop = to + (end - out->end), *const from = values, *const from_offsets = offsets;
    const int64_t num_bytes = values_bytes;
    int64_t before = out->end;
    for (int64_t value = 0; value < count; ++value) {
      const int64_t size = ends[value] - before;
      before = ends[value];
      if (size == 0) continue;
      const auto item = static_cast<int64_t>(load<Index>(indices, value));
      constexpr int64_t place = PaddedItems::kPlace;
      // Whole places are copied where there is room: bytes behind the item are those of the next value, which comes
      // later.
      const bool has_place = size <= place && stop - to >= place;
      if (has_place && is_padded) {
        std::memcpy(to, padded.bytes + item * place, place);
      } else {
        const auto start = static_cast<int64_t>(load<Offset>(from_offsets, item));
        if (has_place && num_bytes - start >= place) std::memcpy(to, from + start, place);
        else copy_bytes(to, from + start, size);
      }
      to += size;
    }
    out->end = end;
    return success();
  }
};

}  // namespace lance_arrow::engine
