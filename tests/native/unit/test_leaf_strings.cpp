// leaf_values.hpp, leaf_bounds.hpp, string_encoders.cpp: byte strings with nulls above bytes, in memory of their size.
#include <memory>

#include "engine/encode/encoders/held_encoders.hpp"
#include "engine/encode/encoders/try_encoders.hpp"
#include "engine/encode/leaves/leaf_bounds.hpp"
#include "engine/encode/leaves/zone_records.hpp"
#include "lance_arrow_codecs/lz4/decoding.hpp"
#include "lance_arrow_codecs/lz4/encoding.hpp"
#include "lance_arrow_codecs/variable/encoder.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;
using tests::refusal;

// An array of strings over memory of its own, whose slots before `offset` do not count.
struct Strings {
  Bytes validity, offsets, data;
  const void* buffers[3];
  ArrowArray array{}, batch{};
  ArrowArray* children[1]{&array};

  Strings(const std::vector<std::string>& values, int64_t offset, const Bytes& valid, bool large) : validity(valid) {
    std::vector<int64_t> ends{0};
    for (const std::string& one : values) {
      data.insert(data.end(), one.begin(), one.end());
      ends.push_back(static_cast<int64_t>(data.size()));
    }
    data.shrink_to_fit();
    offsets = large ? tests::bytes_of(ends) : tests::bytes_of(std::vector<int32_t>(ends.begin(), ends.end()));
    buffers[0] = valid.empty() ? nullptr : validity.data();
    buffers[1] = offsets.data();
    buffers[2] = data.data();
    array.length = static_cast<int64_t>(values.size()) - offset;
    array.null_count = valid.empty() ? 0 : -1;
    array.offset = offset;
    array.n_buffers = 3;
    array.buffers = buffers;
    batch.length = array.length;
    batch.n_children = 1;
    batch.children = children;
  }
};

// The first rows of a batch of strings.
Outcome open_rows(LeafValues& values, const ArrowArray& batch, int64_t num_rows, int64_t offset_bits) {
  const std::vector<PathStep> path{{0, true}};
  LeafRows rows{};
  const Outcome outcome = rows_of_batch(batch, path, &rows);
  if (outcome.message != nullptr) return outcome;
  rows.count = num_rows;
  return values.open({rows}, path, 0, offset_bits);
}

std::vector<std::string> values_of(const LaBlock& block) {
  std::vector<std::string> found;
  for (int64_t value = 0; value < block.num_values; ++value)
    found.emplace_back(block.values + block.offsets[value], block.values + block.offsets[value + 1]);
  return found;
}

std::string letters(const StringBound& bound) { return {bound.bytes.begin(), bound.bytes.end()}; }

StringBound up(const std::string& text, bool is_text = true) {
  return cut_up(reinterpret_cast<const uint8_t*>(text.data()), static_cast<int64_t>(text.size()), is_text);
}

StringBound down(const std::string& text, bool is_text = true) {
  return cut_down(reinterpret_cast<const uint8_t*>(text.data()), static_cast<int64_t>(text.size()), is_text);
}

std::string times(std::string_view one, int count) {
  std::string found;
  for (int at = 0; at < count; ++at) found += one;
  return found;
}

}  // namespace

TEST_CASE("strings are taken from slices, and nothing is left under nulls") {
  for (const bool large : {false, true}) {
    const Strings given({"zero", "one", "hidden", "", "four"}, 1, {0b11011}, large);
    LeafValues values;
    REQUIRE(refusal(open_rows(values, given.batch, 4, large ? 64 : 32)) == "");
    CHECK(values_of(values.block()) == std::vector<std::string>{"one", "", "", "four"});
    CHECK(values.levels().def() == std::vector<uint16_t>{0, 1, 0, 0});
    CHECK(values.block().num_nulls == 1);
    CHECK(values.block().max_value_bytes == 4);
    CHECK(string_bytes(given.array, {0, 4}, large ? 64 : 32) == 13 + 4 * (large ? 8 : 4));
    CHECK(!offsets_go_back(given.array, {0, 4}, large ? 64 : 32));
  }
}

