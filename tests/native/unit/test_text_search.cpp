// text_search.hpp: needles of each length, at each end of strings, and across two of them.
#include "engine/plan/text_search.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow::engine;

void check(const std::vector<std::string>& values, const std::string& needle) {
  std::string bytes = "ab";
  std::vector<int64_t> ends;
  for (const std::string& one : values) {
    bytes += one;
    ends.push_back(static_cast<int64_t>(bytes.size()));
  }
  const auto count = static_cast<int64_t>(values.size());
  // Not a byte behind the last string may be read.
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  for (const bool is_found : {true, false}) {
    std::vector<uint8_t> marks(values.size() + 1, 7);
    const TextSearch search{needle, static_cast<uint8_t>(is_found), static_cast<uint8_t>(!is_found)};
    search.mark(exact.data(), 2, ends.data(), count, marks.data());
    for (size_t value = 0; value < values.size(); ++value)
      REQUIRE((marks[value] != 0) == ((values[value].find(needle) != std::string::npos) == is_found));
    CHECK(marks.back() == 7);
  }
}

}  // namespace

TEST_CASE("strings are marked that have a needle anywhere") {
  std::vector<std::string> values;
  for (size_t size = 0; size < 140; ++size) {
    values.push_back(std::string(size % 70, 'a'));
    values.push_back(std::string(size, 'b') + "ab" + std::string(size % 9, 'a'));
    values.push_back(std::string(size % 3, 'c'));
    values.push_back("abc" + std::string(size % 5, '\0') + "xyz");
  }
  for (const std::string needle :
       {"a", "b", "c", "ab", "ba", "aba", "abab", "bbbbbbbbbbbbbbbbbbbb", "xyza", "zz", "xyz"})
    check(values, needle);
  check(values, std::string(3, '\0'));
  check(values, std::string(200, 'b'));
  check({}, "a");
  check({"", "", "a"}, "a");
  check({"a", "", ""}, "a");
  check(std::vector<std::string>(500), "a");
}
