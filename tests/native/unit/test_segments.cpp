// segments.hpp and leaf_reader.hpp: fetched parts of a file, what is missing of a leaf, and its rows read out of parts.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "engine/pages/array_pages.hpp"
#include "engine/pages/binary_pages.hpp"
#include "engine/plan/leaf_reader.hpp"
#include "engine/plan/segments.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;

Bytes counted(int64_t count) {
  Bytes bytes(static_cast<size_t>(count));
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  return bytes;
}

TEST_CASE("parts of a file may overlap and come in any order; ranges are found, copied, or missing in pieces") {
  tests::Random random(3);
  const Bytes file = counted(200);
  for (int round = 0; round < 500; ++round) {
    Segments held;
    std::vector<Bytes> parts;  // memory of exactly the size that is needed
    std::vector<bool> there(file.size(), false);
    const int64_t count = random.below(6);
    parts.reserve(static_cast<size_t>(count));
    for (int64_t part = 0; part < count; ++part) {
      const int64_t start = random.below(200), stop = start + 1 + random.below(200 - start);
      parts.emplace_back(file.begin() + start, file.begin() + stop);
      held.add(start, parts.back().data(), stop - start);
      std::fill(there.begin() + start, there.begin() + stop, true);
    }
    const int64_t start = random.below(200), stop = start + random.below(201 - start);
    std::vector<bool> missing(file.size(), false);
    int64_t behind = start;
    held.each_missing(start, stop, [&](int64_t from, int64_t to) {
      CHECK(from >= behind);
      CHECK(from < to);
      CHECK(to <= stop);
      std::fill(missing.begin() + from, missing.begin() + to, true);
      behind = to;
    });
    bool is_there = true;
    for (int64_t at = start; at < stop; ++at) {
      CHECK(missing[static_cast<size_t>(at)] == !there[static_cast<size_t>(at)]);
      is_there = is_there && there[static_cast<size_t>(at)];
    }
    Bytes out(static_cast<size_t>(stop - start));
    CHECK(held.copy(start, stop - start, out.data()) == is_there);
    if (is_there) CHECK(out == Bytes(file.begin() + start, file.begin() + stop));
    const uint8_t* found = stop > start ? held.find(start, stop - start, &behind) : nullptr;
    if (found != nullptr) {
      CHECK(behind >= stop - start);
      CHECK(Bytes(found, found + behind) == Bytes(file.begin() + start, file.begin() + start + behind));
    }
  }
}

struct Column {
  std::vector<std::unique_ptr<Page>> pages;
  std::vector<PageRef> refs;
  Bytes file;
};

