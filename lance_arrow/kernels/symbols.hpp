// FSST: each code stands for a symbol of 1..8 bytes, code 255 for the literal byte that follows it (spec 5.6).
#pragma once

#include "variable.hpp"

namespace lance_arrow::kernels {

inline constexpr uint8_t kEscape = 255;

class SymbolTable {
 public:
  static constexpr int64_t kBytes = 8 + 256 * 8 + 256;

  Outcome open(const uint8_t* table, int64_t num_bytes) {
    if (num_bytes != kBytes) return corrupt("a symbol table has the wrong size", -1);
    if (std::memcmp(table + 4, "TSSF", 4) != 0) return corrupt("a symbol table has the wrong signature", -1);
    if (table[3] > 1) return corrupt("a symbol table's switch is neither 0 nor 1", -1);
    compressed_ = table[3] == 1;
    if (!compressed_) return success();
    const int num_symbols = table[0];
    for (int code = 0; code < num_symbols; ++code) {
      symbols_[code] = load<uint64_t>(table + 8, code);
      sizes_[code] = table[8 + 8 * num_symbols + code];
      if (sizes_[code] < 1 || sizes_[code] > 8) return corrupt("a symbol's length is not 1..8", code);
    }
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

  // Decodes a value into out[0..room), all of which may be scribbled over, and returns its size; -1 when the value
  // does not fit or measure() would refuse it.
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
    // Four codes without an escape, as long as four whole symbols fit.
    while (position + 4 <= size && end - out >= 32) {
      const uint32_t four = load<uint32_t>(codes + position, 0);
      if (has_escape(four)) {
        // The escape is among these four, or its literal just after: the careful path takes them one by one.
        out = expand_code(codes, size, &position, out, end, &bad);
        if (out == nullptr) return -1;
        continue;
      }
      for (int shift = 0; shift < 32; shift += 8) {
        const uint8_t code = static_cast<uint8_t>(four >> shift);
        std::memcpy(out, &symbols_[code], 8);
        out += sizes_[code];
        bad |= sizes_[code] - 1u;
      }
      position += 4;
    }
    while (position < size) {
      out = expand_code(codes, size, &position, out, end, &bad);
      if (out == nullptr) return -1;
    }
    return bad > 7 ? -1 : out - begin;
  }

 private:
  // A byte is 255 iff its complement is 0; the usual test for a zero byte in a word.
  static bool has_escape(uint32_t four) {
    const uint32_t complement = ~four;
    return ((complement - 0x01010101u) & ~complement & 0x80808080u) != 0;
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
    if (end - out >= 8)
      std::memcpy(out, &symbols_[code], 8);
    else
      std::memcpy(out, &symbols_[code], sizes_[code]);
    return out + sizes_[code];
  }

  bool compressed_ = false;
  uint64_t symbols_[256] = {};
  uint8_t sizes_[256] = {};
};

inline Outcome measure_symbols(const uint8_t* table_bytes, int64_t table_size, const uint8_t* data,
                               int64_t data_bytes, const int64_t* starts, const int64_t* sizes, int64_t num_values,
                               int64_t* total) {
  SymbolTable table;
  const Outcome outcome = table.open(table_bytes, table_size);
  if (outcome.message != nullptr) return outcome;
  *total = 0;
  for (int64_t value = 0; value < num_values; ++value) {
    if (!inside(starts[value], sizes[value], data_bytes)) return corrupt("a value lies outside its page", value);
    const int64_t size = table.measure(data + starts[value], sizes[value]);
    if (size < 0) return corrupt("a value uses codes without a symbol", value);
    if (__builtin_add_overflow(*total, size, total)) return corrupt("too many bytes", value);
  }
  return success();
}

inline Outcome expand_symbols(const uint8_t* table_bytes, int64_t table_size, const uint8_t* data, int64_t data_bytes,
                              const int64_t* starts, const int64_t* sizes, int64_t num_values,
                              const VariableOut& out) {
  return with_offset_type(out.offset_bits, [&]<class Out>() {
    SymbolTable table;
    Outcome begun = table.open(table_bytes, table_size);
    VariableWriter<Out> writer;
    if (begun.message == nullptr) begun = writer.open(out, 0);
    if (begun.message != nullptr) return begun;
    for (int64_t value = 0; value < num_values; ++value) {
      if (!inside(starts[value], sizes[value], data_bytes)) return corrupt("a value lies outside its page", value);
      if (!writer.fits(1, 0)) return too_small(value);
      const uint8_t* codes = data + starts[value];
      const int64_t size = table.expand(codes, sizes[value], writer.data, writer.room);
      if (size < 0 && table.measure(codes, sizes[value]) >= 0) return too_small(value);
      if (size < 0) return corrupt("a value uses codes without a symbol", value);
      writer.finish_value(size);
    }
    return success();
  });
}

}  // namespace lance_arrow::kernels
