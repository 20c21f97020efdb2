// The C tables of the codecs of the format (lance_arrow_native.h): selected values of one chunk, straight to their
// place.
//
// A take touches few values of many chunks. Where values can be reached singly they are; other codecs decode the chunk
// into scratch memory and pick.
#pragma once

#include <vector>

#include "engine/common/bitmaps.hpp"
#include "engine/decode/offsets.hpp"
#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::engine {

struct Flat {
  int64_t bits;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const int64_t bits = static_cast<const Flat*>(self)->bits;
    if (!runs_fit(*runs, chunk->num_values) || chunk->sizes[0] < (chunk->num_values * bits + 7) / 8)
      return "a chunk is shorter than its values";
    if (bits > 1) {
      copy_fixed_runs(chunk->buffers[0], bits / 8, *runs, out->values);
      return kDone;
    }
    int64_t at = out->bit_offset;
    for (int64_t run = 0; run < runs->num_runs; ++run) {
      const int64_t count = runs->stops[run] - runs->starts[run];
      copy_bit_run(chunk->buffers[0], runs->starts[run], out->values, at, count);
      at += count;
    }
    return kDone;
  }
};

// Offsets and bytes of one chunk.
template <class Offset>
struct Variable {
  static LaRefusal select(const void*, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    constexpr int64_t width = sizeof(Offset);
    const uint8_t* bytes = chunk->buffers[0];
    const int64_t size = chunk->sizes[0];
    if (!runs_fit(*runs, chunk->num_values) || chunk->num_values >= size / width)
      return "a chunk is shorter than its offsets";
    const auto header = static_cast<uint64_t>((chunk->num_values + 1) * width);
    if (load<Offset>(bytes, 0) != header) return "a chunk's first offset is not its header";
    return append_runs<Offset>(bytes, bytes + header, header, static_cast<uint64_t>(size), *runs, out);
  }
};

// The same of a block, which has a header of its own.
template <class Offset>
struct VariableBlock {
  static LaRefusal select(const void*, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    if (!runs_fit(*runs, chunk->num_values)) return "a block has fewer values";
    VariableChunk opened;
    const Chunk block{0, chunk->buffers[0], chunk->sizes[0], 0, chunk->num_values};
    const Outcome outcome = open_block<Offset>(block, &opened);
    if (outcome.message != nullptr) return outcome.message;
    return append_runs<Offset>(opened.offsets, opened.bytes, 0, static_cast<uint64_t>(opened.num_bytes), *runs, out);
  }
};

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

}  // namespace lance_arrow::engine
