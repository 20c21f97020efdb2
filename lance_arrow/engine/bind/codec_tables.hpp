// The C tables of the codecs of the format (lance_arrow_native.h): selected values of one chunk, straight to their
// place.
//
// A take touches few values of many chunks. Where values can be reached singly they are; other codecs decode the chunk
// into scratch memory and pick.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/common/bitmaps.hpp"
#include "engine/common/scratch.hpp"
#include "engine/decode/fastlanes.hpp"
#include "engine/decode/offsets.hpp"
#include "engine/decode/runs.hpp"
#include "engine/decode/symbols.hpp"
#include "include/lance_arrow_native.h"

namespace lance_arrow::engine {

constexpr LaRefusal kDone = nullptr;

// Why what a frame declares is not believed.
inline LaRefusal check_declared(int64_t plain_bytes, int64_t most_bytes) {
  if (plain_bytes == LA_UNTOLD) return LA_LEFT;
  if (plain_bytes < 0) return "a frame declares more than it can hold";
  return plain_bytes > most_bytes ? LA_ABOVE_LIMIT : kDone;
}

inline int64_t num_selected(const LaRuns& runs) {
  int64_t count = 0;
  for (int64_t run = 0; run < runs.num_runs; ++run) count += runs.stops[run] - runs.starts[run];
  return count;
}

inline bool runs_fit(const LaRuns& runs, int64_t num_values) {
  return runs.num_runs == 0 || runs.stops[runs.num_runs - 1] <= num_values;
}

// Copies runs of whole-byte values out of decoded ones.
template <class Copy>
void copy_runs(const uint8_t* source, int64_t width, const LaRuns& runs, uint8_t* out, Copy copy) {
  for (int64_t run = 0; run < runs.num_runs; ++run) {
    const int64_t num_bytes = (runs.stops[run] - runs.starts[run]) * width;
    copy(out, source + runs.starts[run] * width, num_bytes);
    out += num_bytes;
  }
}

inline void copy_fixed_runs(const uint8_t* source, int64_t width, const LaRuns& runs, uint8_t* out) {
  // Most runs of a take are single values of a common width: one move each.
  const auto unit = [&]<int size>() {
    copy_runs(source, size, runs, out, [](uint8_t* to, const uint8_t* from, int64_t num_bytes) {
      if (num_bytes == size) std::memcpy(to, from, size);
      else copy_bytes(to, from, num_bytes);
    });
  };
  switch (width) {
    case 1: return unit.template operator()<1>();
    case 2: return unit.template operator()<2>();
    case 4: return unit.template operator()<4>();
    case 8: return unit.template operator()<8>();
    case 16: return unit.template operator()<16>();
    default: copy_runs(source, width, runs, out, copy_bytes);
  }
}

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

inline constexpr int kPlaceInOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};  // kOrder is its own inverse

// One value of a packed block, by its position among the 1024.
template <class T>
T packed_value(const uint8_t* packed, int packed_bits, int64_t position) {
  if (packed_bits == 0) return 0;
  constexpr int lanes = Lanes<T>::count;
  constexpr int bits = Lanes<T>::bits;
  const int within = static_cast<int>(position % 128);
  const int row = kPlaceInOrder[within / lanes * (lanes / 16)] * 8 + static_cast<int>(position / 128);
  const int lane = within % lanes;
  const int first_bit = row * packed_bits;
  const int word = first_bit / bits;
  const int shift = first_bit % bits;
  uint64_t value = static_cast<uint64_t>(load<T>(packed, word * lanes + lane)) >> shift;
  if (shift + packed_bits > bits)
    value |= static_cast<uint64_t>(load<T>(packed, (word + 1) * lanes + lane)) << (bits - shift);
  if (packed_bits < 64) value &= (uint64_t{1} << packed_bits) - 1;
  return static_cast<T>(value);
}

template <class T>
struct InlineBitpacking {
  static LaRefusal select(const void*, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    constexpr int64_t width = sizeof(T);
    // Below this many values, reaching each singly beats unpacking all 1024.
    constexpr int64_t few = 48;
    const uint8_t* bytes = chunk->buffers[0];
    const int64_t size = chunk->sizes[0];
    if (chunk->num_values > kBlockValues || !runs_fit(*runs, chunk->num_values) || size < width)
      return "a bit-packed chunk contradicts its number of values";
    const T packed_bits = load<T>(bytes, 0);
    if (packed_bits > 8 * width || size != width + 128 * static_cast<int64_t>(packed_bits))
      return "a bit-packed chunk's size contradicts its bit width";
    const int64_t wanted = num_selected(*runs);
    if (wanted == kBlockValues) {
      Unpackers<T>::table[packed_bits](bytes + width, out->values);
      return kDone;
    }
    if (wanted > few) {
      alignas(64) uint8_t whole[kBlockValues * sizeof(T)];
      Unpackers<T>::table[packed_bits](bytes + width, whole);
      copy_fixed_runs(whole, width, *runs, out->values);
      return kDone;
    }
    uint8_t* to = out->values;
    for (int64_t run = 0; run < runs->num_runs; ++run)
      for (int64_t value = runs->starts[run]; value < runs->stops[run]; ++value, to += width)
        store<T>(to, 0, packed_value<T>(bytes + width, static_cast<int>(packed_bits), value));
    return kDone;
  }
};

