// runs.hpp: borders of runs, of strides, and of chunks.
#include "lance_arrow_codecs/rle/runs.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;
using tests::refusal;

// The values of a chunk, in whose output nothing behind them may be written.
template <class T>
std::string expanded(const std::vector<T>& values, const Bytes& lengths, int64_t count, std::vector<T>* out) {
  const Bytes data = tests::joined({tests::bytes_of(values), lengths});
  const int64_t start = 0, size = tests::size_of(data) - tests::size_of(lengths), borders[] = {0, count};
  const int64_t lengths_start = size, lengths_size = tests::size_of(lengths);
  Bytes bytes(static_cast<size_t>(count) * sizeof(T));
  const Chunks chunks{data.data(), tests::size_of(data), &start, &size, borders, 1};
  const std::string refused =
      refusal(expand_runs(chunks, &lengths_start, &lengths_size, sizeof(T), bytes.data(), tests::size_of(bytes)));
  *out = tests::numbers_of<T>(bytes);
  return refused;
}

template <class T>
void check_lengths() {
  for (int64_t length = 1; length <= 255; ++length) {
    std::vector<T> found, expected(static_cast<size_t>(length), 1);
    expected.insert(expected.end(), 3, 2);
    REQUIRE(expanded<T>({1, 2}, {static_cast<uint8_t>(length), 3}, length + 3, &found) == "");
    REQUIRE(found == expected);
  }
}

TEST_CASE("runs of every length, of every width") {
  check_lengths<uint8_t>();
  check_lengths<uint16_t>();
  check_lengths<uint32_t>();
  check_lengths<uint64_t>();
}

TEST_CASE("only the last run may reach past its chunk, and not by all of itself") {
  std::vector<uint32_t> found;
  CHECK(expanded<uint32_t>({7, 8}, {2, 200}, 5, &found) == "");
  CHECK(found == std::vector<uint32_t>{7, 7, 8, 8, 8});
  const std::string wrong = "run lengths do not sum to the number of values";
  CHECK(expanded<uint32_t>({7, 8}, {2, 3}, 2, &found) == wrong);
  CHECK(expanded<uint32_t>({7, 8}, {2, 3}, 6, &found) == wrong);
  CHECK(expanded<uint32_t>({7, 8, 9}, {2, 3, 4}, 5, &found) == wrong);
}

TEST_CASE("runs without length, without values, and none") {
  std::vector<uint16_t> found;
  CHECK(expanded<uint16_t>({1, 2}, {0, 3}, 3, &found) == "a run has length 0");
  CHECK(expanded<uint16_t>({1, 2}, {3}, 3, &found) == "run values and run lengths differ in number");
  CHECK(expanded<uint16_t>({}, {}, 0, &found) == "");
  CHECK(expanded<uint16_t>({}, {}, 1, &found) == "run lengths do not sum to the number of values");
}

TEST_CASE("lengths lie in their page") {
  const Bytes data{5, 1};
  const int64_t start = 0, size = 1, borders[] = {0, 1}, one = 1;
  Bytes out(1);
  for (const int64_t place : {int64_t{-1}, int64_t{2}, INT64_MAX}) {
    const Chunks chunks{data.data(), 2, &start, &size, borders, 1};
    CHECK(refusal(expand_runs(chunks, &place, &one, 1, out.data(), 1)) == "run lengths lie outside their page");
  }
}

TEST_CASE("a run block says where its values end, and no run leaves it") {
  const auto expand = [](const Bytes& block, int64_t count) {
    const int64_t start = 0, size = tests::size_of(block), borders[] = {0, count};
    Bytes out(static_cast<size_t>(count));
    const Chunks chunks{block.data(), size, &start, &size, borders, 1};
    return refusal(expand_run_blocks(chunks, 1, out.data(), count));
  };
  const Bytes good{2, 0, 0, 0, 0, 0, 0, 0, 5, 6, 1, 3};
  CHECK(expand(good, 4) == "");
  CHECK(expand(good, 3) == "run lengths do not sum to the number of values");
  CHECK(expand(Bytes(good.begin(), good.begin() + 7), 4) == "a run block is shorter than its header");
  CHECK(expand(Bytes(good.begin(), good.begin() + 9), 4) == "a run block's values leave it");
  Bytes endless = good;
  std::fill(endless.begin(), endless.begin() + 8, 0xFF);
  CHECK(expand(endless, 4) == "a run block's values leave it");
}

TEST_CASE("values of other widths are misuse") {
  const Chunks none{nullptr, 0, nullptr, nullptr, nullptr, 0};
  CHECK(expand_run_blocks(none, 3, nullptr, 0).blame == kCaller);
}

}  // namespace
