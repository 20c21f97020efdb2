// native_holders.hpp: the C tables of codecs, where chunks contradict themselves, and single values beside all of them.
#include <memory>

#include "engine/bind/codec_holders.hpp"
#include "lance_arrow/codec_tables.hpp"
#include "lance_arrow/fastlanes.hpp"
#include "lance_arrow_codecs/byte_stream_split/codec.hpp"
#include "lance_arrow_codecs/fixed_size_list/codec.hpp"
#include "lance_arrow_codecs/inline_bitpacking/codec.hpp"
#include "lance_arrow_codecs/lz4/codec.hpp"
#include "lance_arrow_codecs/out_of_line_bitpacking/codec.hpp"
#include "lance_arrow_codecs/rle/codec.hpp"
#include "lance_arrow_codecs/variable/codec.hpp"
#include "lance_arrow_codecs/zstd/codec.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using namespace lance_arrow;
using namespace lance_arrow::codecs;
using namespace lance_arrow::engine;
using tests::Bytes;

// Selected values, or what is refused.
std::string selected(const LaChunkCodec& codec, const std::vector<Bytes>& buffers, int64_t num_values,
                     const std::vector<std::pair<int64_t, int64_t>>& wanted, int64_t most_bytes = 1 << 20) {
  std::vector<const uint8_t*> places;
  std::vector<int64_t> sizes, starts, stops;
  for (const Bytes& one : buffers) places.push_back(one.data()), sizes.push_back(tests::size_of(one));
  for (const auto& [start, stop] : wanted) starts.push_back(start), stops.push_back(stop);
  const LaChunk chunk{places.data(), sizes.data(), static_cast<int64_t>(places.size()), num_values};
  const LaRuns runs{starts.data(), stops.data(), static_cast<int64_t>(starts.size())};
  const int64_t count = num_selected(runs);
  struct Host {
    Intermediate held;
    int64_t most;
  } host{{}, most_bytes};
  const auto reserve = [](void* self, int64_t end, int64_t num_bytes) -> uint8_t* {
    auto* to = static_cast<Host*>(self);
    return num_bytes > to->most - end ? nullptr : Intermediate::reserve(&to->held, end, num_bytes);
  };
  Bytes fixed(static_cast<size_t>((count * codec.bits + 7) / 8));
  std::vector<int64_t> ends(static_cast<size_t>(count));
  LaValues out{fixed.data(), 0, ends.data(), 0, reserve, &host};
  const LaRefusal refusal = codec.select(codec.self, &chunk, &runs, &out);
  if (refusal != nullptr) return refusal;
  if (codec.bits != 0) return {fixed.begin(), fixed.end()};
  std::string found;
  int64_t start = 0;
  for (const int64_t end : ends) {
    found += std::string(host.held.bytes.begin() + start, host.held.bytes.begin() + end) + "|";
    start = end;
  }
  return found;
}

using Held = std::unique_ptr<HeldChunkCodec>;

TEST_CASE("flat values end where their chunk ends") {
  const Held bytes(hold_plain_chunks(8)), bits(hold_plain_chunks(1)), wide(hold_plain_chunks(24));
  CHECK(selected(*bytes, {tests::text("abcd")}, 4, {{0, 1}, {3, 4}}) == "ad");
  CHECK(selected(*bytes, {tests::text("abc")}, 4, {{0, 1}}) == "a chunk is shorter than its values");
  CHECK(selected(*bytes, {tests::text("abcd")}, 4, {{3, 5}}) == "a chunk is shorter than its values");
  CHECK(selected(*wide, {tests::text("abcdef")}, 2, {{1, 2}}) == "def");
  CHECK(selected(*bits, {{0x00, 0x03}}, 10, {{7, 10}}) == "\6");
  CHECK(selected(*bits, {{0x00}}, 9, {{0, 1}}) == "a chunk is shorter than its values");
}

template <class T>
void check_single_values() {
  tests::Random random(18);
  for (int bits = 0; bits <= 8 * static_cast<int>(sizeof(T)); ++bits) {
    Bytes packed(128 * static_cast<size_t>(bits) + 0);
    for (uint8_t& byte : packed) byte = static_cast<uint8_t>(random.next());
    std::vector<T> all(kBlockValues);
    Unpackers<T>::table[static_cast<size_t>(bits)](packed.data(), reinterpret_cast<uint8_t*>(all.data()));
    CAPTURE(bits);
    for (int64_t value = 0; value < kBlockValues; ++value)
      REQUIRE(packed_value<T>(packed.data(), bits, value) == all[static_cast<size_t>(value)]);
  }
}

TEST_CASE("a bit-packed value is the same alone and among all") {
  check_single_values<uint8_t>();
  check_single_values<uint16_t>();
  check_single_values<uint32_t>();
  check_single_values<uint64_t>();
}