TEST_CASE("offsets that go back, and text that is none, are found") {
  Strings given({"ab", "cd", "ef"}, 0, {}, false);
  tests::Bytes back = tests::bytes_of(std::vector<int32_t>{0, 4, 2, 6});
  given.buffers[1] = back.data();
  CHECK(offsets_go_back(given.array, {0, 3}, 32));
  LeafValues values;
  CHECK(refusal(open_rows(values, given.batch, 3, 32)) == "offsets go back");
  const Strings halves({"\xc3", "\xa9"}, 0, {}, false);
  REQUIRE(refusal(open_rows(values, halves.batch, 2, 32)) == "");
  CHECK(!values.is_text());
  const Strings whole({"\xc3\xa9", ""}, 0, {}, false);
  REQUIRE(refusal(open_rows(values, whole.batch, 2, 32)) == "");
  CHECK(values.is_text());
}

TEST_CASE("long bounds are cut outward, text between characters") {
  CHECK(down("short").is_exact);
  CHECK(letters(up("short")) == "short");
  CHECK(letters(down(std::string(70, 'a'))) == std::string(64, 'a'));
  CHECK(letters(up(std::string(70, 'a'))) == std::string(63, 'a') + "b");
  // 21 characters of three bytes; the one behind U+D7FF lies behind the surrogates.
  CHECK(letters(down(times("\u65e5", 30))) == times("\u65e5", 21));
  CHECK(letters(up(times("\u65e5", 30))) == times("\u65e5", 20) + "\u65e6");
  CHECK(letters(up(times("\xed\x9f\xbf", 30))) == times("\xed\x9f\xbf", 20) + "\xee\x80\x80");
  CHECK(letters(up(std::string(63, 'a') + "\x7f" + "b")) == std::string(63, 'a') + "\xc2\x80");
  const std::string greatest = times("\xf4\x8f\xbf\xbf", 20);
  CHECK(!up(greatest).exists);
  CHECK(letters(up("a" + greatest)) == "b");
  CHECK(letters(up(std::string(70, '\x01'), false)) == std::string(63, '\x01') + "\x02");
  CHECK(letters(up("b" + std::string(70, '\xff'), false)) == "c");
  CHECK(!up(std::string(70, '\xff'), false).exists);
}

TEST_CASE("a packed zone of strings has offsets and inexact bounds") {
  const Strings given({std::string(70, '\xff'), "b", "hidden"}, 0, {0b011}, false);
  LeafValues values;
  REQUIRE(refusal(open_rows(values, given.batch, 3, 32)) == "");
  LeafBounds bounds;
  REQUIRE(refusal(bound_leaf({0, 0, 8192, false}, values, 0, &bounds)) == "");
  const std::string expected(
      "LAZ\x05\x01\x00\x01\x00"
      "\x00\x00\x00\x00\x01\x00\x00\x00"
      "\x00\x00\x00\x00\x00\x00\x00\x00"
      "b"
      "\x03\x00\x00\x00\x01\x00\x00\x00",
      33);
  CHECK(packed_zone(bounds, 0, 32, 3) == expected);
}

TEST_CASE("strings of several parts follow each other") {
  const Strings first({"zero", "one", "hidden"}, 1, {0b011}, false), second({"", "four"}, 0, {}, false);
  const std::vector<PathStep> path{{0, true}};
  LeafRows one{}, other{};
  REQUIRE(refusal(rows_of_batch(first.batch, path, &one)) == "");
  REQUIRE(refusal(rows_of_batch(second.batch, path, &other)) == "");
  LeafValues values;
  REQUIRE(refusal(values.open({one, other, one}, path, 0, 32)) == "");
  CHECK(values_of(values.block()) == std::vector<std::string>{"one", "", "", "four", "one", ""});
  CHECK(values.levels().def() == std::vector<uint16_t>{0, 1, 0, 0, 0, 1});
  REQUIRE(refusal(values.open({other, other}, path, 0, 32)) == "");
  CHECK(values_of(values.block()) == std::vector<std::string>{"", "four", "", "four"});
}

