// What a fuzz target makes of the bytes of one input: numbers within limits, and buffers of exactly their size.
//
// A buffer is an allocation of its own, so that AddressSanitizer sees a read of one byte behind it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

// Tests use both, whether they include parts of them or not.
namespace lance_arrow::codecs {}
namespace lance_arrow::engine {}

namespace fuzz {

// Ends the process, which the fuzzer records as a crash of this input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

struct Buffer {
  std::unique_ptr<uint8_t[]> bytes;
  int64_t size = 0;

  explicit Buffer(int64_t num_bytes) : bytes(new uint8_t[static_cast<size_t>(num_bytes)]()), size(num_bytes) {}
  uint8_t* data() { return bytes.get(); }
  const uint8_t* data() const { return bytes.get(); }
};

inline bool same(const Buffer& left, const Buffer& right, int64_t num_bytes) {
  return num_bytes == 0 || std::memcmp(left.data(), right.data(), static_cast<size_t>(num_bytes)) == 0;
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  int64_t left() const { return end_ - at_; }

  // Little-endian, of `num_bytes`; missing bytes are 0.
  uint64_t raw(int num_bytes) {
    uint64_t value = 0;
    for (int byte = 0; byte < num_bytes && at_ != end_; ++byte) value |= uint64_t{*at_++} << (8 * byte);
    return value;
  }

  // A number from low to high, both included.
  int64_t number(int64_t low, int64_t high) {
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const int num_bytes = range <= 0xFF ? 1 : range <= 0xFFFF ? 2 : range <= 0xFFFFFFFF ? 4 : 8;
    const uint64_t found = raw(num_bytes);
    return static_cast<int64_t>(static_cast<uint64_t>(low) + (range == UINT64_MAX ? found : found % (range + 1)));
  }

  bool flag() { return (raw(1) & 1) != 0; }

  template <class T, size_t count>
  T one_of(const T (&choices)[count]) {
    return choices[static_cast<size_t>(number(0, static_cast<int64_t>(count) - 1))];
  }

  // The next bytes, as many as there are of `num_bytes`.
  Buffer bytes(int64_t num_bytes) {
    Buffer taken(std::min(num_bytes, left()));
    if (taken.size > 0) std::memcpy(taken.data(), at_, static_cast<size_t>(taken.size));
    at_ += taken.size;
    return taken;
  }

  // Bytes whose number the input tells in two bytes.
  Buffer counted() { return bytes(number(0, 0xFFFF)); }
  Buffer rest() { return bytes(left()); }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

// Ascending, disjoint, non-empty runs below num_values, which is at least 1.
struct Runs {
  std::vector<int64_t> starts, stops;

  Runs(Input& input, int64_t num_values) {
    int64_t at = 0;
    for (int64_t count = input.number(0, 12); count > 0 && at < num_values; --count) {
      const int64_t start = input.number(at, std::min(num_values - 1, at + 300));
      const int64_t stop = input.number(start + 1, std::min(num_values, start + 600));
      starts.push_back(start);
      stops.push_back(stop);
      at = stop;
    }
    if (starts.empty() && num_values > 0) {
      starts.push_back(num_values / 2);
      stops.push_back(num_values / 2 + 1);
    }
  }

  int64_t count() const { return static_cast<int64_t>(starts.size()); }
  int64_t num_selected() const {
    int64_t selected = 0;
    for (size_t run = 0; run < starts.size(); ++run) selected += stops[run] - starts[run];
    return selected;
  }
};

}  // namespace fuzz
