// What codecs share that offer C tables (lance_arrow_native.h): values selected from decoded ones, values of any length
// appended, tables that own what they point to.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lance_arrow/bits.hpp"
#include "lance_arrow/scratch.hpp"
#include "lance_arrow/variable.hpp"
#include "lance_arrow_native.h"

namespace lance_arrow {

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

// All values of a block, one after the other; `out` has room for them.
inline LaRefusal select_all(const LaChunkCodec& codec, const LaChunk& chunk, uint8_t* out) {
  const int64_t start = 0;
  const LaRuns all{&start, &chunk.num_values, chunk.num_values > 0 ? 1 : 0};
  LaValues place{out, 0, nullptr, 0, nullptr, nullptr};
  return codec.select(codec.self, &chunk, &all, &place);
}

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
  return lance_arrow::kept_bytes(held.bytes) + lance_arrow::kept_bytes(held.ends);
}

// `child` is the Python object, a capsule, that the form points into; who drops the holder drops it too.
struct HeldChunkCodec : LaChunkCodec {
  std::shared_ptr<void> form;
  void* child;
};

struct HeldValueCodec : LaValueCodec {
  std::shared_ptr<void> form;
  void* child;
};

struct HeldFrameCodec : LaFrameCodec {
  std::shared_ptr<void> form;
};

struct HeldFramePrefixes : LaFramePrefixes {};

struct HeldChunkMarks : LaChunkMarks {
  std::shared_ptr<void> form;
  void* child = nullptr;
};

struct HeldStoredValues : LaStoredValues {
  std::shared_ptr<void> form;
};

template <class Form>
HeldChunkCodec* hold(std::shared_ptr<Form> form, int64_t bits, int64_t num_buffers, int64_t plain_bytes) {
  return new HeldChunkCodec{{bits, num_buffers, plain_bytes, form.get(), &Form::select}, form, nullptr};
}

template <class Form>
HeldChunkCodec* hold_one(Form form, int64_t bits, int64_t num_buffers) {
  return hold(std::make_shared<Form>(std::move(form)), bits, num_buffers, 0);
}

// A form without a function of this name has null in its place.
template <class Form>
HeldChunkMarks* hold_marks(Form form) {
  auto kept = std::make_shared<Form>(std::move(form));
  auto* held = new HeldChunkMarks{{sizeof(LaChunkMarks), kept.get(), nullptr, nullptr, nullptr}, kept};
  if constexpr (requires { &Form::select_where; }) held->select_where = &Form::select_where;
  if constexpr (requires { &Form::summarise; }) held->summarise = &Form::summarise;
  if constexpr (requires { &Form::select_texts; }) held->select_texts = &Form::select_texts;
  return held;
}

template <class Form>
HeldValueCodec* hold_values(std::shared_ptr<Form> form, int64_t bits, bool is_plain) {
  return new HeldValueCodec{{bits, is_plain, form.get(), &Form::expand}, form, nullptr};
}

// Values back to back, as they are.
struct PlainChunks {
  int64_t bits;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const int64_t bits = static_cast<const PlainChunks*>(self)->bits;
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

// Zipped values as they are.
struct ZippedPlain {
  int64_t bits;

  static LaRefusal expand(const void* self, const uint8_t* data, const int64_t* starts, const int64_t* sizes,
                          int64_t num_values, LaValues* out) {
    const auto& form = *static_cast<const ZippedPlain*>(self);
    const int64_t width = form.bits / 8;
    for (int64_t value = 0; value < num_values; ++value) {
      const uint8_t* from = data + starts[value];
      if (form.bits == 0) {
        if (const LaRefusal refusal = append_bytes(from, sizes[value], value, out)) return refusal;
        continue;
      }
      if (sizes[value] != width) return "a zipped value has another size than its description";
      copy_bytes(out->values + value * width, from, width);
    }
    return kDone;
  }
};

// Values of 1 bit or of whole bytes.
inline HeldChunkCodec* hold_plain_chunks(int64_t bits) {
  return hold(std::make_shared<PlainChunks>(PlainChunks{bits}), bits, 1, bits % 8 == 0 ? bits / 8 : 0);
}

// Zipped values of so many bits each, or (0) of any length.
inline HeldValueCodec* hold_plain_values(int64_t bits) {
  return hold_values(std::make_shared<ZippedPlain>(ZippedPlain{bits}), bits, true);
}

}  // namespace lance_arrow
