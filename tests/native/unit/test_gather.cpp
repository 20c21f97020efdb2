// gather.hpp: values from chunks, runs, indices and places, where there are none, and where they are not.
#include "engine/decode/gather.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;
using tests::refusal;

template <class Index>
std::string taken(const Bytes& source, int64_t width, const std::vector<Index>& indices, Bytes* out) {
  const Bytes places = tests::bytes_of(indices);
  out->assign(indices.size() * static_cast<size_t>(width), 0);
  return refusal(take_fixed(source.data(), tests::size_of(source), width, places.data(), tests::size_of(places),
                            8 * sizeof(Index), out->data(), tests::size_of(*out)));
}

TEST_CASE("values of every width by indices of every width") {
  for (const int64_t width : {1, 2, 3, 4, 7, 8, 16, 33}) {
    Bytes source(static_cast<size_t>(5 * width)), out;
    for (size_t byte = 0; byte < source.size(); ++byte) source[byte] = static_cast<uint8_t>(byte);
    Bytes expected(source.end() - width, source.end());
    expected.insert(expected.end(), source.begin(), source.begin() + width);
    CHECK(taken<uint8_t>(source, width, {4, 0}, &out) == "");
    CHECK(out == expected);
    CHECK(taken<uint64_t>(source, width, {4, 0}, &out) == "");
    CHECK(out == expected);
    CHECK(taken<uint16_t>(source, width, {0, 5}, &out) == "an index lies outside the dictionary");
    CHECK(taken<uint64_t>(source, width, {UINT64_MAX}, &out) == "an index lies outside the dictionary");
    CHECK(taken<uint64_t>(source, width, {uint64_t{1} << 63}, &out) == "an index lies outside the dictionary");
  }
}

TEST_CASE("nothing is taken from nothing") {
  Bytes out;
  CHECK(taken<uint32_t>({}, 4, {}, &out) == "");
  CHECK(taken<uint32_t>({}, 4, {0}, &out) == "an index lies outside the dictionary");
  CHECK(taken<uint32_t>({1, 2, 3}, 4, {0}, &out) == "an index lies outside the dictionary");
  CHECK(refusal(take_runs_fixed(nullptr, 0, 8, nullptr, nullptr, 0, nullptr, 0)) == "");
  const Chunks none{nullptr, 0, nullptr, nullptr, nullptr, 0};
  CHECK(refusal(copy_fixed(none, 8, nullptr, 0)) == "");
  CHECK(refusal(copy_values(nullptr, 0, nullptr, 0, 8, nullptr, 0)) == "");
}

TEST_CASE("runs stay in their source, and in the room") {
  const Bytes source{0, 1, 2, 3, 4, 5, 6};
  Bytes out(4);
  const auto take = [&](int64_t start, int64_t stop) {
    return refusal(take_runs_fixed(source.data(), 7, 2, &start, &stop, 1, out.data(), 4));
  };
  CHECK(take(1, 3) == "");
  CHECK(out == Bytes{2, 3, 4, 5});
  CHECK(take(2, 2) == "");
  CHECK(take(2, 4) == "a run leaves the source");
  CHECK(take(-1, 1) == "a run leaves the source");
  CHECK(take(2, 1) == "a run leaves the source");
  CHECK(take(0, 3) == "the output is too small");
}

TEST_CASE("indices of nulls are not looked at, others are") {
  const std::vector<uint16_t> levels{0, 1, 0};
  const auto clear = [&](std::vector<uint8_t> indices, int64_t num_items, int64_t null_index) {
    const std::string refused =
        refusal(clear_null_indices(indices.data(), 3, 8, num_items, null_index, levels.data(), 3));
    return refused.empty() ? std::to_string(indices[1]) : refused;
  };
  CHECK(clear({0, 200, 1}, 2, 0) == "0");
  CHECK(clear({0, 200, 2}, 2, 0) == "an index lies outside the dictionary");
  CHECK(clear({0, 200, 0}, 0, 0) == "an index lies outside the dictionary");
  CHECK(clear({0, 200, 0}, 1, 256) == "null_index does not fit the indices");
  CHECK(clear({0, 200, 0}, 1, -1) == "null_index does not fit the indices");
}

TEST_CASE("values lie in their page") {
  const Bytes data(20);
  Bytes out(16);
  for (const int64_t width : {4, 8, 16, 5})
    for (const int64_t start : {int64_t{-1}, 21 - width, INT64_MAX, INT64_MIN}) {
      CHECK(refusal(copy_values(data.data(), 20, &start, 1, width, out.data(), 16)) == "a value lies outside its page");
      const int64_t last = 20 - width;
      CHECK(refusal(copy_values(data.data(), 20, &last, 1, width, out.data(), 16)) == "");
    }
}

}  // namespace
