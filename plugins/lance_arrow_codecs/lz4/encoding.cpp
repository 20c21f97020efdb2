#include "lance_arrow_codecs/lz4/encoding.hpp"

#include <algorithm>
#include <array>

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::codecs {

namespace {

// A match has at least 4 bytes, starts 12 bytes before the end at the latest, and leaves 5 literals.
constexpr int64_t kLeastMatch = 4, kMatchStart = 12, kLastLiterals = 5;
constexpr int kHashBits = 13, kStepBits = 6;
constexpr int64_t kInToken = 15;

uint32_t word(const uint8_t* at) { return load<uint32_t>(at, 0); }
uint32_t hash_of(const uint8_t* at) { return word(at) * 2654435761U >> (32 - kHashBits); }

// Counts the bytes of sequences: a token, literals, and a match.
struct Counter {
  int64_t num_bytes = 0;

  static int64_t beyond_token(int64_t number) { return number >= kInToken ? (number - kInToken) / 255 + 1 : 0; }
  void literals(const uint8_t*, int64_t count) { num_bytes += 1 + beyond_token(count) + count; }
  void match(int64_t, int64_t length) { num_bytes += 2 + beyond_token(length - kLeastMatch); }
};

struct Writer {
  uint8_t* out;
  uint8_t* token = nullptr;

  void put_beyond_token(int64_t number) {
    if (number < kInToken) return;
    for (number -= kInToken; number >= 255; number -= 255) *out++ = 255;
    *out++ = static_cast<uint8_t>(number);
  }
  void literals(const uint8_t* bytes, int64_t count) {
    token = out++;
    *token = static_cast<uint8_t>(std::min(count, kInToken) << 4);
    put_beyond_token(count);
    copy_bytes(out, bytes, count);
    out += count;
  }
  void match(int64_t distance, int64_t length) {
    store<uint16_t>(out, 0, static_cast<uint16_t>(distance));
    out += 2;
    *token = static_cast<uint8_t>(*token + std::min(length - kLeastMatch, kInToken));
    put_beyond_token(length - kLeastMatch);
  }
};

template <class Output>
void compress(const uint8_t* data, int64_t size, Output& out) {
  if (size <= kMatchStart) return out.literals(data, size);
  std::array<uint16_t, size_t{1} << kHashBits> places{};
  const int64_t last_start = size - kMatchStart, match_end = size - kLastLiterals;
  int64_t at = 1, anchor = 0;
  uint32_t hash = hash_of(data + at);
  for (;;) {
    // The longer nothing repeats, the larger are the steps.
    int64_t match, next = at, step = 1, searched = int64_t{1} << kStepBits;
    do {
      at = next;
      next += step;
      step = searched++ >> kStepBits;
      if (next > last_start + 1) return out.literals(data + anchor, size - anchor);
      match = places[hash];
      places[hash] = static_cast<uint16_t>(at);
      hash = hash_of(data + next);
    } while (word(data + match) != word(data + at));
    while (at > anchor && match > 0 && data[at - 1] == data[match - 1]) --at, --match;
    do {
      out.literals(data + anchor, at - anchor);
      int64_t stop = at + kLeastMatch;
      while (stop < match_end && data[stop] == data[stop - at + match]) ++stop;
      out.match(at - match, stop - at);
      at = anchor = stop;
      if (at > last_start) return out.literals(data + anchor, size - anchor);
      places[hash_of(data + at - 2)] = static_cast<uint16_t>(at - 2);
      hash = hash_of(data + at);
      match = places[hash];
      places[hash] = static_cast<uint16_t>(at);
    } while (word(data + match) == word(data + at));
    hash = hash_of(data + ++at);
  }
}

}  // namespace

int64_t encode_small_lz4_block(const uint8_t* bytes, int64_t num_bytes, uint8_t* out) {
  Writer writer{out};
  compress(bytes, num_bytes, writer);
  return writer.out - out;
}

int64_t lz4_block_bytes(const uint8_t* bytes, int64_t num_bytes) {
  Counter counter;
  compress(bytes, num_bytes, counter);
  return counter.num_bytes;
}

}  // namespace lance_arrow::codecs
