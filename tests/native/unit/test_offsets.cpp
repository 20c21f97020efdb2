// offsets.hpp and utf8.hpp: offsets that overflow, descend or leave their chunk; characters cut by a border.
#include "engine/common/utf8.hpp"
#include "engine/decode/located_values.hpp"
#include "lance_arrow_codecs/variable/offsets.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;
using tests::refusal;

struct Decoded {
  std::string refused;
  Bytes bytes;
  std::vector<int32_t> offsets;
};

template <VariableForm form, class Offset>
Decoded decode(const Bytes& chunk, int64_t count, int64_t room, int32_t base = 0) {
  const int64_t start = 0, size = tests::size_of(chunk), borders[] = {0, count};
  Decoded found{"", Bytes(static_cast<size_t>(room)), {}};
  Bytes offsets(static_cast<size_t>(count + 1) * 4);
  store<int32_t>(offsets.data(), 0, base);
  const VariableOut out{offsets.data(), tests::size_of(offsets), 32, found.bytes.data(), room};
  const Chunks chunks{chunk.data(), size, &start, &size, borders, 1};
  found.refused = refusal(decode_variable<form>(chunks, 8 * sizeof(Offset), out));
  found.offsets = tests::numbers_of<int32_t>(offsets);
  return found;
}

template <class Offset>
Bytes chunk_of(const std::vector<Offset>& offsets, std::string_view letters) {
  return tests::joined({tests::bytes_of(offsets), tests::text(letters)});
}

constexpr auto kChunk = VariableForm::kChunk;
constexpr auto kBlock = VariableForm::kBlock;

TEST_CASE("chunks and blocks of both widths give their values") {
  const std::vector<int32_t> expected{0, 2, 2, 5};
  for (const Decoded& found : {decode<kChunk, uint32_t>(chunk_of<uint32_t>({16, 18, 18, 21}, "abcde"), 3, 5),
                               decode<kChunk, uint64_t>(chunk_of<uint64_t>({32, 34, 34, 37}, "abcde"), 3, 5),
                               decode<kBlock, uint32_t>(chunk_of<uint32_t>({32, 24, 0, 2, 2, 5}, "abcde"), 3, 5),
                               decode<kBlock, uint64_t>(chunk_of<uint64_t>({64, 48, 0, 2, 2, 5}, "abcde"), 3, 5)}) {
    CHECK(found.refused == "");
    CHECK(found.offsets == expected);
    CHECK(found.bytes == tests::text("abcde"));
  }
}

TEST_CASE("chunks whose offsets lie are refused") {
  const auto refused = [](const std::vector<uint32_t>& offsets) {
    return decode<kChunk, uint32_t>(chunk_of<uint32_t>(offsets, "abcde"), 3, 100).refused;
  };
  CHECK(refused({12, 18, 18, 21}) == "a chunk's first offset is not its header");
  CHECK(refused({16, 18, 17, 21}) == "a chunk's offsets descend");
  CHECK(refused({16, 18, 18, 22}) == "a chunk's offsets leave the chunk");
  CHECK(refused({16, 18, 0xFFFFFFFF, 21}) == "a chunk's offsets descend");
  CHECK(decode<kChunk, uint32_t>(Bytes(15), 3, 100).refused == "a chunk is shorter than its offsets");
  CHECK(decode<kChunk, uint64_t>(chunk_of<uint64_t>({16, UINT64_MAX}, ""), 1, 100).refused ==
        "a chunk's offsets leave the chunk");
}

TEST_CASE("blocks whose heads lie are refused") {
  const auto refused = [](const std::vector<uint32_t>& words) {
    return decode<kBlock, uint32_t>(chunk_of<uint32_t>(words, "abcde"), 1, 100).refused;
  };
  CHECK(refused({64, 16, 0, 5}) == "a block's offset width is wrong");
  CHECK(refused({32, 12, 0, 5}) == "a block's bytes do not follow its offsets");
  CHECK(refused({32, 16, 1, 5}) == "a block's first offset is not 0");
  CHECK(refused({32, 16, 0, 6}) == "a block's offsets leave it");
  CHECK(decode<kBlock, uint32_t>(Bytes(15), 1, 100).refused == "a block is shorter than its offsets");
  CHECK(decode<kBlock, uint32_t>({}, 0, 0).refused == "a block is shorter than its offsets");
}

