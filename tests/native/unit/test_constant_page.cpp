// constant_page.hpp: scalars and levels that contradict each other, and rows of pages that take no bytes.
#include "engine/bind/codec_holders.hpp"
#include "engine/pages/constant_page.hpp"
#include "engine/plan/leaf_reader.hpp"
#include "lance_arrow_codecs/out_of_line_bitpacking/codec.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;

Bytes words(const std::vector<uint16_t>& levels) { return tests::bytes_of(levels); }

ConstantForm numbers(const std::string& scalar = "") {
  ConstantForm form;
  form.value_bits = 32;
  form.has_scalar = !scalar.empty();
  form.scalar = scalar;
  form.max_def = 1;
  form.max_visible = -1;
  form.is_null_without_levels = true;
  form.most_level_bytes = 1 << 16;
  return form;
}

// Values, definition and repetition levels of rows, or what is refused.
std::string rows_of(const ConstantForm& form, int64_t num_rows, const std::vector<Bytes>& buffers,
                    const std::vector<std::pair<int64_t, int64_t>>& wanted, int64_t limit = 1 << 20) {
  const std::unique_ptr<Page> page(new_constant_page(form, buffers.size()));
  page->num_rows = num_rows;
  PageRef ref{};
  ref.page = page.get();
  Bytes file{'x'};
  for (const Bytes& buffer : buffers) {
    ref.buffers.starts[ref.buffers.count] = tests::size_of(file);
    ref.buffers.sizes[ref.buffers.count++] = tests::size_of(buffer);
    file = tests::joined({file, buffer});
  }
  std::vector<int64_t> starts, stops;
  for (const auto& [start, stop] : wanted) starts.push_back(start), stops.push_back(stop);
  const LaRuns rows{starts.data(), stops.data(), static_cast<int64_t>(starts.size())};
  LeafPart part;
  part.limit = limit;
  ReadCount count;
  const Outcome outcome =
      read_leaf({ref}, {-1, file.data(), tests::size_of(file), nullptr}, nullptr, rows, &part, &count);
  if (outcome.message != nullptr) return outcome.message;
  std::string found;
  if (form.value_bits > 1) {
    found.assign(reinterpret_cast<const char*>(part.values.data()),
                 static_cast<size_t>(part.num_values * form.value_bits / 8));
  } else {
    int64_t start = 0;
    for (const int64_t end : part.ends) {
      found +=
          std::string(reinterpret_cast<const char*>(part.values.data()) + start, static_cast<size_t>(end - start)) +
          "|";
      start = end;
    }
  }
  if (form.value_bits <= 1) found += std::to_string(part.num_values);
  for (const auto& [name, levels] : {std::pair{" def", &part.def}, std::pair{" rep", &part.rep}}) {
    if (!levels->empty()) found += name;
    for (const uint16_t level : *levels) found += " " + std::to_string(level);
  }
  return found;
}

TEST_CASE("one value for every row") {
  CHECK(rows_of(numbers("abcd"), 9, {}, {{0, 3}}) == "abcdabcdabcd");
  CHECK(rows_of(numbers("abcd"), 9, {}, {{0, 1}, {8, 9}}) == "abcdabcd");
  CHECK(rows_of(numbers("abcd"), 3, {{}, words({0, 1, 0})}, {{1, 3}}) == "abcdabcd def 1 0");
  CHECK(rows_of(numbers("abcd"), int64_t{1} << 60, {}, {{(int64_t{1} << 60) - 1, int64_t{1} << 60}}) == "abcd");
  CHECK(rows_of(numbers("abcd"), int64_t{1} << 60, {}, {{0, int64_t{1} << 59}}) ==
        "more bytes are wanted than a limit allows");
}

TEST_CASE("no value at all") {
  const std::string nothing(8, '\0');
  CHECK(rows_of(numbers(), 9, {}, {{4, 6}}) == nothing + " def 1 1");
  CHECK(rows_of(numbers(), 2, {{}, words({1, 1})}, {{0, 2}}) == nothing + " def 1 1");
  CHECK(rows_of(numbers(), 2, {{}, words({1, 0})}, {{0, 2}}) == "a constant page without a scalar has valid values");
  ConstantForm form = numbers();
  form.value_bits = kNoValues;
  form.is_null_without_levels = false;
  CHECK(rows_of(form, 5, {}, {{1, 4}}) == "3");
  CHECK(rows_of(form, 3, {{}, words({1, 0, 1})}, {{0, 3}}) == "3 def 1 0 1");
}