TEST_CASE("bit-packed chunks that contradict themselves are refused") {
  const Held codec(hold_inline_bitpacking(8));
  const std::string wrong_size = "a bit-packed chunk's size contradicts its bit width";
  const std::string wrong_count = "a bit-packed chunk contradicts its number of values";
  CHECK(selected(*codec, {Bytes(1)}, 1024, {{0, 1}}) == std::string(1, '\0'));
  CHECK(selected(*codec, {{9}}, 1, {{0, 1}}) == wrong_size);
  CHECK(selected(*codec, {{1}}, 1, {{0, 1}}) == wrong_size);
  CHECK(selected(*codec, {{}}, 1, {{0, 1}}) == wrong_count);
  CHECK(selected(*codec, {Bytes(1)}, 1025, {{0, 1}}) == wrong_count);
  CHECK(selected(*codec, {Bytes(1)}, 3, {{2, 4}}) == wrong_count);
  CHECK(Held(hold_inline_bitpacking(128)) == nullptr);
}

TEST_CASE("values of any length are checked only where they are wanted") {
  const Held codec(hold_variable(32, false));
  const Bytes chunk = tests::joined({tests::bytes_of<uint32_t>({16, 18, 18, 200}), tests::text("abcd")});
  CHECK(selected(*codec, {chunk}, 3, {{0, 2}}) == "ab||");
  CHECK(selected(*codec, {chunk}, 3, {{2, 3}}) == "a chunk's offsets descend or leave it");
  CHECK(selected(*codec, {chunk}, 3, {{0, 2}}, 1) == "the values are above their limit of bytes");
  CHECK(selected(*codec, {chunk}, 6, {{0, 1}}) == "a chunk is shorter than its offsets");
  CHECK(selected(*codec, {chunk}, 2, {{0, 1}}) == "a chunk's first offset is not its header");
}

TEST_CASE("byte streams have as many bytes as values") {
  const Held codec(hold_byte_streams(32));
  Bytes streams(4 * 40);
  for (size_t at = 0; at < streams.size(); ++at) streams[at] = static_cast<uint8_t>(at);
  const std::string all = selected(*codec, {streams}, 40, {{0, 40}});
  for (int64_t value = 0; value < 40; ++value)
    CHECK(selected(*codec, {streams}, 40, {{value, value + 1}}) == all.substr(static_cast<size_t>(4 * value), 4));
  CHECK(selected(*codec, {streams}, 39, {{0, 1}}) == "byte streams have another size than their values");
  CHECK(selected(*codec, {streams}, 40, {{39, 41}}) == "byte streams have another size than their values");
}

TEST_CASE("frames that declare more than they can hold, or may, are refused before memory is taken") {
  const std::unique_ptr<HeldFrameCodec> frames(hold_lz4());
  const Held flat(hold_plain_chunks(8)), codec(hold_compressed(flat.get(), frames.get(), nullptr, 100));
  const std::string refused = "a frame declares more than it can hold";
  CHECK(selected(*codec, {{2, 0, 0, 0, 0x20, 'a', 'b'}}, 2, {{1, 2}}) == "b");
  CHECK(selected(*codec, {{3, 0, 0, 0, 0x20, 'a', 'b'}}, 2, {{1, 2}}) == "an LZ4 block is malformed");
  CHECK(selected(*codec, {{101, 0, 0, 0, 0x20, 'a', 'b'}}, 2, {{1, 2}}) == LA_ABOVE_LIMIT);
  CHECK(selected(*codec, {{255, 255, 255, 255, 0x20}}, 2, {{1, 2}}) == refused);
  CHECK(selected(*codec, {{2, 0, 0}}, 2, {{1, 2}}) == refused);
  CHECK(selected(*codec, {{}}, 2, {{1, 2}}) == "a chunk is shorter than its values");
  CHECK(selected(*codec, {}, 2, {{1, 2}}) == "a chunk has other buffers than its codec");
}

TEST_CASE("frames are decompressed up to the last value that is wanted, where the child reads values by place") {
  const std::unique_ptr<HeldFrameCodec> frames(hold_lz4());
  const std::unique_ptr<HeldFramePrefixes> prefixes(hold_lz4_prefixes());
  const Held flat(hold_plain_chunks(8)), packed(hold_inline_bitpacking(8));
  const Held codec(hold_compressed(flat.get(), frames.get(), prefixes.get(), 100));
  // abc and four bytes that repeat it, x and a match, which goes back too far in the damaged one, xyz.
  const Bytes whole{15, 0, 0, 0, 0x30, 'a', 'b', 'c', 3, 0, 0x10, 'x', 3, 0, 0x30, 'x', 'y', 'z'};
  Bytes damaged = whole;
  damaged[12] = 9;
  CHECK(selected(*codec, {whole}, 15, {{0, 3}, {5, 7}}) == "abcca");
  CHECK(selected(*codec, {whole}, 15, {{0, 15}}) == "abcabcaxcaxcxyz");
  CHECK(selected(*codec, {damaged}, 15, {{1, 7}}) == "bcabca");
  CHECK(selected(*codec, {damaged}, 15, {{1, 8}}) == "an LZ4 block is malformed");
  CHECK(selected(*codec, {damaged}, 15, {{0, 15}}) == "an LZ4 block is malformed");
  // As many bytes as values, or the frame is opened as a whole.
  CHECK(selected(*codec, {damaged}, 14, {{1, 3}}) == "an LZ4 block is malformed");
  CHECK(selected(*codec, {damaged}, 16, {{1, 3}}) == "an LZ4 block is malformed");
  const Held other(hold_compressed(packed.get(), frames.get(), prefixes.get(), 2000));
  CHECK(selected(*other, {damaged}, 15, {{1, 3}}) == "an LZ4 block is malformed");
}

