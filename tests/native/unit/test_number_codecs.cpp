// number_codecs.hpp: values that follow a rule, and runs of parts with codecs of their own.
#include "engine/bind/codec_holders.hpp"
#include "engine/bind/compressed_chunks.hpp"
#include "lance_arrow/codec_tables.hpp"
#include "lance_arrow_codecs/byte_stream_split/codec.hpp"
#include "lance_arrow_codecs/constant/codec.hpp"
#include "lance_arrow_codecs/delta/codec.hpp"
#include "lance_arrow_codecs/inline_bitpacking/codec.hpp"
#include "lance_arrow_codecs/lz4/codec.hpp"
#include "lance_arrow_codecs/out_of_line_bitpacking/codec.hpp"
#include "lance_arrow_codecs/range/codec.hpp"
#include "lance_arrow_codecs/rle/codec.hpp"
#include "lance_arrow_codecs/rle/encoded_runs.hpp"
#include "lance_arrow_codecs/variable/codec.hpp"
#include "lance_arrow_codecs/variable/parts.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;
using Held = std::unique_ptr<HeldChunkCodec>;

// Selected numbers of a chunk, or what is refused.
template <class T>
std::string numbers(const LaChunkCodec& codec, const std::vector<Bytes>& buffers, int64_t num_values,
                    const std::vector<std::pair<int64_t, int64_t>>& wanted) {
  std::vector<const uint8_t*> places;
  std::vector<int64_t> sizes, starts, stops;
  for (const Bytes& one : buffers) places.push_back(one.data()), sizes.push_back(tests::size_of(one));
  for (const auto& [start, stop] : wanted) starts.push_back(start), stops.push_back(stop);
  REQUIRE(codec.num_buffers == static_cast<int64_t>(buffers.size()));
  const LaChunk chunk{places.data(), sizes.data(), codec.num_buffers, num_values};
  const LaRuns runs{starts.data(), stops.data(), static_cast<int64_t>(starts.size())};
  Bytes out(static_cast<size_t>(num_selected(runs)) * sizeof(T));
  LaValues place{out.data(), 0, nullptr, 0, nullptr, nullptr};
  if (const LaRefusal refusal = codec.select(codec.self, &chunk, &runs, &place)) return refusal;
  std::string found;
  for (const T number : tests::numbers_of<T>(out)) found += std::to_string(number) + " ";
  return found;
}

Bytes words(const std::vector<uint32_t>& held) { return tests::bytes_of(held); }

TEST_CASE("one value, and nothing") {
  const Held seven(hold_constant(32, std::string("\7\0\0\0", 4))), nothing(hold_nothing(64));
  CHECK(numbers<uint32_t>(*seven, {}, 5, {{0, 2}, {4, 5}}) == "7 7 7 ");
  CHECK(numbers<uint32_t>(*seven, {}, 5, {{4, 6}}) == "more values are wanted than a chunk has");
  CHECK(numbers<uint64_t>(*nothing, {}, 0, {}) == "");
  CHECK(numbers<uint64_t>(*nothing, {}, 1, {{0, 1}}) == "a constant block without a value has values");
  const Held bit(hold_constant(1, std::string(1, '\1')));
  const LaChunk chunk{nullptr, nullptr, 0, 9};
  const int64_t start = 0, stop = 9;
  const LaRuns runs{&start, &stop, 1};
  Bytes bits(2, 0);
  LaValues place{bits.data(), 3, nullptr, 0, nullptr, nullptr};
  CHECK(bit->select(bit->self, &chunk, &runs, &place) == nullptr);
  CHECK(bits == Bytes{0xF8, 0x0F});
}

TEST_CASE("zipped values without bytes") {
  const std::unique_ptr<HeldValueCodec> codec(hold_zipped_constant("ab"));
  Bytes out(4);
  const int64_t starts[] = {0, 0}, none[] = {0, 0}, some[] = {0, 1};
  LaValues place{out.data(), 0, nullptr, 0, nullptr, nullptr};
  CHECK(codec->expand(codec->self, nullptr, starts, none, 2, &place) == nullptr);
  CHECK(std::string(out.begin(), out.end()) == "abab");
  CHECK(codec->expand(codec->self, out.data(), starts, some, 2, &place) != nullptr);
}

TEST_CASE("ranges and differences wrap around") {
  const Held range(hold_range(32, 0xFFFFFFFF, 2)), wide(hold_range(64, 5, ~uint64_t{0}));
  CHECK(numbers<uint32_t>(*range, {}, 4, {{0, 1}, {2, 4}}) == "4294967295 3 5 ");
  CHECK(numbers<uint64_t>(*wide, {}, 3, {{0, 3}}) == "5 4 3 ");
  const Held flat(hold_plain_chunks(32)), delta(hold_delta(32, 10, flat.get()));
  CHECK(numbers<uint32_t>(*delta, {words({1, 0, 0xFFFFFFFF})}, 4, {{0, 4}}) == "10 11 11 10 ");
  CHECK(numbers<uint32_t>(*delta, {words({1, 0, 0xFFFFFFFF})}, 4, {{1, 2}, {3, 4}}) == "11 10 ");
  CHECK(numbers<uint32_t>(*delta, {{}}, 1, {{0, 1}}) == "10 ");
  CHECK(numbers<uint32_t>(*delta, {words({1})}, 3, {{0, 1}}) == "a chunk is shorter than its values");
  CHECK(Held(hold_delta(64, 10, flat.get())) == nullptr);
}