TEST_CASE("scalars in buffers") {
  const Bytes four{1, 0, 0, 0, 4, 0, 0, 0, 'a', 'b', 'c', 'd'};
  CHECK(rows_of(numbers(), 2, {four}, {{0, 2}}) == "abcdabcd");
  CHECK(rows_of(numbers(), 2, {four, {}, words({1, 0})}, {{0, 2}}) == "abcdabcd def 1 0");
  for (size_t size = 0; size < four.size(); ++size) {
    CAPTURE(size);
    CHECK(rows_of(numbers(), 2, {Bytes(four.begin(), four.begin() + static_cast<int64_t>(size))}, {{0, 2}})
              .starts_with("a scalar"));
  }
  CHECK(rows_of(numbers(), 2, {tests::joined({four, {0}})}, {{0, 2}}) == "a scalar's buffers do not fill it");
  Bytes wrong = four;
  wrong[0] = 2;
  CHECK(rows_of(numbers(), 2, {wrong}, {{0, 2}}).starts_with("a scalar"));
  wrong[0] = wrong[1] = wrong[2] = wrong[3] = 255;
  CHECK(rows_of(numbers(), 2, {wrong}, {{0, 2}}).starts_with("a scalar"));
  ConstantForm text = numbers();
  text.value_bits = 0;
  text.offset_bits = 32;
  Bytes two{2, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 'h', 'i'};
  CHECK(rows_of(text, 3, {two, {}, words({0, 1, 0})}, {{0, 3}}) == "hi||hi|3 def 0 1 0");
  two[16] = 3;
  CHECK(rows_of(text, 3, {two}, {{0, 3}}) == "a scalar's offsets do not span its bytes");
  CHECK(rows_of(text, 3, {four}, {{0, 3}}) == "a scalar has another size than its type");
}

TEST_CASE("levels of lists") {
  ConstantForm form = numbers("abcd");
  form.max_rep = 1;
  form.max_def = 3;
  form.max_visible = 1;
  form.is_null_without_levels = true;
  const Bytes rep = words({1, 0, 1, 1, 1}), def = words({0, 1, 2, 3, 0});
  CHECK(rows_of(form, 4, {rep, def}, {{0, 1}}) == "abcdabcd def 0 1 rep 1 0");
  CHECK(rows_of(form, 4, {rep, def}, {{1, 4}}) == "abcd def 2 3 0 rep 1 1 1");
  CHECK(rows_of(form, 4, {rep, {}}, {{0, 1}, {3, 4}}) == "abcdabcdabcd rep 1 0 1");
  CHECK(rows_of(form, 3, {rep, def}, {{0, 1}}) == "repetition levels start other rows than the page has");
  CHECK(rows_of(form, 4, {words({0, 1, 1, 1, 1}), def}, {{0, 1}}) ==
        "repetition levels start other rows than the page has");
  CHECK(rows_of(form, 4, {rep, words({0, 1, 2, 4, 0})}, {{0, 1}}) != "");
  CHECK(rows_of(form, 4, {rep, words({0, 1})}, {{0, 1}}) == "levels of two kinds differ in number");
  CHECK(rows_of(form, 4, {}, {{0, 1}}) == "a constant page must have repetition levels if and only if it has lists");
  CHECK(rows_of(numbers("abcd"), 4, {rep, def}, {{0, 1}}) ==
        "a constant page must have repetition levels if and only if it has lists");
  CHECK(rows_of(form, 4, {{1, 0, 0}, def}, {{0, 1}}) == "levels have another size than is declared");
  const std::unique_ptr<HeldChunkCodec> nothing(hold_out_of_line_bitpacking(16, 0));
  form.rep = nothing.get();
  form.num_rep = int64_t{1} << 40;
  CHECK(rows_of(form, 4, {{1}, def}, {{0, 1}}) == "more bytes are wanted than a limit allows");
}

}  // namespace
