// fastlanes.hpp and packing.hpp: every bit width of every word, tails, and sizes that contradict them.
#include "lance_arrow_codecs/inline_bitpacking/packing.hpp"
#include "lance_arrow_codecs/inline_bitpacking/unpacking.hpp"
#include "lance_arrow_codecs/out_of_line_bitpacking/packing.hpp"
#include "lance_arrow_codecs/out_of_line_bitpacking/unpacking.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;
using tests::refusal;

template <class T>
std::vector<T> values_of(int bits, int64_t count) {
  tests::Random random(static_cast<uint64_t>(bits) + 1);
  std::vector<T> values;
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (int64_t value = 0; value < count; ++value) values.push_back(static_cast<T>(random.next() & mask));
  if (count > 0) values.back() = static_cast<T>(mask);  // the widest there is
  return values;
}

// One chunk, or block, of all of the bytes.
struct One {
  Bytes bytes;
  int64_t start = 0, size, borders[2];

  One(Bytes content, int64_t num_values)
      : bytes(std::move(content)), size(tests::size_of(bytes)), borders{0, num_values} {}
  Chunks chunks() const { return {bytes.data(), size, &start, &size, borders, 1}; }
};

template <class T>
Bytes packed_inline(const std::vector<T>& values, int bits) {
  const int64_t borders[] = {0, static_cast<int64_t>(values.size())}, packed_bits = bits;
  const Bytes plain = tests::bytes_of(values);
  Bytes out(sizeof(T) + 128 * static_cast<size_t>(bits));
  const Parts parts{plain.data(), tests::size_of(plain), borders, 1};
  REQUIRE(refusal(pack_inline(parts, 8 * sizeof(T), &packed_bits, out.data(), tests::size_of(out))) == "");
  return out;
}

template <class T>
void check_every_width() {
  for (int bits = 0; bits <= 8 * static_cast<int>(sizeof(T)); ++bits)
    for (const int64_t count : {0, 1, 127, 1023, 1024}) {
      CAPTURE(bits);
      CAPTURE(count);
      const std::vector<T> values = values_of<T>(bits, count);
      const One one(packed_inline(values, bits), count);
      Bytes out(values.size() * sizeof(T));
      REQUIRE(refusal(unpack_inline(one.chunks(), 8 * sizeof(T), out.data(), tests::size_of(out))) == "");
      REQUIRE(tests::numbers_of<T>(out) == values);
    }
}

TEST_CASE("inline chunks of every width give their values") {
  check_every_width<uint8_t>();
  check_every_width<uint16_t>();
  check_every_width<uint32_t>();
  check_every_width<uint64_t>();
}

TEST_CASE("blocks of every width give their values, tails packed or plain") {
  for (int bits = 0; bits <= 32; ++bits)
    for (const int64_t count : {1, 1023, 1024, 1025, 2048, 3000}) {
      CAPTURE(bits);
      CAPTURE(count);
      const std::vector<uint32_t> values = values_of<uint32_t>(bits, count);
      const Bytes plain = tests::bytes_of(values);
      const int64_t borders[] = {0, count}, tail = count % kBlockValues * 4;
      Bytes packed(static_cast<size_t>(count / kBlockValues * 128 * bits + std::min<int64_t>(tail, 128 * bits)));
      const Parts parts{plain.data(), tests::size_of(plain), borders, 1};
      REQUIRE(refusal(pack_out_of_line(parts, 32, bits, packed.data(), tests::size_of(packed))) == "");
      const One one(packed, count);
      Bytes out(plain.size());
      REQUIRE(refusal(unpack_out_of_line(one.chunks(), 32, bits, out.data(), tests::size_of(out))) == "");
      REQUIRE(out == plain);
    }
}

TEST_CASE("values wider than their chunk are not packed") {
  const std::vector<uint8_t> values{1, 2, 16};
  const int64_t borders[] = {0, 3}, bits = 4;
  Bytes out(1 + 128 * 4);
  const Parts parts{values.data(), 3, borders, 1};
  CHECK(refusal(pack_inline(parts, 8, &bits, out.data(), tests::size_of(out))) == "a value is wider than its chunk");
}

