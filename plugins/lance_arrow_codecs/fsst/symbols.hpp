// FSST: each code stands for a symbol of 1..8 bytes, code 255 for the literal byte that follows it (spec 5.6).
#pragma once

#include <algorithm>
#include <bit>

#include "lance_arrow/outcome.hpp"
#include "lance_arrow/text_ranges.hpp"
#include "lance_arrow/variable.hpp"

namespace lance_arrow::codecs {

inline constexpr uint8_t kEscape = 255;

// Consecutive values are expanded as one stream of codes, this many at a time. A loop that ends with each short value
// would cost more in mispredicted branches than in codes.
inline constexpr int64_t kStreamCodes = 4096;

// The same for measuring, which needs no memory.
inline constexpr int64_t kMeasuredCodes = int64_t{1} << 28;

// A value of so many codes is worth a loop of its own.
inline constexpr int64_t kLongValue = 64;

// Encoded values, anywhere in the data.
struct CodedValues {
  const uint8_t* data;
  int64_t data_bytes;
  const int64_t* starts;
  const int64_t* sizes;
  int64_t num_values;

  bool holds(int64_t value) const { return inside(starts[value], sizes[value], data_bytes); }

  // First value from `value` on that does not continue the stream of those before it, or makes it longer than
  // `max_codes`. A value that ends in an escape, lone or itself escaped, is never part of a stream.
  int64_t stream_stop(int64_t value, int64_t max_codes) const {
    const int64_t begin = starts[value];
    int64_t end = begin;
    for (; value < num_values; ++value) {
      if (starts[value] != end || !holds(value) || sizes[value] > max_codes - (end - begin)) return value;
      end += sizes[value];
      if (sizes[value] != 0 && data[end - 1] == kEscape) return value;
    }
    return value;
  }
};

class SymbolTable {
 public:
  static constexpr int64_t kBytes = 8 + 256 * 8 + 256;

  Outcome open(const uint8_t* table, int64_t num_bytes) {
    if (num_bytes != kBytes) return corrupt("a symbol table has the wrong size", -1);
    if (std::memcmp(table + 4, "TSSF", 4) != 0) return corrupt("a symbol table has the wrong signature", -1);
    if (table[3] > 1) return corrupt("a symbol table's switch is neither 0 nor 1", -1);
    compressed_ = table[3] == 1;
    if (!compressed_) return success();
    const int num_symbols = num_symbols_ = table[0];
    std::memcpy(symbols_, table + 8, 8 * static_cast<size_t>(num_symbols));
    std::memcpy(sizes_, table + 8 + 8 * num_symbols, static_cast<size_t>(num_symbols));
    for (int code = 0; code < num_symbols; ++code)
      if (sizes_[code] < 1 || sizes_[code] > 8) return corrupt("a symbol's length is not 1..8", code);
    return success();
  }

  // Decoded bytes of a value, or -1 when it uses an unknown code or ends in a lone escape.
  int64_t measure(const uint8_t* codes, int64_t size) const {
    if (!compressed_) return size;
    int64_t total = 0, position = 0;
    uint32_t bad = 0;
    while (position < size) {
      const uint8_t code = codes[position];
      if (code == kEscape) {
        if (position + 1 == size) return -1;
        position += 2;
        total += 1;
      } else {
        position += 1;
        total += sizes_[code];
        bad |= sizes_[code] - 1u;  // the length 0 of an unknown code sets the high bits
      }
    }
    return bad > 7 ? -1 : total;
  }

  // Decoded bytes of a stream without lone escapes, or -1 when it uses an unknown code.
  int64_t measure_stream(const uint8_t* codes, int64_t size) const {
    if (!compressed_) return size;
    int64_t total = 0, position = 0;
    uint32_t bad = 0;
    const auto count = [&](uint8_t code) {
      total += sizes_[code];
      bad |= sizes_[code] - 1u;
    };
    while (position < size) {
      if (position + 8 <= size) {
        const uint64_t eight = load<uint64_t>(codes + position, 0);
        if (!has_escape(eight)) {
          for (int shift = 0; shift < 64; shift += 8) count(static_cast<uint8_t>(eight >> shift));
          position += 8;
          continue;
        }
      }
      const uint8_t code = codes[position];
      const bool escapes = code == kEscape;
      if (escapes) ++total;
      else count(code);
      position += escapes ? 2 : 1;
    }
    return bad > 7 ? -1 : total;
  }

