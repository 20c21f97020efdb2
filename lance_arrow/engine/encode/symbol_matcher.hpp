// From bytes to FSST codes: finds the symbol at the beginning of a word of 8 bytes.
//
// A symbol of three bytes or more is in one of two slots, which its first three bytes select. So two lookups without a
// branch find it. Symbols without a free slot are not used. Shorter symbols are found by their bytes. Where the slots
// hold two that match, the longer one stands first.
#pragma once

#include <memory>

#include "engine/decode/symbols.hpp"

namespace lance_arrow::engine {

struct Symbol {
  uint64_t bytes;  // first byte lowest; unused ones are 0
  int size;  // 1..8
};

inline uint64_t lowest_bytes(int size) { return size == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * size)) - 1; }

class SymbolMatcher {
 public:
  static constexpr int kSlotBits = 11;
  static constexpr uint16_t kNoCode = 0xFFFF;

  // What stands at the beginning of a word: a code, or kNoCode for a byte without one.
  struct Match {
    uint16_t code;
    uint16_t size;

    // Becomes `other` if that is wanted; a branch would be guessed wrong every other time.
    void replace(const Match& other, bool is_wanted) {
      const uint32_t mask = uint32_t{0} - is_wanted;
      *this = std::bit_cast<Match>((std::bit_cast<uint32_t>(*this) & ~mask) | (std::bit_cast<uint32_t>(other) & mask));
    }
  };

  SymbolMatcher() { clear(); }

  void clear() {
    // The value 1 never matches: no masked word equals it.
    for (auto& slot : slots_) slot = {1, 0, {kNoCode, 1}, {}};
    for (auto& one : pairs_) one = {kNoCode, 1};
    for (auto& one : singles_) one = {kNoCode, 1};
    has_long_ = false;
  }

  // Whether a symbol has three bytes or more.
  bool has_long() const { return has_long_; }

  // False when all its slots are taken.
  bool add(const Symbol& symbol, uint16_t code) {
    const Match match{code, static_cast<uint16_t>(symbol.size)};
    if (symbol.size == 1) {
      singles_[symbol.bytes] = match;
      for (uint64_t second = 0; second < 256; ++second) {
        Match& pair = pairs_[symbol.bytes | second << 8];
        if (pair.size == 1) pair = match;
      }
      return true;
    }
    if (symbol.size == 2) {
      pairs_[symbol.bytes] = match;
      return true;
    }
    has_long_ = true;
    Slot* const slots = &slots_[2 * place(symbol.bytes)];
    if (slots[1].match.code != kNoCode) return false;
    const Slot slot{symbol.bytes, lowest_bytes(symbol.size), match, {}};
    if (slots[0].match.code == kNoCode) {
      slots[0] = slot;
    } else if (symbol.size > slots[0].match.size) {
      slots[1] = slots[0];
      slots[0] = slot;
    } else {
      slots[1] = slot;
    }
    return true;
  }

  // `word` holds the next bytes; `rest` of them (at least 1) may be used. Without long symbols, slots are skipped.
  template <bool kHasLong = true>
  Match find(uint64_t word, int64_t rest) const {
    Match found = pairs_[word & 0xFFFF];
    found.replace(singles_[word & 0xFF], rest < found.size);
    if constexpr (kHasLong) {
      const Slot* const slots = &slots_[2 * place(word)];
      found.replace(slots[1].match, slots[1].stands_in(word, rest));
      found.replace(slots[0].match, slots[0].stands_in(word, rest));
    }
    return found;
  }

  // The same where all 8 bytes may be used.
  template <bool kHasLong>
  Match find_in_whole(uint64_t word) const {
    Match found = pairs_[word & 0xFFFF];
    if constexpr (kHasLong) {
      const Slot* const slots = &slots_[2 * place(word)];
      found.replace(slots[1].match, (word & slots[1].mask) == slots[1].bytes);
      found.replace(slots[0].match, (word & slots[0].mask) == slots[0].bytes);
    }
    return found;
  }

 private:
  struct Slot {
    uint64_t bytes;
    uint64_t mask;
    Match match;
    uint32_t unused[3];

    bool stands_in(uint64_t word, int64_t rest) const { return ((word & mask) == bytes) & (match.size <= rest); }
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

}  // namespace lance_arrow::engine
