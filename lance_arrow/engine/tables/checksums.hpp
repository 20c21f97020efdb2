// CRC32C (Castagnoli) of many pieces per call: the processor's instruction where there is one, tables elsewhere.
//
// The instruction takes three cycles but one can begin each cycle. So three streams of equal length run side by side
// and are combined. The checksum of A|B is that of A, advanced by as many zero bits as B has, xor that of B. Advancing
// by a fixed length is linear, hence four look-ups in a table made for that length.
#pragma once

#include <array>

#include "lance_arrow/outcome.hpp"

#if defined(_M_X64) || (defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__)))
#define LANCE_ARROW_CRC_X86 1
#include <nmmintrin.h>
#elif defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))
#define LANCE_ARROW_CRC_ARM 1
#include <arm_acle.h>
#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#endif

namespace lance_arrow::engine {

constexpr uint32_t kCastagnoli = 0x82F63B78u;  // reflected

// Portable: eight bytes per step.
struct CrcTables {
  std::array<std::array<uint32_t, 256>, 8> of;

  CrcTables() {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCastagnoli : 0);
      of[0][byte] = crc;
    }
    for (size_t step = 1; step < 8; ++step)
      for (size_t byte = 0; byte < 256; ++byte)
        of[step][byte] = (of[step - 1][byte] >> 8) ^ of[0][of[step - 1][byte] & 0xFF];
  }
};

inline uint32_t crc32c_portable(uint32_t crc, const uint8_t* bytes, int64_t size) {
  static const CrcTables tables;
  const auto& of = tables.of;
  crc = ~crc;
  for (; size >= 8; size -= 8, bytes += 8) {
    const uint64_t word = load<uint64_t>(bytes, 0) ^ crc;
    crc = 0;
    for (size_t byte = 0; byte < 8; ++byte) crc ^= of[7 - byte][(word >> (8 * byte)) & 0xFF];
  }
  for (; size > 0; --size, ++bytes) crc = (crc >> 8) ^ of[0][(crc ^ *bytes) & 0xFF];
  return ~crc;
}

// a * b modulo the polynomial; the highest bit is the coefficient of x^0.
inline uint32_t multiply_modulo(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (int bit = 31; bit >= 0; --bit) {
    if (((a >> bit) & 1) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kCastagnoli : 0);
  }
  return product;
}

// Advances a checksum by `num_bytes` zero bytes.
class Advance {
 public:
  explicit Advance(int64_t num_bytes) {
    uint32_t power = 0x80000000u, square = 0x40000000u;  // x^0, x^1
    for (uint64_t bits = static_cast<uint64_t>(num_bytes) * 8; bits != 0; bits >>= 1) {
      if ((bits & 1) != 0) power = multiply_modulo(power, square);
      square = multiply_modulo(square, square);
    }
    for (size_t place = 0; place < 4; ++place)
      for (uint32_t byte = 0; byte < 256; ++byte) of_[place][byte] = multiply_modulo(power, byte << (8 * place));
  }

  uint32_t operator()(uint32_t crc) const {
    return of_[0][crc & 0xFF] ^ of_[1][(crc >> 8) & 0xFF] ^ of_[2][(crc >> 16) & 0xFF] ^ of_[3][crc >> 24];
  }

 private:
  std::array<std::array<uint32_t, 256>, 4> of_;
};