  // Decodes a stream without lone escapes, of at most kStreamCodes, to `out`, which has 8 bytes per code. ends[i]
  // becomes the number of decoded bytes before code i. Returns false for an unknown code.
  bool expand_stream(const uint8_t* codes, int64_t size, uint8_t* out, uint32_t* ends) const {
    uint8_t* const begin = out;
    if (all_symbols(codes, size)) {
      ends[size] = static_cast<uint32_t>(expand_symbols<true>(codes, size, out, ends) - begin);
      return true;
    }
    for (int64_t position = 0; position < size;) {
      const uint8_t code = codes[position];
      ends[position] = static_cast<uint32_t>(out - begin);
      if (code == kEscape) {
        *out++ = codes[position + 1];
        position += 2;
        continue;
      }
      if (sizes_[code] == 0) return false;
      std::memcpy(out, &symbols_[code], 8);
      out += sizes_[code];
      position += 1;
    }
    ends[size] = static_cast<uint32_t>(out - begin);
    return true;
  }

  bool is_compressed() const { return compressed_; }

  // Whether codes of several values are known to be right at a glance: none escapes, and each has a symbol.
  bool all_known(const uint8_t* codes, int64_t size) const { return !compressed_ || all_symbols(codes, size); }

  // Finds the side of a range that values lie on which begin with a code. An escape has no bytes here, which decide
  // nothing.
  void find_sides(const RangeHead& head, uint8_t* sides) const {
    for (int code = 0; code < 256; ++code) sides[code] = static_cast<uint8_t>(head.side(symbols_[code], sizes_[code]));
  }

  // As `compare_text` of the value that codes stand for, which measure() accepts. Those behind the first difference are
  // not looked at.
  int compare(const uint8_t* codes, int64_t size, const LaTextBound& bound) const {
    if (!compressed_) return compare_text(codes, size, bound);
    int64_t at = 0;
    for (int64_t position = 0; position < size;) {
      const uint8_t code = codes[position++];
      const bool escapes = code == kEscape;
      const uint64_t symbol = escapes ? codes[position++] : symbols_[code];
      const int64_t width = escapes ? 1 : sizes_[code], both = std::min(width, bound.size - at);
      if (both <= 0) return 1;
      const uint64_t differing = (symbol ^ load<uint64_t>(bound.bytes + at, 0)) << (64 - 8 * both);
      if (differing != 0) {
        const int shift = (std::countr_zero(differing) & ~7) - static_cast<int>(64 - 8 * both);
        return static_cast<uint8_t>(symbol >> shift) < bound.bytes[at + shift / 8] ? -1 : 1;
      }
      if (both < width) return 1;
      at += width;
    }
    return at == bound.size ? 0 : -1;
  }

  // Decodes a value into out[0..room) and returns its size; it may overwrite all of these bytes. -1 if the value does
  // not fit, or if measure() would reject it.
  int64_t expand(const uint8_t* codes, int64_t size, uint8_t* out, int64_t room) const {
    if (!compressed_) {
      if (size > room) return -1;
      copy_bytes(out, codes, size);
      return size;
    }
    const uint8_t* begin = out;
    const uint8_t* end = out + room;
    int64_t position = 0;
    uint32_t bad = 0;
    // Strips of plain symbols, as long as the room is enough for whole ones.
    while (position + 8 <= size && end - out >= 64) {
      const int64_t strip = std::min<int64_t>({size - position, kStreamCodes, (end - out) / 8});
      if (!all_symbols(codes + position, strip)) break;
      out = expand_symbols<false>(codes + position, strip, out, nullptr);
      position += strip;
    }
    // Eight codes without an escape, or one with what follows it.
    while (position + 8 <= size && end - out >= 64) {
      const uint64_t eight = load<uint64_t>(codes + position, 0);
      if (has_escape(eight)) {
        out = expand_code(codes, size, &position, out, end, &bad);
        if (out == nullptr) return -1;
        continue;
      }
      for (int shift = 0; shift < 64; shift += 8) {
        const uint8_t code = static_cast<uint8_t>(eight >> shift);
        std::memcpy(out, &symbols_[code], 8);
        out += sizes_[code];
        bad |= sizes_[code] - 1u;
      }
      position += 8;
    }
    while (position < size) {
      out = expand_code(codes, size, &position, out, end, &bad);
      if (out == nullptr) return -1;
    }
    return bad > 7 ? -1 : out - begin;
  }