// Decodes a whole chunk of fixed-width values by a kernel, at its place where all are wanted, else aside.
template <class Decode>
LaRefusal select_decoded(const LaChunk& chunk, int64_t width, const LaRuns& runs, LaValues* out, Decode decode) {
  if (!runs_fit(runs, chunk.num_values)) return "more values are wanted than a chunk has";
  if (chunk.num_values > (int64_t{1} << 31)) return LA_ABOVE_LIMIT;
  const int64_t num_bytes = chunk.num_values * width;
  if (num_selected(runs) == chunk.num_values) return decode(out->values, num_bytes).message;
  const Leased<std::vector<uint8_t>> whole;
  if (static_cast<int64_t>(whole->size()) < num_bytes) whole->resize(static_cast<size_t>(num_bytes));
  const Outcome outcome = decode(whole->data(), num_bytes);
  if (outcome.message == nullptr) copy_fixed_runs(whole->data(), width, runs, out->values);
  return outcome.message;
}

struct OutOfLineBitpacking {
  int word_bits;
  int packed_bits;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const OutOfLineBitpacking*>(self);
    return select_decoded(*chunk, form.word_bits / 8, *runs, out, [&](uint8_t* to, int64_t num_bytes) {
      const int64_t start = 0, borders[2] = {0, chunk->num_values};
      const Chunks one{chunk->buffers[0], chunk->sizes[0], &start, chunk->sizes, borders, 1};
      return unpack_out_of_line(one, form.word_bits, form.packed_bits, to, num_bytes);
    });
  }
};

// Run values and 8-bit run lengths, in two buffers or in one block.
struct RunLengths {
  int64_t width;
  bool is_block;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const RunLengths*>(self);
    return select_decoded(*chunk, form.width, *runs, out, [&](uint8_t* to, int64_t num_bytes) {
      const int64_t start = 0, borders[2] = {0, chunk->num_values};
      const Chunks one{chunk->buffers[0], chunk->sizes[0], &start, chunk->sizes, borders, 1};
      if (form.is_block) return expand_run_blocks(one, form.width, to, num_bytes);
      return with_value_type(form.width, [&]<class Value>() {
        const engine::Runs stored{chunk->buffers[0], chunk->sizes[0], chunk->buffers[1], chunk->sizes[1]};
        return expand_chunk<Value>(stored, Chunk{0, nullptr, 0, 0, chunk->num_values}, to, true);
      });
    });
  }
};

// Appends one value; `fill(to, room)` returns its bytes, or -1, which `wrong` explains.
template <class Fill>
LaRefusal append(LaValues* out, int64_t value, int64_t room, LaRefusal wrong, Fill fill) {
  uint8_t* to = out->reserve(out->host, out->end, room);
  if (to == nullptr) return LA_ABOVE_LIMIT;
  const int64_t num_bytes = fill(to, room);
  if (num_bytes < 0) return wrong;
  out->end += num_bytes;
  out->ends[value] = out->end;
  return kDone;
}

inline LaRefusal append_symbols(const SymbolTable& table, const uint8_t* codes, int64_t size, int64_t value,
                                LaValues* out) {
  // A code stands for at most 8 bytes; 8 more let every symbol be written whole.
  return append(out, value, 8 * size + 8, "an FSST value has a code without a symbol, or ends in an escape",
                [&](uint8_t* to, int64_t room) { return table.expand(codes, size, to, room); });
}

inline LaRefusal append_bytes(const uint8_t* from, int64_t size, int64_t value, LaValues* out) {
  return append(out, value, size, kDone, [&](uint8_t* to, int64_t) {
    copy_bytes(to, from, size);
    return size;
  });
}

