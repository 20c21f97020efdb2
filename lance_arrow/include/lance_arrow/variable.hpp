// Variable-width values in and out: offsets of 32 or 64 bits, checked once, then bytes moved.
#pragma once

#include <limits>
#include <type_traits>

#include "lance_arrow/outcome.hpp"

namespace lance_arrow {

// Offsets as stored: num_items + 1 unsigned integers.
struct StoredOffsets {
  const uint8_t* bytes;
  int64_t num_bytes;
  int bits;
};

// Where variable-width values go: offsets[position] already holds the base, values start at data[0].
struct VariableOut {
  uint8_t* offsets;
  int64_t offsets_bytes;
  int offset_bits;
  uint8_t* data;
  int64_t data_bytes;
};

// Calls visit.operator()<Offset>() with uint32_t or uint64_t.
template <class Visit>
Outcome with_offset_type(int bits, Visit&& visit) {
  switch (bits) {
    case 32: return visit.template operator()<uint32_t>();
    case 64: return visit.template operator()<uint64_t>();
    default: return misuse("offset_bits is neither 32 nor 64");
  }
}

// Calls visit.operator()<Index>() with the unsigned type of the indices.
template <class Visit>
Outcome with_index_type(int bits, int64_t num_bytes, Visit&& visit) {
  if (bits >= 8 && num_bytes % (bits / 8) != 0) return misuse("indices are not a whole number of indices");
  switch (bits) {
    case 8: return visit.template operator()<uint8_t>();
    case 16: return visit.template operator()<uint16_t>();
    case 32: return visit.template operator()<uint32_t>();
    case 64: return visit.template operator()<uint64_t>();
    default: return misuse("index_bits is none of 8, 16, 32, 64");
  }
}

// Fills a VariableOut value by value. Bytes of out.data after the last value may be scribbled over.
template <class Out>
struct VariableWriter {
  uint8_t* offsets;  // of the next value; offsets[0] is its start
  uint8_t* data;  // where the next value goes
  int64_t num_values;  // still free
  int64_t room;  // bytes still free, in data and in what Out can express
  Out end;  // Arrow offset of `data`

  // The base is the offset at position `first`.
  Outcome open(const VariableOut& out, int64_t first) {
    constexpr int64_t width = sizeof(Out);
    if (first < 0 || first >= out.offsets_bytes / width) return misuse("out_offsets does not hold the base");
    const auto base = load<std::make_signed_t<Out>>(out.offsets, first);
    if (base < 0) return misuse("the base in out_offsets is negative");
    const int64_t expressible = std::numeric_limits<std::make_signed_t<Out>>::max() - base;
    offsets = out.offsets + first * width;
    data = out.data;
    num_values = out.offsets_bytes / width - 1 - first;
    room = out.data_bytes < expressible ? out.data_bytes : expressible;
    end = static_cast<Out>(base);
    return success();
  }

  bool fits(int64_t values, int64_t num_bytes) const { return values <= num_values && num_bytes <= room; }

  // Ends the next value after num_bytes, which were already written to `data`.
  void finish_value(int64_t num_bytes) {
    end = static_cast<Out>(end + static_cast<Out>(num_bytes));
    store<Out>(offsets, 1, end);
    skip(1, num_bytes);
  }

  void skip(int64_t values, int64_t num_bytes) {
    offsets += values * static_cast<int64_t>(sizeof(Out));
    data += num_bytes;
    num_values -= values;
    room -= num_bytes;
  }

  // Ends `count` values whose ascending stored offsets start at stored[0], after their bytes were copied.
  template <class Offset>
  void finish_values(const uint8_t* stored, int64_t count) {
    const Offset first = load<Offset>(stored, 0);
    const Out shift = static_cast<Out>(end - static_cast<Out>(first));
    for (int64_t value = 1; value <= count; ++value)
      store<Out>(offsets, value, static_cast<Out>(static_cast<Out>(load<Offset>(stored, value)) + shift));
    const int64_t num_bytes = static_cast<int64_t>(load<Offset>(stored, count) - first);
    end = static_cast<Out>(end + static_cast<Out>(num_bytes));
    skip(count, num_bytes);
  }
};

inline Outcome too_small(int64_t index) { return misuse("the output is too small or its offsets too narrow", index); }

// True when num_values + 1 stored offsets never descend.
template <class Offset>
bool ascending(const uint8_t* offsets, int64_t num_values) {
  bool descends = false;
  for (int64_t value = 0; value < num_values; ++value)
    descends |= load<Offset>(offsets, value) > load<Offset>(offsets, value + 1);
  return !descends;
}

// Copies a value; short ones as one move of fixed size where neither side's array ends too early.
inline void copy_value(uint8_t* to, int64_t to_room, const uint8_t* from, int64_t from_room, int64_t size) {
  constexpr int64_t move_bytes = 32;
  if (size <= move_bytes && to_room >= move_bytes && from_room >= move_bytes) {
    uint8_t move[move_bytes];
    std::memcpy(move, from, move_bytes);
    std::memcpy(to, move, move_bytes);
  } else {
    copy_bytes(to, from, size);
  }
}

}  // namespace lance_arrow