 private:
  // Whether no code escapes or is unknown.
  bool all_symbols(const uint8_t* codes, int64_t size) const {
    uint8_t largest = 0;
    for (int64_t position = 0; position < size; ++position) largest = std::max(largest, codes[position]);
    return largest < num_symbols_;
  }

  // Decodes codes that all have a symbol to `out`, which has room for 8 bytes per code; returns where it ends.
  template <bool has_ends>
  uint8_t* expand_symbols(const uint8_t* codes, int64_t size, uint8_t* out, uint32_t* ends) const {
    const uint8_t* const begin = out;
    const auto expand = [&](int64_t position, uint8_t code) {
      if constexpr (has_ends) ends[position] = static_cast<uint32_t>(out - begin);
      std::memcpy(out, &symbols_[code], 8);
      out += sizes_[code];
    };
    int64_t position = 0;
    for (; position + 8 <= size; position += 8) {
      const uint64_t eight = load<uint64_t>(codes + position, 0);
      for (int item = 0; item < 8; ++item) expand(position + item, static_cast<uint8_t>(eight >> (8 * item)));
    }
    for (; position < size; ++position) expand(position, codes[position]);
    return out;
  }

  // A byte is 255 iff its complement is 0; the usual test for a zero byte in a word.
  template <class Word>
  static bool has_escape(Word codes) {
    constexpr Word kOnes = static_cast<Word>(0x0101010101010101u);
    const Word complement = static_cast<Word>(~codes);
    return ((complement - kOnes) & codes & (kOnes << 7)) != 0;
  }

  // One code, escape or not; nullptr when it is a trailing escape or does not fit.
  uint8_t* expand_code(const uint8_t* codes, int64_t size, int64_t* position, uint8_t* out, const uint8_t* end,
                       uint32_t* bad) const {
    const uint8_t code = codes[(*position)++];
    if (code == kEscape) {
      if (*position == size || out == end) return nullptr;
      *out = codes[(*position)++];
      return out + 1;
    }
    *bad |= sizes_[code] - 1u;
    if (sizes_[code] > end - out) return nullptr;
    if (end - out >= 8) std::memcpy(out, &symbols_[code], 8);
    else std::memcpy(out, &symbols_[code], sizes_[code]);
    return out + sizes_[code];
  }

  bool compressed_ = false;
  int num_symbols_ = 0;
  uint64_t symbols_[256] = {};
  uint8_t sizes_[256] = {};  // 0 of unknown codes
};
Outcome measure_symbols(const uint8_t* table_bytes, int64_t table_size, const CodedValues& values, int64_t* total);

// Expands values value .. stop, which are one stream; false when they must be taken one by one.
template <class Out>
bool expand_stream(const SymbolTable& table, const CodedValues& values, int64_t value, int64_t stop,
                   VariableWriter<Out>* writer) {
  uint32_t ends[kStreamCodes + 1];
  const int64_t begin = values.starts[value];
  const int64_t size = values.starts[stop - 1] + values.sizes[stop - 1] - begin;
  if (!table.expand_stream(values.data + begin, size, writer->data, ends)) return false;
  const Out base = writer->end;
  for (int64_t item = 0; item < stop - value; ++item) {
    const int64_t end = values.starts[value + item] + values.sizes[value + item] - begin;
    store<Out>(writer->offsets, item + 1, static_cast<Out>(base + ends[end]));
  }
  writer->end = static_cast<Out>(base + ends[size]);
  writer->skip(stop - value, ends[size]);
  return true;
}

Outcome expand_symbols(const uint8_t* table_bytes, int64_t table_size, const CodedValues& values,
                       const VariableOut& out);

}  // namespace lance_arrow::codecs
