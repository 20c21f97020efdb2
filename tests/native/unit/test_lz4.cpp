// lz4.hpp: LZ4 blocks whose copies overlap, whose offsets leave what was produced, and whose lengths go on.
#include "lance_arrow_codecs/lz4/decoding.hpp"
#include "support.hpp"

namespace {

using lance_arrow::codecs::decode_lz4_block;
using tests::Bytes;

// The decoded bytes, or a word for a refusal. All of the room is checked.
std::string decoded(const Bytes& block, int64_t room) {
  Bytes out(static_cast<size_t>(room), 0xEE);
  if (!decode_lz4_block(block.data(), tests::size_of(block), out.data(), room)) return "refused";
  return {out.begin(), out.end()};
}

Bytes literals(std::string_view letters) {
  return tests::joined({{static_cast<uint8_t>(letters.size() << 4)}, tests::text(letters)});
}

TEST_CASE("literals alone, and none") {
  CHECK(decoded(literals("abc"), 3) == "abc");
  CHECK(decoded({0}, 0) == "");
  CHECK(decoded({}, 0) == "refused");
  CHECK(decoded(literals("abc"), 2) == "refused");
  CHECK(decoded(literals("abc"), 4) == "refused");
}

TEST_CASE("matches of offsets 1 to 20 repeat what they make") {
  const std::string letters = "abcdefghijklmnopqrst";
  for (size_t offset = 1; offset <= letters.size(); ++offset)
    for (size_t length = 4; length < 60; ++length) {
      std::string expected = letters.substr(0, offset);
      while (expected.size() < offset + length) expected += expected[expected.size() - offset];
      Bytes block;
      block.push_back(static_cast<uint8_t>(std::min<size_t>(offset, 15) << 4 | std::min<size_t>(length - 4, 15)));
      if (offset >= 15) block.push_back(static_cast<uint8_t>(offset - 15));
      block.insert(block.end(), letters.begin(), letters.begin() + static_cast<int64_t>(offset));
      block.push_back(static_cast<uint8_t>(offset));
      block.push_back(0);
      if (length - 4 >= 15) block.push_back(static_cast<uint8_t>(length - 4 - 15));
      // Five letters behind the match, as the format wants them, or one byte less room than all of it takes.
      block = tests::joined({block, literals("vwxyz")});
      CAPTURE(offset);
      CAPTURE(length);
      REQUIRE(decoded(block, static_cast<int64_t>(expected.size() + 5)) == expected + "vwxyz");
      REQUIRE(decoded(block, static_cast<int64_t>(expected.size() + 4)) == "refused");
    }
}

TEST_CASE("an offset is at least 1 and never leaves what was produced") {
  for (const uint8_t offset : {0, 4}) {
    const Bytes block = tests::joined({{0x30}, tests::text("abc"), {offset, 0}, literals("vwxyz")});
    CHECK(decoded(block, 12) == "refused");
  }
  CHECK(decoded(tests::joined({{0x30}, tests::text("abc"), {3, 0}, literals("vwxyz")}), 12) == "abcabcavwxyz");
  CHECK(decoded({0x00, 1, 0, 0x00}, 4) == "refused");
}

TEST_CASE("a block ends with literals, not within a sequence") {
  CHECK(decoded(tests::joined({{0x30}, tests::text("abc"), {3, 0}}), 7) == "refused");
  CHECK(decoded(tests::joined({{0x30}, tests::text("abc"), {3}}), 7) == "refused");
  CHECK(decoded(tests::joined({{0x40}, tests::text("abc")}), 4) == "refused");
}

TEST_CASE("lengths go on until a byte below 255") {
  const std::string long_text(15 + 255 + 7, 'x');
  CHECK(decoded(tests::joined({{0xF0, 255, 7}, tests::text(long_text)}), 277) == long_text);
  CHECK(decoded({0xF0}, 15) == "refused");
  CHECK(decoded({0xF0, 255}, 300) == "refused");
  CHECK(decoded(Bytes(100000, 255), 1 << 20) == "refused");
}

TEST_CASE("blocks lie in their data and their room") {
  using lance_arrow::codecs::decode_lz4_blocks;
  const Bytes data = literals("abc");
  Bytes out(3);
  const int64_t borders[] = {0, 3};
  const auto decode = [&](int64_t start, int64_t size, const int64_t* places) {
    return tests::refusal(
        decode_lz4_blocks(data.data(), tests::size_of(data), &start, &size, 1, out.data(), 3, places));
  };
  CHECK(decode(0, 4, borders) == "");
  CHECK(decode(1, 4, borders) == "a frame lies outside its page");
  CHECK(decode(-1, 4, borders) == "a frame lies outside its page");
  CHECK(decode(INT64_MAX, 4, borders) == "a frame lies outside its page");
  const int64_t beyond[] = {1, 4};
  CHECK(decode(0, 4, beyond) == "a block has no room in the output");
}

}  // namespace
