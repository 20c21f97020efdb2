// Hashes of byte strings, for tables that live as long as one call: nothing of them is stored.
#pragma once

#include <cstdint>

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

inline uint64_t mix_bits(uint64_t a, uint64_t b) {
  const __uint128_t product = static_cast<__uint128_t>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

constexpr uint64_t kFirstFactor = 0x9E3779B97F4A7C15u, kSecondFactor = 0xD6E8FEB86659FD93u;

// Up to 7 bytes as one number, which differs for different bytes of one size. A copy of a size that the compiler does
// not know would be a call.
inline uint64_t few_bytes(const uint8_t* bytes, int64_t size) {
  if (size >= 4) {
    const uint64_t last = load<uint32_t>(bytes + size - 4, 0);
    return load<uint32_t>(bytes, 0) | last << 32;
  }
  if (size == 0) return 0;
  return bytes[0] | static_cast<uint64_t>(bytes[size / 2]) << 8 | static_cast<uint64_t>(bytes[size - 1]) << 16;
}

inline uint64_t hash_bytes(const uint8_t* bytes, int64_t size) {
  uint64_t hash = static_cast<uint64_t>(size) * kFirstFactor;
  if (size < 8) return mix_bits(mix_bits(hash ^ few_bytes(bytes, size), kSecondFactor) ^ kSecondFactor, kFirstFactor);
  for (int64_t at = 0; at + 8 < size; at += 8) hash = mix_bits(hash ^ load<uint64_t>(bytes + at, 0), kSecondFactor);
  // The last 8 bytes may be hashed twice.
  hash = mix_bits(hash ^ load<uint64_t>(bytes + size - 8, 0), kSecondFactor);
  return mix_bits(hash ^ kSecondFactor, kFirstFactor);
}

inline bool equal_bytes(const uint8_t* a, const uint8_t* b, int64_t size) {
  if (size < 8) return few_bytes(a, size) == few_bytes(b, size);
  for (int64_t at = 0; at + 8 < size; at += 8)
    if (load<uint64_t>(a + at, 0) != load<uint64_t>(b + at, 0)) return false;
  return load<uint64_t>(a + size - 8, 0) == load<uint64_t>(b + size - 8, 0);
}

}  // namespace lance_arrow::engine
