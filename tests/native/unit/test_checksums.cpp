// checksums.hpp: CRC32C of bytes at any address and of any size, by instruction and by tables.
#include "engine/tables/checksums.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;

uint32_t bit_by_bit(const uint8_t* bytes, int64_t size) {
  uint32_t crc = ~uint32_t{0};
  for (int64_t byte = 0; byte < size; ++byte) {
    crc ^= bytes[byte];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kCastagnoli : 0);
  }
  return ~crc;
}

Bytes random_bytes(size_t size) {
  tests::Random random(18);
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
  return bytes;
}

TEST_CASE("known checksums") {
  const Bytes digits = tests::text("123456789"), zeros(32), ones(32, 0xFF);
  for (const auto& checksum : {crc32c, crc32c_portable}) {
    CHECK(checksum(0, digits.data(), 9) == 0xE3069283u);
    CHECK(checksum(0, zeros.data(), 32) == 0x8A9136AAu);  // RFC 3720, B.4
    CHECK(checksum(0, ones.data(), 32) == 0x62A8AB43u);
    CHECK(checksum(0, nullptr, 0) == 0);
  }
}

TEST_CASE("bytes at any address") {
  const Bytes bytes = random_bytes(9000);
  for (int64_t start = 0; start < 9; ++start)
    for (const int64_t size : {0, 1, 7, 8, 9, 63, 255, 256, 767, 768, 769, 2000, 8000}) {
      const uint32_t expected = bit_by_bit(bytes.data() + start, size);
      REQUIRE(crc32c(0, bytes.data() + start, size) == expected);
      REQUIRE(crc32c_portable(0, bytes.data() + start, size) == expected);
    }
}

TEST_CASE("three streams side by side, and what is left of them") {
  const Bytes bytes = random_bytes(2 * 3 * 5440 + 3 * 256 + 15);
  for (const int64_t less : {0, 1, 8, 15, 16, 769, 784})
    REQUIRE(crc32c(0, bytes.data(), tests::size_of(bytes) - less) ==
            crc32c_portable(0, bytes.data(), tests::size_of(bytes) - less));
}

TEST_CASE("a checksum goes on where another ended") {
  const Bytes bytes = random_bytes(3000);
  const uint32_t whole = crc32c(0, bytes.data(), 3000);
  for (const int64_t cut : {0, 1, 8, 1500, 2999, 3000})
    CHECK(crc32c(crc32c(0, bytes.data(), cut), bytes.data() + cut, 3000 - cut) == whole);
}

TEST_CASE("blocks, of which the last is short") {
  const Bytes bytes = random_bytes(10);
  uint32_t found[3];
  CHECK(tests::refusal(crc32c_blocks(bytes.data(), 10, 4, found, 3)) == "");
  CHECK(found[2] == crc32c(0, bytes.data() + 8, 2));
  CHECK(crc32c_blocks(bytes.data(), 10, 4, found, 2).blame == kCaller);
  CHECK(crc32c_blocks(bytes.data(), 10, 0, found, 3).blame == kCaller);
  CHECK(tests::refusal(crc32c_blocks(nullptr, 0, 4, nullptr, 0)) == "");
  const int64_t start = 3, stop = 11, before = 2;
  CHECK(crc32c_of(bytes.data(), 10, &start, &stop, 1, found).blame == kCaller);
  CHECK(crc32c_of(bytes.data(), 10, &start, &before, 1, found).blame == kCaller);
}

}  // namespace
