#include "engine/encode/encoders/lz4_blocks.hpp"

#include <algorithm>

#include "engine/common/outcome.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kLeastMatch = 4, kLastLiterals = 5, kMatchLimit = 12, kSkipTrigger = 6, kHashBits = 13;
constexpr uint8_t kRun = 15;

class Lz4Block {
 public:
  Lz4Block(const uint8_t* bytes, int64_t num_bytes, uint8_t* out) : bytes_(bytes), size_(num_bytes), out_(out) {}

  int64_t encode() {
    uint8_t* const start = out_;
    if (size_ > kMatchLimit) find_matches();
    put_literals(anchor_, size_);
    return out_ - start;
  }

 private:
  uint32_t word(int64_t at) const { return load<uint32_t>(bytes_ + at, 0); }
  int64_t hash(int64_t at) const { return (word(at) * 2654435761u) >> (32 - kHashBits); }

  // Puts a place where equal words are found, and returns the one from before.
  int64_t replace(int64_t slot, int64_t at) {
    const int64_t before = places_[slot];
    places_[slot] = static_cast<uint16_t>(at);
    return before;
  }

  // Ends behind the last match; literals follow.
  void find_matches() {
    const int64_t last_start = size_ - kMatchLimit;
    replace(hash(0), 0);
    for (int64_t at = 1;;) {
      int64_t match = 0;
      if (!search(&at, &match, last_start)) return;
      while (at > anchor_ && match > 0 && bytes_[at - 1] == bytes_[match - 1]) {
        --at;
        --match;
      }
      uint8_t* token = put_literals(anchor_, at);
      for (;;) {
        at = put_match(token, at, match);
        anchor_ = at;
        if (at > last_start) return;
        replace(hash(at - 2), at - 2);
        match = replace(hash(at), at);
        if (word(match) != word(at)) break;
        token = out_++;
        *token = 0;
      }
      ++at;
    }
  }

  // The next place with the same word before it; in steps that grow as long as there is none.
  bool search(int64_t* at, int64_t* match, int64_t last_start) {
    int64_t forward = *at, step = 1, tries = int64_t{1} << kSkipTrigger;
    int64_t next_hash = hash(forward);
    for (;;) {
      const int64_t own_hash = next_hash;
      *at = forward;
      forward += step;
      step = tries++ >> kSkipTrigger;
      if (forward > last_start + 1) return false;
      next_hash = hash(forward);
      *match = replace(own_hash, *at);
      if (word(*match) == word(*at)) return true;
    }
  }

  void put_length(int64_t length) {
    for (; length >= 255; length -= 255) *out_++ = 255;
    *out_++ = static_cast<uint8_t>(length);
  }

  uint8_t* put_literals(int64_t from, int64_t to) {
    uint8_t* token = out_++;
    const int64_t length = to - from;
    *token = static_cast<uint8_t>(std::min<int64_t>(length, kRun) << 4);
    if (length >= kRun) put_length(length - kRun);
    copy_bytes(out_, bytes_ + from, length);
    out_ += length;
    return token;
  }

  int64_t put_match(uint8_t* token, int64_t at, int64_t match) {
    store<uint16_t>(out_, 0, static_cast<uint16_t>(at - match));
    out_ += 2;
    int64_t length = kLeastMatch;
    const int64_t most = size_ - kLastLiterals - at;
    while (length < most && bytes_[at + length] == bytes_[match + length]) ++length;
    const int64_t code = length - kLeastMatch;
    *token = static_cast<uint8_t>(*token + std::min<int64_t>(code, kRun));
    if (code >= kRun) put_length(code - kRun);
    return at + length;
  }

  const uint8_t* bytes_;
  int64_t size_;
  uint8_t* out_;
  int64_t anchor_ = 0;
  uint16_t places_[1 << kHashBits] = {};
};

}  // namespace

int64_t encode_small_lz4_block(const uint8_t* bytes, int64_t num_bytes, uint8_t* out) {
  return Lz4Block(bytes, num_bytes, out).encode();
}

}  // namespace lance_arrow::engine
