// `GuessedRows` of segments.hpp: where few rows of a page probably lie.
#include <doctest/doctest.h>

#include <vector>

#include "engine/plan/segments.hpp"

namespace {

using lance_arrow::engine::GuessedRows;

struct Runs {
  std::vector<int64_t> starts, stops;
  int64_t num_runs = 0;
};

Runs runs(std::vector<int64_t> starts, std::vector<int64_t> stops) {
  const auto count = static_cast<int64_t>(starts.size());
  return {std::move(starts), std::move(stops), count};
}

constexpr int64_t kAround = GuessedRows::kAround;
constexpr int64_t kFirst = 1000, kRows = 1'000'000, kBytes = 8'000'000;

TEST_CASE("rows lie where rows of equal bytes do, and within the page") {
  const Runs wanted = runs({0, kFirst + 500'000, kFirst + kRows - 1}, {kFirst + 1, kFirst + 500'010, kFirst + kRows});
  const GuessedRows guessed = GuessedRows::of(wanted, 0, kFirst, kRows, kBytes, 0);
  REQUIRE(guessed.count == 3);
  CHECK(guessed.starts[0] == 0);
  CHECK(guessed.stops[0] == 8 + kAround);
  CHECK(guessed.starts[1] == 4'000'000 - kAround);
  CHECK(guessed.stops[1] == 4'000'080 + kAround);
  CHECK(guessed.starts[2] == kBytes - 8 - kAround);
  CHECK(guessed.stops[2] == kBytes);
}

TEST_CASE("chunks of about the same size are guessed by the chunk") {
  const Runs wanted = runs({kFirst + 500'000}, {kFirst + 500'010});
  GuessedRows guessed = GuessedRows::of(wanted, 0, kFirst, kRows, kBytes, 1000);
  CHECK(guessed.starts[0] == 4'000'000 - 2000);
  CHECK(guessed.stops[0] == 4'000'080 + 2000);
  guessed = GuessedRows::of(wanted, 0, kFirst, kRows, kBytes, 1'000'000);
  CHECK(guessed.starts[0] == 4'000'000 - kAround);
}

TEST_CASE("rows before the run and of later pages are no part of a guess") {
  const Runs wanted = runs({0, kFirst + 5, kFirst + kRows}, {2, kFirst + 6, kFirst + kRows + 9});
  CHECK(GuessedRows::of(wanted, 1, kFirst, kRows, kBytes, 0).count == 1);
}

TEST_CASE("many rows, or many runs, are not guessed") {
  const Runs much = runs({kFirst}, {kFirst + 100'000});
  CHECK(GuessedRows::of(much, 0, kFirst, kRows, kBytes, 0).count == 0);
  std::vector<int64_t> starts, stops;
  for (int64_t run = 0; run <= static_cast<int64_t>(GuessedRows::kMostRuns); ++run) {
    starts.push_back(kFirst + 10 * run);
    stops.push_back(kFirst + 10 * run + 1);
  }
  CHECK(GuessedRows::of(runs(starts, stops), 0, kFirst, kRows, kBytes, 0).count == 0);
  starts.pop_back();
  stops.pop_back();
  CHECK(GuessedRows::of(runs(starts, stops), 0, kFirst, kRows, kBytes, 0).count == GuessedRows::kMostRuns);
}

TEST_CASE("a page without data has empty guesses") {
  const GuessedRows guessed = GuessedRows::of(runs({0}, {1}), 0, 0, 1, 0, 0);
  REQUIRE(guessed.count == 1);
  CHECK(guessed.starts[0] == 0);
  CHECK(guessed.stops[0] == 0);
}

}  // namespace