TEST_CASE("runs whose parts have codecs of their own") {
  const Held flat(hold_plain_chunks(32)), bytes(hold_plain_chunks(8)), one(hold_constant(8, std::string(1, '\2')));
  const RunCounter of_words{4, {}, 0}, of_bytes{1, {}, 0}, unknown;
  const Held codec(hold_encoded_runs(flat.get(), bytes.get(), of_words, of_bytes, false));
  CHECK(numbers<uint32_t>(*codec, {words({7, 9}), {3, 1}}, 4, {{0, 4}}) == "7 7 7 9 ");
  CHECK(numbers<uint32_t>(*codec, {words({7, 9}), {3, 1}}, 4, {{2, 4}}) == "7 9 ");
  CHECK(numbers<uint32_t>(*codec, {words({7, 9}), {3, 2}}, 4, {{0, 4}}) ==
        "run lengths do not sum to the number of values");
  CHECK(numbers<uint32_t>(*codec, {words({7, 9}), {3, 0}}, 3, {{0, 3}}) ==
        "run lengths do not sum to the number of values");
  CHECK(numbers<uint32_t>(*codec, {words({7, 9}), {4}}, 4, {{0, 4}}) == "run values and run lengths differ in number");
  CHECK(numbers<uint32_t>(*codec, {words({7, 9}), {1, 1}}, 1, {{0, 1}}) == "there are more runs than values");
  CHECK(numbers<uint32_t>(*codec, {{1, 2, 3}, {1}}, 1, {{0, 1}}) == "the bytes of runs are not a whole number of them");
  const Held block(hold_encoded_runs(flat.get(), bytes.get(), of_words, of_bytes, true));
  const Bytes head = tests::bytes_of(std::vector<uint64_t>{8});
  CHECK(numbers<uint32_t>(*block, {tests::joined({head, words({7, 9}), {3, 1}})}, 4, {{0, 4}}) == "7 7 7 9 ");
  CHECK(numbers<uint32_t>(*block, {tests::joined({head, words({7})})}, 4, {{0, 4}}) ==
        "a run block has fewer bytes than its values");
  CHECK(numbers<uint32_t>(*block, {{1, 2}}, 4, {{0, 4}}) == "a run block is too short for its header");
  // All runs have two values: their number follows from that of the values.
  const Held ruled(hold_encoded_runs(flat.get(), one.get(), unknown, unknown, false));
  CHECK(numbers<uint32_t>(*ruled, {words({7, 9})}, 4, {{0, 4}}) == "7 7 9 9 ");
  CHECK(numbers<uint32_t>(*ruled, {words({7, 9})}, 3, {{0, 3}}) == "run lengths do not sum to the number of values");
  // Without bytes at all.
  const Held constant(hold_constant(32, std::string("\5\0\0\0", 4)));
  const Held neither(hold_encoded_runs(constant.get(), one.get(), unknown, unknown, true));
  CHECK(numbers<uint32_t>(*neither, {}, 4, {{1, 3}}) == "5 5 ");
  CHECK(Held(hold_encoded_runs(flat.get(), bytes.get(), unknown, unknown, false)) == nullptr);
  const Held text(hold_variable(32, false));
  CHECK(Held(hold_encoded_runs(text.get(), bytes.get(), of_words, of_bytes, false)) == nullptr);
}

TEST_CASE("runs are counted through frames") {
  const std::unique_ptr<HeldFrameCodec> frames(hold_lz4());
  const Held flat(hold_plain_chunks(8)), bytes(hold_plain_chunks(8));
  const Held framed(hold_compressed(flat.get(), frames.get(), nullptr, 100));
  const RunCounter inside{1, {frames.get()}, 100}, small{1, {frames.get()}, 1}, of_bytes{1, {}, 0};
  const Bytes frame{2, 0, 0, 0, 0x20, 'a', 'b'};
  const Held codec(hold_encoded_runs(framed.get(), bytes.get(), inside, of_bytes, false));
  CHECK(numbers<uint8_t>(*codec, {frame, {1, 2}}, 3, {{0, 3}}) == "97 98 98 ");
  const Held bounded(hold_encoded_runs(framed.get(), bytes.get(), small, of_bytes, false));
  CHECK(numbers<uint8_t>(*bounded, {frame, {1, 2}}, 3, {{0, 3}}) == LA_ABOVE_LIMIT);
  CHECK(numbers<uint8_t>(*codec, {{2, 0, 0, 0, 0x10, 'a'}, {1, 2}}, 3, {{0, 3}}) == "an LZ4 block is malformed");
}

