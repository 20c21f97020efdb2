#include "lance_arrow_codecs/fixed_size_list/codec.hpp"

#include <memory>

#include "lance_arrow/bits.hpp"

namespace lance_arrow::codecs {
namespace {

// Lists of one length whose items may be null: a value is a row of the bits of each bitmap and those of the items,
// every part in whole bytes. Items come from `child`, null where all are null; bitmaps from number `num_stored` on are
// zeros.
struct ListRows {
  static constexpr int64_t kMostBuffers = 8;

  const LaChunkCodec* child;
  int64_t items_per_value;  // values of the child
  std::vector<int64_t> bitmap_bits;  // of a value
  int64_t num_stored;
  int64_t item_bits;  // of a value
  int64_t row_bytes;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const ListRows*>(self);
    if (!runs_fit(*runs, chunk->num_values)) return "more values are wanted than a chunk has";
    if (chunk->num_values > (int64_t{1} << 31)) return LA_ABOVE_LIMIT;
    const int64_t count = num_selected(*runs);
    const auto num_bitmaps = static_cast<int64_t>(form.bitmap_bits.size());
    // Every byte of a row is written below, but for parts that are not stored.
    if (form.child == nullptr || form.num_stored < num_bitmaps)
      std::memset(out->values, 0, static_cast<size_t>(count * form.row_bytes));
    int64_t at = 0;
    for (int64_t bitmap = 0; bitmap < num_bitmaps; ++bitmap) {
      const int64_t bits = form.bitmap_bits[static_cast<size_t>(bitmap)];
      if (bitmap < form.num_stored) {
        if (chunk->sizes[bitmap] < (chunk->num_values * bits + 7) / 8) return "a bitmap is shorter than its items";
        uint8_t* to = out->values + at;
        for (int64_t run = 0; run < runs->num_runs; ++run)
          for (int64_t value = runs->starts[run]; value < runs->stops[run]; ++value, to += form.row_bytes)
            copy_padded_bits(chunk->buffers[bitmap], value * bits, bits, to);
      }
      at += (bits + 7) / 8;
    }
    if (form.child == nullptr) return kDone;
    const LaChunk below{chunk->buffers + form.num_stored, chunk->sizes + form.num_stored, form.child->num_buffers,
                        chunk->num_values * form.items_per_value};
    return form.child->plain_bytes > 0 ? copy_items(form, below, *runs, out->values + at)
                                       : select_items(form, below, *runs, count, out->values + at);
  }

 private:
  // Items that lie as they are.
  static LaRefusal copy_items(const ListRows& form, const LaChunk& items, const LaRuns& runs, uint8_t* to) {
    const int64_t width = form.item_bits / 8;
    if (items.sizes[0] < items.num_values * form.child->plain_bytes) return "a chunk is shorter than its values";
    for (int64_t run = 0; run < runs.num_runs; ++run) {
      const uint8_t* from = items.buffers[0] + runs.starts[run] * width;
      for (int64_t value = runs.starts[run]; value < runs.stops[run]; ++value, to += form.row_bytes, from += width)
        copy_bytes(to, from, width);
    }
    return kDone;
  }

  // Items of all lists one after the other, then each list's to its row.
  static LaRefusal select_items(const ListRows& form, const LaChunk& below, const LaRuns& runs, int64_t count,
                                uint8_t* to) {
    const Leased<std::vector<int64_t>> scaled;
    const auto num_runs = static_cast<size_t>(runs.num_runs);
    scaled->resize(2 * num_runs + 1);
    int64_t *starts = scaled->data(), *stops = starts + num_runs;
    for (size_t run = 0; run < num_runs; ++run) {
      starts[run] = runs.starts[run] * form.items_per_value;
      stops[run] = runs.stops[run] * form.items_per_value;
    }
    const LaRuns wanted{starts, stops, runs.num_runs};
    const Leased<std::vector<uint8_t>> items;
    items->resize(static_cast<size_t>((count * form.item_bits + 7) / 8 + 1));
    LaValues place{items->data(), 0, nullptr, 0, nullptr, nullptr};
    const LaRefusal refusal = form.child->select(form.child->self, &below, &wanted, &place);
    if (refusal != nullptr) return refusal;
    for (int64_t value = 0; value < count; ++value, to += form.row_bytes)
      copy_padded_bits(items->data(), value * form.item_bits, form.item_bits, to);
    return kDone;
  }
};

// Zipped lists of one length without items: the bitmaps that are stored, then zeros for the others and the items.
struct ZippedNulls {
  int64_t stored_bytes;
  int64_t row_bytes;

  static LaRefusal expand(const void* self, const uint8_t* data, const int64_t* starts, const int64_t* sizes,
                          int64_t num_values, LaValues* out) {
    const auto& form = *static_cast<const ZippedNulls*>(self);
    uint8_t* to = out->values;
    for (int64_t value = 0; value < num_values; ++value, to += form.row_bytes) {
      if (sizes[value] != form.stored_bytes) return "a zipped value has another size than its description";
      copy_bytes(to, data + starts[value], form.stored_bytes);
      std::memset(to + form.stored_bytes, 0, static_cast<size_t>(form.row_bytes - form.stored_bytes));
    }
    return kDone;
  }
};

}  // namespace

HeldChunkCodec* hold_list_rows(const LaChunkCodec* child, int64_t items_per_value,
                               const std::vector<int64_t>& bitmap_bits, int64_t num_stored, int64_t item_bits) {
  constexpr int64_t most_bits = int64_t{1} << 31;
  int64_t row_bytes = (item_bits + 7) / 8;
  for (const int64_t bits : bitmap_bits) {
    if (bits < 1 || bits > most_bits) return nullptr;
    row_bytes += (bits + 7) / 8;
  }
  const int64_t num_buffers = num_stored + (child == nullptr ? 0 : child->num_buffers);
  if (item_bits < 1 || item_bits > most_bits || num_buffers > ListRows::kMostBuffers) return nullptr;
  if (child != nullptr &&
      (child->bits == 0 || items_per_value > most_bits / child->bits || child->bits * items_per_value != item_bits))
    return nullptr;
  auto form =
      std::make_shared<ListRows>(ListRows{child, items_per_value, bitmap_bits, num_stored, item_bits, row_bytes});
  return hold(form, 8 * row_bytes, num_buffers, 0);
}

HeldValueCodec* hold_zipped_nulls(int64_t stored_bytes, int64_t row_bytes) {
  auto form = std::make_shared<ZippedNulls>(ZippedNulls{stored_bytes, row_bytes});
  return hold_values(form, 8 * row_bytes, false);
}

}  // namespace lance_arrow::codecs
