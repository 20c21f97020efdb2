// chunk_tables.hpp: words and headers of chunks that sum to something else than their page.
#include "engine/tables/chunk_tables.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;
using tests::refusal;

std::string parsed(const Bytes& words, bool large, int64_t num_values, int64_t data_bytes) {
  const int64_t num_chunks = tests::size_of(words) / (large ? 4 : 2);
  std::vector<int64_t> starts(static_cast<size_t>(num_chunks + 1)), value_starts(starts);
  const std::string refused =
      refusal(parse_chunk_words(words.data(), tests::size_of(words), large, num_values, data_bytes, starts.data(),
                                num_chunks + 1, value_starts.data(), num_chunks + 1));
  return refused.empty() ? std::to_string(starts.back()) + " " + std::to_string(value_starts.back()) : refused;
}

Bytes narrow(const std::vector<uint16_t>& words) { return tests::bytes_of(words); }

TEST_CASE("chunks add up to their page") {
  CHECK(parsed(narrow({0x12, 0x00}), false, 7, 24) == "24 7");
  CHECK(parsed(narrow({0x12, 0x01}), false, 6, 24) == "24 6");
  CHECK(parsed(narrow({0x00}), false, 0, 8) == "8 0");
  CHECK(parsed(tests::bytes_of<uint32_t>({0xFFFFFFF2}), true, 4, int64_t{1} << 31) == "2147483648 4");
}

TEST_CASE("chunks that do not are refused") {
  CHECK(parsed({}, false, 0, 0) == "the chunk table is empty");
  CHECK(parsed({1}, false, 0, 0) == "the chunk table is not a whole number of words");
  CHECK(parsed(narrow({0x10, 0x00}), false, 7, 24) == "a chunk that is not the last has no number of values");
  CHECK(parsed(narrow({0x12, 0x00}), false, 7, 23) == "the chunks are larger than their buffer");
  CHECK(parsed(narrow({0x12, 0x00}), false, 7, 25) == "the chunks are smaller than their buffer");
  CHECK(parsed(narrow({0x12, 0x00}), false, 3, 24) == "the chunks hold more values than the page");
  CHECK(parsed(narrow({0x12, 0x02}), false, 7, 24) == "the last chunk does not have the remaining values of the page");
  CHECK(parsed(narrow({0x00}), false, 1 << 15, 8) == "8 32768");
  CHECK(parsed(narrow({0x00}), false, (1 << 15) + 1, 8) == "the last chunk would hold more values than a chunk can");
}

TEST_CASE("headers tell the parts of a chunk, padded to 8 bytes, and nothing more") {
  Bytes chunk(24);
  store<uint16_t>(chunk.data(), 0, 3);
  store<uint16_t>(chunk.data(), 1, 5);
  store<uint16_t>(chunk.data(), 2, 8);
  const int64_t start = 0;
  int64_t stop = 24, levels, rep_start, rep_size, def_start, def_size, place, size;
  const HeaderOut out{&levels, &rep_start, &rep_size, &def_start, &def_size, &place, &size};
  const auto parse = [&](const HeaderForm& form) {
    return refusal(parse_chunk_headers(chunk.data(), 24, &start, &stop, 1, form, out));
  };
  CHECK(parse({false, true, 1, false}) == "");
  CHECK((def_start == 8 && def_size == 5 && place == 16 && size == 8));
  CHECK(parse({false, false, 2, false}) == "a chunk has levels without a stream, or a stream without levels");
  store<uint16_t>(chunk.data(), 2, 0);
  CHECK(parse({false, true, 1, false}) == "a chunk is longer than its buffers");
  store<uint16_t>(chunk.data(), 2, 9);
  CHECK(parse({false, true, 1, false}) == "a value buffer leaves its chunk");
  store<uint16_t>(chunk.data(), 1, 17);
  CHECK(parse({false, true, 1, false}) == "a chunk's definition levels leave the chunk");
  stop = 5;
  CHECK(parse({false, true, 1, false}) == "a chunk is shorter than its header");
  CHECK(parse({false, true, INT64_MAX, true}) == "a chunk is shorter than its header");
  stop = 25;
  CHECK(parse({false, true, 1, false}) == "a chunk lies outside the data");
}

}  // namespace