// Appends runs of values whose stored offsets count from `first`, where `values` begin, and end at `last` or before.
template <class Offset>
LaRefusal append_runs(const uint8_t* offsets, const uint8_t* values, uint64_t first, uint64_t last, const LaRuns& runs,
                      LaValues* out) {
  constexpr int64_t width = sizeof(Offset);
  int64_t at = 0;
  for (int64_t run = 0; run < runs.num_runs; ++run) {
    const int64_t begin = runs.starts[run], count = runs.stops[run] - begin;
    const uint64_t start = load<Offset>(offsets, begin), stop = load<Offset>(offsets, begin + count);
    if (start < first || start > stop || stop > last || !ascending<Offset>(offsets + begin * width, count))
      return "a chunk's offsets descend or leave it";
    // Values of a run lie as they are wanted: one copy, then their ends.
    const auto num_bytes = static_cast<int64_t>(stop - start);
    uint8_t* to = out->reserve(out->host, out->end, num_bytes);
    if (to == nullptr) return LA_ABOVE_LIMIT;
    copy_bytes(to, values + (start - first), num_bytes);
    const int64_t shift = out->end - static_cast<int64_t>(start);
    for (int64_t value = 0; value < count; ++value)
      out->ends[at + value] = static_cast<int64_t>(load<Offset>(offsets, begin + value + 1)) + shift;
    out->end += num_bytes;
    at += count;
  }
  return kDone;
}

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

// Bytes that a child produces and another codec goes on with.
struct Intermediate {
  std::vector<uint8_t> bytes;
  std::vector<int64_t> ends;

  static uint8_t* reserve(void* self, int64_t end, int64_t num_bytes) {
    auto& bytes = static_cast<Intermediate*>(self)->bytes;
    if (num_bytes < 0 || num_bytes > (int64_t{1} << 40) - end) return nullptr;
    constexpr int64_t least = 1024;  // no bytes have a place too: null means refused
    const auto room = static_cast<int64_t>(bytes.size());
    if (room < std::max(end + num_bytes, least))
      bytes.resize(static_cast<size_t>(std::max({end + num_bytes, 2 * room, least})));
    return bytes.data() + end;
  }
};

inline int64_t kept_bytes(const Intermediate& held) {
  return engine::kept_bytes(held.bytes) + engine::kept_bytes(held.ends);
}

// FSST codes, which the child says where to find.
struct Symbols {
  const LaChunkCodec* child;
  SymbolTable table;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const Symbols*>(self);
    const Leased<Intermediate> leased;  // the child may be FSST too, or hold it
    Intermediate& codes = *leased;
    const int64_t count = num_selected(*runs);
    codes.ends.resize(static_cast<size_t>(count));
    LaValues place{nullptr, 0, codes.ends.data(), 0, &Intermediate::reserve, &codes};
    const LaRefusal refusal = form.child->select(form.child->self, chunk, runs, &place);
    if (refusal != nullptr) return refusal;
    const int64_t* ends = codes.ends.data();
    int64_t start = 0, alone = 0;  // values below `alone` are taken one by one
    for (int64_t value = 0; value < count;) {
      const uint8_t* bytes = codes.bytes.data() + start;
      if (value >= alone && count - value > 1 && form.table.is_compressed() && ends[value] - start < kLongValue) {
        const int64_t stop = stream_stop(codes.bytes.data(), ends, value, count, start);
        if (stop > value && append_stream(form.table, bytes, start, ends, value, stop, out)) {
          start = ends[stop - 1];
          value = stop;
          continue;
        }
        alone = std::max(stop, value + 1);
      }
      if (const LaRefusal failed = append_symbols(form.table, bytes, ends[value] - start, value, out)) return failed;
      start = ends[value++];
    }
    return kDone;
  }

  // First value that makes the stream of values value .. too long, or ends in an escape: see CodedValues::stream_stop.
  static int64_t stream_stop(const uint8_t* codes, const int64_t* ends, int64_t value, int64_t count, int64_t begin) {
    for (int64_t end = begin; value < count && ends[value] - begin <= kStreamCodes; end = ends[value++])
      if (ends[value] > end && codes[ends[value] - 1] == kEscape) break;
    return value;
  }

  // Appends values value .. stop, which are one stream; false when they must be taken one by one.
  static bool append_stream(const SymbolTable& table, const uint8_t* codes, int64_t begin, const int64_t* ends,
                            int64_t value, int64_t stop, LaValues* out) {
    uint32_t decoded[kStreamCodes + 1];
    const int64_t size = ends[stop - 1] - begin;
    uint8_t* to = out->reserve(out->host, out->end, 8 * size + 8);
    if (to == nullptr || !table.expand_stream(codes, size, to, decoded)) return false;
    for (; value < stop; ++value) out->ends[value] = out->end + decoded[ends[value] - begin];
    out->end += decoded[size];
    return true;
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
