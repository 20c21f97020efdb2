// Bytes of tests. A vector is made with exactly its size, so that AddressSanitizer sees what lies behind it.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "lance_arrow/outcome.hpp"

// Tests use both, whether they include parts of them or not.
namespace lance_arrow::codecs {}
namespace lance_arrow::engine {}

namespace tests {

using Bytes = std::vector<uint8_t>;

// The bytes of numbers, little-endian.
template <class T>
Bytes bytes_of(const std::vector<T>& numbers) {
  Bytes bytes(numbers.size() * sizeof(T));
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> numbers_of(const Bytes& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

inline Bytes text(std::string_view letters) { return {letters.begin(), letters.end()}; }

inline int64_t size_of(const Bytes& bytes) { return static_cast<int64_t>(bytes.size()); }

inline Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  all.shrink_to_fit();
  return all;
}

// Empty for success, else what was refused.
inline std::string refusal(const lance_arrow::Outcome& outcome) {
  return outcome.message == nullptr ? "" : outcome.message;
}

// A generator of the same numbers on every machine (SplitMix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t mixed = state_ += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
  }
  int64_t below(int64_t limit) { return static_cast<int64_t>(next() % static_cast<uint64_t>(limit)); }

 private:
  uint64_t state_;
};

}  // namespace tests