TEST_CASE("values of 128 bits, in one word, in two, and as they are") {
  for (const int bits : {0, 1, 32, 33, 64, 65, 100, 127, 128}) {
    CAPTURE(bits);
    tests::Random random(18);
    // The stream of bits, value by value, of what is wider than a word; else blocks of words.
    std::vector<uint64_t> wide(2 * kBlockValues);
    for (int64_t value = 0; value < kBlockValues; ++value) {
      wide[static_cast<size_t>(2 * value)] = bits >= 64 ? random.next() : random.next() & ((uint64_t{1} << bits) - 1);
      const int high = bits - 64;
      wide[static_cast<size_t>(2 * value) + 1] = high <= 0    ? 0
                                                 : high == 64 ? random.next()
                                                              : random.next() & ((uint64_t{1} << high) - 1);
    }
    Bytes packed(16 + 128 * static_cast<size_t>(bits));
    packed[0] = static_cast<uint8_t>(bits);
    uint8_t* const body = packed.data() + 16;
    if (bits <= 64) {
      std::vector<uint64_t> low(kBlockValues);
      for (size_t value = 0; value < low.size(); ++value) low[value] = wide[2 * value];
      if (bits <= 32) {
        std::vector<uint32_t> narrow(low.begin(), low.end());
        Packers<uint32_t>::table[static_cast<size_t>(bits)](tests::bytes_of(narrow).data(), body);
      } else {
        Packers<uint64_t>::table[static_cast<size_t>(bits)](tests::bytes_of(low).data(), body);
      }
    } else {
      for (int64_t bit = 0; bit < kBlockValues * bits; ++bit) {
        const int64_t value = bit / bits, at = bit % bits;
        const uint64_t set = wide[static_cast<size_t>(2 * value + at / 64)] >> (at % 64) & 1;
        body[bit / 8] = static_cast<uint8_t>(body[bit / 8] | set << (bit % 8));
      }
    }
    const One one(packed, kBlockValues);
    Bytes out(16 * kBlockValues);
    REQUIRE(refusal(unpack_inline(one.chunks(), 128, out.data(), tests::size_of(out))) == "");
    REQUIRE(tests::numbers_of<uint64_t>(out) == wide);
  }
}

TEST_CASE("chunks that contradict their header are refused") {
  Bytes good = packed_inline(std::vector<uint16_t>{1, 2, 3}, 2);
  Bytes out(2 * 1024);
  const auto unpack = [&](const Bytes& chunk, int64_t count) {
    return refusal(unpack_inline(One(chunk, count).chunks(), 16, out.data(), tests::size_of(out)));
  };
  CHECK(unpack(good, 3) == "");
  CHECK(unpack({}, 1) == "a bit-packed chunk is shorter than its header");
  CHECK(unpack({2}, 1) == "a bit-packed chunk is shorter than its header");
  CHECK(unpack({17, 0}, 1) == "a bit-packed chunk is wider than its values");
  CHECK(unpack({2, 0}, 1) == "a bit-packed chunk's size contradicts its bit width");
  CHECK(unpack(tests::joined({good, {0}}), 3) == "a bit-packed chunk's size contradicts its bit width");
  out.resize(2 * 1025);
  CHECK(unpack(good, 1025) == "a bit-packed chunk declares more than 1024 values");
}

TEST_CASE("words and widths that do not exist are misuse") {
  const One none({}, 0);
  CHECK(unpack_inline(none.chunks(), 24, nullptr, 0).blame == kCaller);
  CHECK(unpack_out_of_line(none.chunks(), 32, 33, nullptr, 0).blame == kCaller);
  CHECK(unpack_out_of_line(none.chunks(), 32, -1, nullptr, 0).blame == kCaller);
}

}  // namespace