TEST_CASE("zones of byte strings go on in the next page") {
  const ZoneForm form{0, 0, 5, false};
  const auto page = [&](const std::vector<std::string>& texts, const Bytes& valid, int64_t first_row) {
    const Strings given(texts, 0, valid, false);
    LeafValues values;
    LeafBounds bounds;
    REQUIRE(refusal(open_rows(values, given.batch, static_cast<int64_t>(texts.size()), 32)) == "");
    REQUIRE(refusal(bound_leaf(form, values, first_row, &bounds)) == "");
    return bounds;
  };
  LeafBounds all;
  REQUIRE(refusal(append_bounds(form, 0, page({"x", std::string(70, 'a'), "hidden"}, {0b011}, 0), &all)) == "");
  CHECK(all.num_zones == 1);
  REQUIRE(refusal(append_bounds(form, 3, page({std::string(64, 'a'), "y", "q"}, {}, 3), &all)) == "");
  CHECK(all.num_zones == 2);
  CHECK((letters(all.lows[0]) == std::string(64, 'a') && all.lows[0].is_exact));
  CHECK((letters(all.highs[0]) == "y" && letters(all.lows[1]) == "q"));
  CHECK((all.values == std::vector<int64_t>{4, 1} && all.nulls == std::vector<int64_t>{1, 0}));
  // Nothing is greater than all strings that begin with 64 such bytes.
  REQUIRE(refusal(append_bounds(form, 6, page({std::string(70, '\xff'), "r", "r", "r"}, {}, 6), &all)) == "");
  CHECK((all.num_zones == 2 && !all.highs[1].exists && letters(all.lows[1]) == "q"));
  REQUIRE(refusal(append_bounds(form, 10, page({"a"}, {0}, 10), &all)) == "");
  CHECK((all.num_zones == 3 && !all.lows[2].exists));
}

TEST_CASE("chunks and blocks of strings have the sizes that their scores say") {
  const std::unique_ptr<HeldChunkEncoder> chunks(hold_string_encoder("variable"));
  const std::unique_ptr<HeldBlocksEncoder> blocks(hold_string_blocks("variable"));
  for (const bool large : {false, true}) {
    std::vector<std::string> texts;
    for (int number = 0; number < 3000; ++number) texts.push_back(std::to_string(number * number));
    const Strings given(texts, 0, {}, large);
    LeafValues values;
    REQUIRE(refusal(open_rows(values, given.batch, 3000, large ? 64 : 32)) == "");
    const LaBlock& block = values.block();
    Encoded encoded;
    const char* refused = nullptr;
    const double score = try_chunks(chunks.get(), block, {16 << 10, 4096, 4096}, &encoded, &refused);
    CHECK(refusal({refused, -1, kNobody}) == "");
    CHECK(encoded.is_whole(3000));
    CHECK(static_cast<double>(encoded.buffers[0].size()) <= score + 8.0 * static_cast<double>(encoded.counts.size()));
    Encoded one;
    const int64_t starts[3] = {0, 1000, 3000};
    const double blocks_score = try_blocks(blocks.get(), block, starts, 2, &one, &refused);
    CHECK(static_cast<double>(one.buffers[0].size()) == blocks_score);
    CHECK(one.is_whole(3000));
    // Two of these values are more than a chunk may hold.
    CHECK(try_chunks(chunks.get(), block, {8, 4096, 8}, &one, &refused) == LANCE_ARROW_UNFIT);
  }
}

TEST_CASE("LZ4 blocks of few bytes hold these bytes") {
  for (const int64_t size : {1, 12, 13, 14, 270, 4000, 65536}) {
    for (const int period : {1, 2, 7, 300, 70000}) {
      Bytes plain(static_cast<size_t>(size));
      for (size_t at = 0; at < plain.size(); ++at)
        plain[at] = static_cast<uint8_t>((at % static_cast<size_t>(period)) * 2654435761u >> 13);
      Bytes block(static_cast<size_t>(lz4_block_room(size)));
      const int64_t written = encode_small_lz4_block(plain.data(), size, block.data());
      REQUIRE(written <= tests::size_of(block));
      Bytes again(plain.size());
      CHECK(decode_lz4_block(block.data(), written, again.data(), size));
      CHECK(again == plain);
    }
  }
}