// Two pages: values at 16, validity at 4,000 bytes further; then strings, whose ends lie behind their bytes.
Column flat_column() {
  Column made;
  made.file = counted(20'000);
  for (int64_t page = 0; page < 2; ++page) {
    made.pages.emplace_back(new_flat_page(32, true));
    made.pages.back()->num_rows = 1'000;
    made.pages.back()->layers = {3};
    PageRef ref{};
    ref.page = made.pages.back().get();
    ref.first_row = 1'000 * page;
    ref.data_start = 16 + 8'000 * page;
    ref.data_bytes = 4'000;
    ref.second_start = 4'016 + 8'000 * page;
    ref.second_bytes = 125;
    made.refs.push_back(ref);
  }
  return made;
}

Column string_column() {
  Column made;
  made.file = counted(6'000);
  std::vector<uint32_t> ends;
  for (uint32_t row = 0; row < 500; ++row) ends.push_back(7 * (row + 1));
  const Bytes stored = tests::bytes_of(ends);
  std::copy(stored.begin(), stored.end(), made.file.begin() + 3'600);
  made.pages.emplace_back(new_binary_page({4, 0, nullptr}));
  made.pages.back()->num_rows = 500;
  made.pages.back()->layers = {3};
  PageRef ref{};
  ref.page = made.pages.back().get();
  ref.data_start = 64;
  ref.data_bytes = 3'500;
  ref.second_start = 3'600;
  ref.second_bytes = 2'000;
  made.refs.push_back(ref);
  return made;
}

struct Read {
  std::string refusal;
  Bytes values;
  std::vector<int64_t> ends;
  std::vector<uint16_t> def;
};

Read read(const Column& column, const Reader& reader, const LaRuns& rows) {
  LeafPart part;
  part.limit = 1 << 20;
  ReadCount count;
  const Outcome outcome = read_leaf(column.refs, reader, nullptr, rows, &part, &count);
  if (outcome.message != nullptr) return {outcome.message, {}, {}, {}};
  const int64_t width = column.pages[0]->value_bits / 8;
  const int64_t num_bytes = width == 0 ? part.num_bytes : width * part.num_values;
  return {"", Bytes(part.values.data(), part.values.data() + num_bytes), part.ends, part.def};
}

void check_waves(const Column& column, int most_waves) {
  tests::Random random(5);
  const int64_t num_rows = column.refs.back().first_row + column.pages.back()->num_rows;
  const auto size = static_cast<int64_t>(column.file.size());
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> starts, stops;
    for (int64_t row = random.below(50); row < num_rows; row += 1 + random.below(300)) {
      starts.push_back(row);
      row = std::min(num_rows, row + 1 + random.below(round % 2 == 0 ? 3 : 400));
      stops.push_back(row);
    }
    if (starts.empty()) continue;
    const LaRuns rows{starts.data(), stops.data(), static_cast<int64_t>(starts.size())};
    Segments held;
    Reader reader{-1, nullptr, size, nullptr, &held};
    std::vector<Bytes> parts;
    parts.reserve(10'000);
    int waves = 0;
    for (;; ++waves) {
      Wanted wanted;
      REQUIRE(tests::refusal(want_leaf(column.refs, reader, nullptr, rows, false, 1 << 20, &wanted)) == "");
      if (wanted.starts.empty()) break;
      REQUIRE(waves < most_waves);
      // Nothing is at hand but what was wanted: whatever else is read is a miss.
      CHECK(read(column, reader, rows).refusal == "bytes were not fetched");
      for (size_t range = 0; range < wanted.starts.size(); ++range) {
        parts.emplace_back(column.file.begin() + wanted.starts[range], column.file.begin() + wanted.stops[range]);
        held.add(wanted.starts[range], parts.back().data(), wanted.stops[range] - wanted.starts[range]);
      }
    }
    const Read far = read(column, reader, rows);
    const Read near = read(column, {-1, column.file.data(), size, nullptr, nullptr}, rows);
    CHECK(far.refusal == "");
    CHECK(far.values == near.values);
    CHECK(far.ends == near.ends);
    CHECK(far.def == near.def);
    // One part with all of the file: rows are decoded where they lie.
    Segments whole;
    whole.add(0, column.file.data(), size);
    CHECK(read(column, {-1, nullptr, size, nullptr, &whole}, rows).values == near.values);
  }
}

TEST_CASE("a leaf lists what it reads: values and validity at once, strings of 2.0 after their ends") {
  check_waves(flat_column(), 1);
  check_waves(string_column(), 2);
}

TEST_CASE("ranges outside the file or the page are refused before they are fetched") {
  Column column = flat_column();
  Segments held;
  const int64_t start = 0, stop = 2'000;
  const LaRuns rows{&start, &stop, 1};
  Wanted wanted;
  CHECK(want_leaf(column.refs, {-1, nullptr, 9'000, nullptr, &held}, nullptr, rows, false, 1 << 20, &wanted).message !=
        nullptr);
  column.refs[1].data_bytes = 3'999;
  CHECK(want_leaf(column.refs, {-1, nullptr, 20'000, nullptr, &held}, nullptr, rows, false, 1 << 20, &wanted).message !=
        nullptr);
}

}  // namespace