TEST_CASE("offsets that the output cannot express, and bytes without room, are refused") {
  const Bytes chunk = chunk_of<uint32_t>({8, 13}, "abcde");
  CHECK(decode<kChunk, uint32_t>(chunk, 1, 5, INT32_MAX - 5).refused == "");
  CHECK(decode<kChunk, uint32_t>(chunk, 1, 5, INT32_MAX - 4).refused ==
        "the output is too small or its offsets too narrow");
  CHECK(decode<kChunk, uint32_t>(chunk, 1, 4).refused == "the output is too small or its offsets too narrow");
  CHECK(decode<kChunk, uint32_t>(chunk, 1, 5, -1).refused == "the base in out_offsets is negative");
}

TEST_CASE("sums of sizes do not overflow") {
  const int64_t sizes[] = {INT64_MAX, 1}, negative[] = {-1};
  int64_t total = 0;
  CHECK(refusal(measure_variable_values(sizes, 2, &total)) == "too many bytes");
  CHECK(refusal(measure_variable_values(negative, 1, &total)) == "a value has a negative size");
  CHECK(refusal(measure_variable_values(sizes, 1, &total)) == "");
  CHECK(total == INT64_MAX);
}

TEST_CASE("located values are those that are decoded, short and long, at both ends of the data") {
  const std::string letters(100, 'q');
  const Bytes data = tests::text(letters + "end");
  const int64_t starts[] = {0, 3, 100, 103, 0}, sizes[] = {3, 70, 3, 0, 33};
  Bytes out(109), offsets(6 * 8);
  const VariableOut place{offsets.data(), tests::size_of(offsets), 64, out.data(), tests::size_of(out)};
  REQUIRE(refusal(decode_variable_values(data.data(), tests::size_of(data), starts, sizes, 5, place)) == "");
  CHECK(std::string(out.begin() + 73, out.begin() + 76) == "end");
  CHECK(tests::numbers_of<int64_t>(offsets) == std::vector<int64_t>{0, 3, 73, 76, 76, 109});
}

std::string checked(const std::vector<uint32_t>& offsets, std::string_view letters) {
  const Bytes stored = tests::bytes_of(offsets), data = tests::text(letters);
  return refusal(check_utf8({stored.data(), tests::size_of(stored), 32}, data.data(), tests::size_of(data)));
}

TEST_CASE("characters of every length, and what only looks like one") {
  for (const char* good : {"", "a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    CHECK(valid_utf8(reinterpret_cast<const uint8_t*>(good), static_cast<int64_t>(std::strlen(good))));
  for (const char* bad :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xE0\xA0", "\xED\xA0\x80",
        "\xF0\x8F\xBF\xBF", "\xF0\x90\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xFE"})
    CHECK_FALSE(valid_utf8(reinterpret_cast<const uint8_t*>(bad), static_cast<int64_t>(std::strlen(bad))));
}

TEST_CASE("a bad byte is found at every place of a long text") {
  for (size_t size = 1; size < 80; ++size)
    for (size_t place = 0; place < size; ++place) {
      Bytes letters(size, 'a');
      REQUIRE(valid_utf8(letters.data(), tests::size_of(letters)));
      letters[place] = 0xC3;  // the lead of two bytes, before an ASCII letter or the end
      REQUIRE_FALSE(valid_utf8(letters.data(), tests::size_of(letters)));
    }
}

TEST_CASE("a border inside a character makes both values invalid") {
  const std::string letters = "\xC3\xA9\xE2\x82\xAC";
  CHECK(checked({0, 2, 5}, letters) == "");
  CHECK(checked({0, 1, 5}, letters) == "a string is not valid UTF-8");
  CHECK(checked({0, 2, 4, 5}, letters) == "a string is not valid UTF-8");
  CHECK(checked({0, 2, 4}, letters) == "a string is not valid UTF-8");
  CHECK(checked({0, 2}, letters) == "");
  CHECK(checked({2, 5}, letters) == "");
}

TEST_CASE("offsets of strings that descend or leave the data are refused") {
  CHECK(checked({0, 2, 1}, "abc") == "the offsets of strings are wrong");
  CHECK(checked({0, 4}, "abc") == "the offsets of strings are wrong");
  CHECK(checked({4, 4}, "abc") == "the offsets of strings are wrong");
  CHECK(checked({3, 3}, "abc") == "");
  CHECK(checked({}, "abc") == "");
}

}  // namespace