// Selected strings of a chunk, or what is refused.
std::string strings(const LaChunkCodec& codec, const std::vector<Bytes>& buffers, int64_t num_values,
                    const std::vector<std::pair<int64_t, int64_t>>& wanted) {
  std::vector<const uint8_t*> places;
  std::vector<int64_t> sizes, starts, stops;
  for (const Bytes& one : buffers) places.push_back(one.data()), sizes.push_back(tests::size_of(one));
  for (const auto& [start, stop] : wanted) starts.push_back(start), stops.push_back(stop);
  REQUIRE(codec.num_buffers == static_cast<int64_t>(buffers.size()));
  const LaChunk chunk{places.data(), sizes.data(), codec.num_buffers, num_values};
  const LaRuns runs{starts.data(), stops.data(), static_cast<int64_t>(starts.size())};
  Intermediate host;
  std::vector<int64_t> ends(static_cast<size_t>(num_selected(runs)));
  LaValues out{nullptr, 0, ends.data(), 0, &Intermediate::reserve, &host};
  if (const LaRefusal refusal = codec.select(codec.self, &chunk, &runs, &out)) return refusal;
  std::string found;
  int64_t start = 0;
  for (const int64_t end : ends) {
    found += std::string(host.bytes.begin() + start, host.bytes.begin() + end) + "|";
    start = end;
  }
  return found;
}

TEST_CASE("strings whose parts have codecs of their own") {
  const std::unique_ptr<HeldFrameCodec> frames(hold_lz4());
  const Held flat(hold_plain_chunks(32)), steps(hold_range(32, 0, 2));
  const Held apart(hold_variable_parts(32, flat.get(), nullptr, 0, PartsForm::kApart));
  const Bytes offsets = words({0, 2, 2, 5}), letters = tests::text("abcde");
  CHECK(strings(*apart, {offsets, letters}, 3, {{0, 3}}) == "ab||cde|");
  CHECK(strings(*apart, {offsets, letters}, 3, {{0, 1}, {2, 3}}) == "ab|cde|");
  CHECK(strings(*apart, {words({1, 2, 2, 5}), letters}, 3, {{0, 3}}) == "a chunk's first offset is not its header");
  CHECK(strings(*apart, {words({0, 3, 2, 5}), letters}, 3, {{0, 3}}) == "a chunk's offsets descend or leave it");
  CHECK(strings(*apart, {words({0, 2, 2, 6}), letters}, 3, {{0, 3}}) == "a chunk's offsets descend or leave it");
  CHECK(strings(*apart, {words({0, 2}), letters}, 3, {{0, 3}}) == "a chunk is shorter than its values");
  const Held ruled(hold_variable_parts(32, steps.get(), nullptr, 0, PartsForm::kApart));
  CHECK(strings(*ruled, {tests::text("abcd")}, 2, {{0, 2}}) == "ab|cd|");
  const Held joined(hold_variable_parts(32, flat.get(), nullptr, 0, PartsForm::kJoined));
  CHECK(strings(*joined, {tests::joined({words({12, 14, 17}), letters})}, 2, {{0, 2}}) == "ab|cde|");
  CHECK(strings(*joined, {tests::joined({words({0, 2, 5}), letters})}, 2, {{0, 2}}) ==
        "a chunk's first offset is not its header");
  CHECK(strings(*joined, {words({12})}, 2, {{0, 2}}) == "offsets reach beyond their chunk");
  const Held block(hold_variable_parts(32, flat.get(), frames.get(), 100, PartsForm::kBlock));
  const Bytes frame{5, 0, 0, 0, 0x50, 'a', 'b', 'c', 'd', 'e'};
  CHECK(strings(*block, {tests::joined({words({32, 20, 0, 2, 5}), frame})}, 2, {{0, 2}}) == "ab|cde|");
  for (const uint32_t border : {0u, 7u, 31u, 0xFFFFFFFFu})
    CHECK(strings(*block, {tests::joined({words({32, border, 0, 2, 5}), frame})}, 2, {{0, 2}}) ==
          "the header of a block of strings contradicts its description");
  CHECK(strings(*block, {{1, 2}}, 2, {{0, 2}}) == "a block of strings is too short for its header");
  const Held small(hold_variable_parts(32, flat.get(), frames.get(), 4, PartsForm::kBlock));
  CHECK(strings(*small, {tests::joined({words({32, 20, 0, 2, 5}), frame})}, 2, {{0, 2}}) == LA_ABOVE_LIMIT);
  CHECK(Held(hold_variable_parts(64, flat.get(), nullptr, 0, PartsForm::kApart)) == nullptr);
}

}  // namespace