#if defined(LANCE_ARROW_CRC_X86)
#if defined(__GNUC__) || defined(__clang__)
#define LANCE_ARROW_CRC_TARGET __attribute__((target("sse4.2")))
#else
#define LANCE_ARROW_CRC_TARGET
#endif
LANCE_ARROW_CRC_TARGET inline uint64_t crc_step(uint64_t crc, uint64_t word) { return _mm_crc32_u64(crc, word); }
LANCE_ARROW_CRC_TARGET inline uint32_t crc_byte(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }
inline bool has_crc_instruction() {
#if defined(_MSC_VER)
  return true;  // pyarrow's wheels want it too
#else
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
#endif
}
#elif defined(LANCE_ARROW_CRC_ARM)
#define LANCE_ARROW_CRC_TARGET __attribute__((target("+crc")))
LANCE_ARROW_CRC_TARGET inline uint64_t crc_step(uint64_t crc, uint64_t word) {
  return __crc32cd(static_cast<uint32_t>(crc), word);
}
LANCE_ARROW_CRC_TARGET inline uint32_t crc_byte(uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); }
inline bool has_crc_instruction() {
#if defined(__linux__)
  static const bool has = (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
  return has;
#else
  return true;  // every 64-bit ARM that runs another system we are built for has it
#endif
}
#endif

#if defined(LANCE_ARROW_CRC_TARGET)
constexpr int64_t kLongStream = 5440;  // three of these are a block of 16 KiB but for 64 bytes
constexpr int64_t kShortStream = 256;

template <int64_t kStream>
LANCE_ARROW_CRC_TARGET inline uint64_t crc_of_streams(uint64_t crc, const uint8_t*& bytes, int64_t& size) {
  static const Advance advance(kStream);
  for (; size >= 3 * kStream; size -= 3 * kStream, bytes += 3 * kStream) {
    uint64_t second = 0, third = 0;
    for (int64_t at = 0; at < kStream; at += 8) {
      crc = crc_step(crc, load<uint64_t>(bytes + at, 0));
      second = crc_step(second, load<uint64_t>(bytes + kStream + at, 0));
      third = crc_step(third, load<uint64_t>(bytes + 2 * kStream + at, 0));
    }
    crc = advance(static_cast<uint32_t>(advance(static_cast<uint32_t>(crc)) ^ second)) ^ third;
  }
  return crc;
}

LANCE_ARROW_CRC_TARGET inline uint32_t crc32c_instruction(uint32_t start, const uint8_t* bytes, int64_t size) {
  uint64_t crc = ~start;
  crc = crc_of_streams<kLongStream>(crc, bytes, size);
  crc = crc_of_streams<kShortStream>(crc, bytes, size);
  for (; size >= 8; size -= 8, bytes += 8) crc = crc_step(crc, load<uint64_t>(bytes, 0));
  auto rest = static_cast<uint32_t>(crc);
  for (; size > 0; --size, ++bytes) rest = crc_byte(rest, *bytes);
  return ~rest;
}
#else
inline bool has_crc_instruction() { return false; }
inline uint32_t crc32c_instruction(uint32_t start, const uint8_t* bytes, int64_t size) {
  return crc32c_portable(start, bytes, size);
}
#endif

// The checksum of what `crc` is the checksum of (0: of nothing), followed by these bytes.
inline uint32_t crc32c(uint32_t crc, const uint8_t* bytes, int64_t size) {
  return has_crc_instruction() ? crc32c_instruction(crc, bytes, size) : crc32c_portable(crc, bytes, size);
}

inline Outcome crc32c_blocks(const uint8_t* data, int64_t data_bytes, int64_t block_bytes, uint32_t* out,
                             int64_t num_blocks) {
  if (block_bytes < 1) return misuse("blocks must have at least one byte");
  if (num_blocks != data_bytes / block_bytes + (data_bytes % block_bytes != 0))
    return misuse("out has not one place per block");
  for (int64_t block = 0; block < num_blocks; ++block) {
    const int64_t start = block * block_bytes;
    out[block] = crc32c(0, data + start, data_bytes - start < block_bytes ? data_bytes - start : block_bytes);
  }
  return success();
}

inline Outcome crc32c_of(const uint8_t* data, int64_t data_bytes, const int64_t* starts, const int64_t* stops,
                         int64_t num_ranges, uint32_t* out) {
  for (int64_t range = 0; range < num_ranges; ++range) {
    if (starts[range] < 0 || stops[range] < starts[range] || stops[range] > data_bytes)
      return misuse("a range lies outside the data", range);
    out[range] = crc32c(0, data + starts[range], stops[range] - starts[range]);
  }
  return success();
}

}  // namespace lance_arrow::engine
