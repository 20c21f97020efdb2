// From bytes to FSST codes: finds the symbol at the beginning of a word of 8 bytes.
//
// A symbol of three bytes or more is in one of two slots, which its first three bytes select. So two lookups without a
// branch find it. Symbols without a free slot are not used. Shorter symbols are found by their bytes. Where the slots
// hold two that match, the longer one stands first.
#pragma once

#include <algorithm>

#include "lance_arrow_codecs/fsst/symbols.hpp"

namespace lance_arrow::codecs {

struct Symbol {
  uint64_t bytes;  // first byte lowest; unused ones are 0
  int size;  // 1..8
};

inline uint64_t lowest_bytes(int size) { return size == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * size)) - 1; }

class SymbolMatcher {
 public:
  static constexpr int kSlotBits = 11;

  // What stands at the beginning of a word, and the codes for it: one, or the escape and a byte without a code.
  // One number, so that it stays in a register.
  class Match {
   public:
    Match() = default;
    Match(uint32_t codes, int size, int num_codes)
        : all_(codes | static_cast<uint32_t>(size) << 16 | static_cast<uint32_t>(num_codes) << 24) {}

    uint16_t codes() const { return static_cast<uint16_t>(all_); }
    int size() const { return all_ >> 16 & 0xFF; }
    int num_codes() const { return static_cast<int>(all_ >> 24); }
    bool is_escape() const { return num_codes() == 2; }

    // Becomes `other` if that is wanted; a branch would be guessed wrong every other time.
    void replace(Match other, bool is_wanted) { all_ ^= (all_ ^ other.all_) & (uint32_t{0} - is_wanted); }

   private:
    uint32_t all_;
  };

  SymbolMatcher() { clear(); }

  void clear() {
    // The value 1 never matches: no masked word equals it.
    for (auto& slot : slots_) slot = {1, 0, Match(0, 0, 0), {}};
    for (uint32_t byte = 0; byte < 256; ++byte) singles_[byte] = Match(kEscape | byte << 8, 1, 2);
    for (size_t second = 0; second < 256; ++second) std::copy_n(singles_, 256, pairs_ + 256 * second);
    has_long_ = false;
  }

  // Whether a symbol has three bytes or more.
  bool has_long() const { return has_long_; }

  // False when all its slots are taken.
  bool add(const Symbol& symbol, uint8_t code) {
    const Match match(code, symbol.size, 1);
    if (symbol.size == 1) {
      singles_[symbol.bytes] = match;
      for (uint64_t second = 0; second < 256; ++second) {
        Match& pair = pairs_[symbol.bytes | second << 8];
        if (pair.size() == 1) pair = match;
      }
      return true;
    }
    if (symbol.size == 2) {
      pairs_[symbol.bytes] = match;
      return true;
    }
    has_long_ = true;
    Slot* const slots = &slots_[2 * place(symbol.bytes)];
    if (slots[1].match.size() != 0) return false;
    const Slot slot{symbol.bytes, lowest_bytes(symbol.size), match, {}};
    if (slots[0].match.size() == 0) {
      slots[0] = slot;
    } else if (symbol.size > slots[0].match.size()) {
      slots[1] = slots[0];
      slots[0] = slot;
    } else {
      slots[1] = slot;
    }
    return true;
  }

  // A byte alone.
  Match single(uint8_t byte) const { return singles_[byte]; }

  // `word` holds the next bytes; `rest` of them (at least 1) may be used.
  Match find(uint64_t word, int64_t rest) const {
    return rest == 1 ? singles_[word & 0xFF] : find_among<true>(word, rest);
  }

  // The same for at least 2. Without long symbols, slots are skipped.
  template <bool kHasLong>
  Match find_among(uint64_t word, int64_t rest) const {
    Match found = pairs_[word & 0xFFFF];
    if constexpr (kHasLong) {
      const Slot* const slots = &slots_[2 * place(word)];
      found.replace(slots[1].match, slots[1].stands_in(word, rest));
      found.replace(slots[0].match, slots[0].stands_in(word, rest));
    }
    return found;
  }

 private:
  struct Slot {
    uint64_t bytes;
    uint64_t mask;
    Match match;
    uint32_t unused[3];

    bool stands_in(uint64_t word, int64_t rest) const {
      return (((word & mask) ^ bytes) | static_cast<uint64_t>(rest - match.size()) >> 63) == 0;
    }
  };

  static uint64_t place(uint64_t word) {
    return static_cast<uint32_t>((word & 0xFFFFFF) * 2971215073u) >> (32 - kSlotBits);
  }

  // The two slots of a place share a cache line.
  alignas(64) Slot slots_[2 << kSlotBits];
  Match pairs_[1 << 16];
  Match singles_[256];
  bool has_long_;
};

inline int64_t kept_bytes(const SymbolMatcher&) { return sizeof(SymbolMatcher); }

}  // namespace lance_arrow::codecs