TEST_CASE("runs in two buffers, of which the last may go on behind the chunk") {
  const Held codec(hold_run_lengths(16, false));
  const Bytes values = tests::text("aabb");
  CHECK(selected(*codec, {values, {2, 9}}, 4, {{1, 3}}) == "aabb");
  CHECK(selected(*codec, {values, {2, 0}}, 2, {{1, 2}}) == "a run has length 0");
  CHECK(selected(*codec, {values, {2}}, 2, {{1, 2}}) == "run values and run lengths differ in number");
}

TEST_CASE("chunks of more values than memory holds are refused") {
  const Held codec(hold_out_of_line_bitpacking(64, 0));
  CHECK(selected(*codec, {{}}, (int64_t{1} << 31) + 1, {{0, 1}}) == LA_ABOVE_LIMIT);
}

TEST_CASE("stored Zstandard frames at the borders of their forms") {
  const std::unique_ptr<HeldStoredValues> codec(hold_stored_zstd(1 << 20));
  const auto head_bytes = [&](int64_t size) { return codec->head_bytes(codec->self, size); };
  CHECK(head_bytes(0) == -1);
  CHECK(head_bytes(INT64_MAX) == -1);
  CHECK(head_bytes(18 + 255) == -1);
  CHECK(head_bytes(18 + 256) == 18);
  CHECK(head_bytes(18 + 256 + 0xFFFF) == 18);
  CHECK(head_bytes(20 + 256 + 0xFFFF) == -1);  // between both forms
  CHECK(head_bytes(20 + 256 + 0x10000) == 20);
  CHECK(head_bytes(20 + (128 << 10)) == 20);
  CHECK(head_bytes(20 + (128 << 10) + 1) == -1);
  Bytes head(18);
  const int64_t content = 300;
  store<uint64_t>(head.data(), 0, content);
  std::memcpy(&head[8], "\x28\xB5\x2F\xFD\x60\x2C\x00\x61\x09\x00", 10);
  CHECK(codec->is_stored(codec->self, head.data(), content + 18) == 1);
  CHECK(codec->is_stored(codec->self, head.data(), content + 17) == 0);
  for (size_t byte = 0; byte < head.size(); ++byte) {
    head[byte] ^= 1;
    CHECK(codec->is_stored(codec->self, head.data(), content + 18) == 0);
    head[byte] ^= 1;
  }
}

TEST_CASE("lists of one length are rows of bitmaps and items") {
  const Held flat(hold_plain_chunks(8)), bits(hold_plain_chunks(1));
  // Three lists of 3 bytes: 9 bits of a bitmap, 9 bytes. Valid items: 101, 010, 111.
  const std::vector<Bytes> chunk{{0b11010101, 0b1}, tests::text("abcdefghi")};
  const Held codec(hold_list_rows(flat.get(), 3, {3}, 1, 24));
  CHECK(codec->bits == 32);
  CHECK(codec->num_buffers == 2);
  CHECK(selected(*codec, chunk, 3, {{0, 3}}) == "\5abc\2def\7ghi");
  CHECK(selected(*codec, chunk, 3, {{0, 1}, {2, 3}}) == "\5abc\7ghi");
  CHECK(selected(*codec, {{0xFF}, tests::text("abcdefghi")}, 3, {{0, 1}}) == "a bitmap is shorter than its items");
  CHECK(selected(*codec, {{0xFF, 0xFF}, tests::text("abcdefgh")}, 3, {{0, 1}}) == "a chunk is shorter than its values");
  CHECK(selected(*codec, chunk, 3, {{2, 4}}) == "more values are wanted than a chunk has");
  // Bits without a bitmap: each list begins in a byte of its own.
  const Held single(hold_list_rows(bits.get(), 3, {}, 0, 3));
  CHECK(selected(*single, {chunk[0]}, 3, {{0, 3}}) == "\5\2\7");
  CHECK(selected(*single, {chunk[0]}, 3, {{1, 2}}) == "\2");
  // Nulls alone: of two bitmaps one is stored.
  const Held nulls(hold_list_rows(nullptr, 0, {3, 6}, 1, 16));
  CHECK(selected(*nulls, {chunk[0]}, 3, {{2, 3}}) == std::string("\7\0\0\0", 4));
  // Widths that contradict each other, or have no end.
  CHECK(Held(hold_list_rows(flat.get(), 3, {3}, 1, 25)) == nullptr);
  CHECK(Held(hold_list_rows(flat.get(), int64_t{1} << 40, {}, 0, int64_t{1} << 43)) == nullptr);
  CHECK(Held(hold_list_rows(nullptr, 0, {int64_t{1} << 40}, 1, 8)) == nullptr);
  const Held text(hold_variable(32, false));
  CHECK(Held(hold_list_rows(text.get(), 3, {}, 0, 24)) == nullptr);
}

}  // namespace
