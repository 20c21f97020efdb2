// buffered_page.hpp, flattened_page.hpp: pages over others, of bytes in memory, and of lists stored item by item.
#include <memory>
#include <numeric>
#include <vector>

#include "engine/bind/codec_holders.hpp"
#include "engine/pages/buffered_page.hpp"
#include "engine/pages/flattened_page.hpp"
#include "engine/pages/zipped_page.hpp"
#include "engine/plan/leaf_reader.hpp"
#include "lance_arrow/codec_tables.hpp"
#include "lance_arrow_codecs/variable_packed_struct/codec.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

// Values of a byte each, that count from 0, and their levels.
class Counted : public Page {
 public:
  explicit Counted(std::vector<uint16_t> levels) : levels_(std::move(levels)) {
    num_rows = 12;
    value_bits = 8;
  }
  Outcome plan(const LaRuns&, Ranges* out) const override {
    out->clear();
    return success();
  }
  Outcome open(const LaRuns& rows, const Ranges&, const Fetched&, LeafPart* out) const override {
    const int64_t count = num_selected(rows);
    const LaValues place = out->place(count, 8);
    if (place.values == nullptr) return above_limit();
    uint8_t* to = place.values;
    for (int64_t run = 0; run < rows.num_runs; ++run)
      for (int64_t row = rows.starts[run]; row < rows.stops[run]; ++row) {
        *to++ = static_cast<uint8_t>(row);
        if (!levels_.empty()) out->def.push_back(levels_[static_cast<size_t>(row)]);
      }
    out->took(count, place);
    return success();
  }

 private:
  std::vector<uint16_t> levels_;
};

Outcome read(Page* page, int64_t data_bytes, const std::vector<int64_t>& starts, const std::vector<int64_t>& stops,
             LeafPart* part, const std::vector<uint8_t>& file = {}) {
  PageRef ref{};
  ref.page = page;
  ref.data_bytes = data_bytes;
  part->limit = 1 << 20;
  ReadCount count;
  const LaRuns rows{starts.data(), stops.data(), static_cast<int64_t>(starts.size())};
  return read_leaf({ref}, {-1, file.data(), static_cast<int64_t>(file.size()), nullptr}, nullptr, rows, part, &count);
}

std::vector<uint8_t> bytes_of(const LeafPart& part, int64_t count) {
  if (part.values.data() == nullptr) return {};
  return {part.values.data(), part.values.data() + count};
}

TEST_CASE("lists repeat the levels of their items") {
  // Three items each. Level 1 is a null item, 2 a null list.
  const Counted items({0, 1, 0, 2, 2, 2, 0, 0, 0, 1, 1, 1});
  const FlattenedForm form{3, 1, {3}, {1}, 24};
  const std::unique_ptr<Page> lists(new_flattened_page(form, &items));
  lists->num_rows = 4;
  CHECK(lists->value_bits == 32);
  CHECK((lists->parts == std::vector<int64_t>{3, 24}));
  LeafPart part;
  CHECK(read(lists.get(), 0, {0, 2}, {2, 4}, &part).message == nullptr);
  CHECK((part.def == std::vector<uint16_t>{0, 1, 0, 0}));
  CHECK((bytes_of(part, 16) == std::vector<uint8_t>{0b101, 0, 1, 2, 0, 3, 4, 5, 0b111, 6, 7, 8, 0, 9, 10, 11}));
}

TEST_CASE("lists without nulls are their items") {
  const Counted items({});
  const FlattenedForm form{3, 0, {0}, {0}, 24};
  const std::unique_ptr<Page> lists(new_flattened_page(form, &items));
  lists->num_rows = 4;
  CHECK(lists->value_bits == 24);
  CHECK(lists->parts.empty());
  LeafPart part;
  CHECK(read(lists.get(), 0, {1}, {3}, &part).message == nullptr);
  CHECK(part.def.empty());
  CHECK((bytes_of(part, 6) == std::vector<uint8_t>{3, 4, 5, 6, 7, 8}));
}

TEST_CASE("items that disagree about their list are refused") {
  const Counted items({0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const FlattenedForm form{3, 1, {3}, {1}, 24};
  const std::unique_ptr<Page> lists(new_flattened_page(form, &items));
  lists->num_rows = 4;
  LeafPart part, other;
  CHECK(read(lists.get(), 0, {0}, {1}, &part).message != nullptr);
  CHECK(read(lists.get(), 0, {1}, {4}, &other).message == nullptr);
}

TEST_CASE("pages in memory read what they hold, and nothing beyond") {
  Outcome outcome;
  const std::unique_ptr<HeldValueCodec> codec(hold_plain_values(8));
  StreamForm form;
  form.zip = {0, 0, 1, 0, -1};
  form.num_entries = form.num_values = 12;
  form.values = codec.get();
  const std::unique_ptr<Page> page(new_zipped_page(form, 1));
  page->num_rows = 12;
  std::vector<uint8_t> data(12);
  std::iota(data.begin(), data.end(), uint8_t{0});
  const std::unique_ptr<Page> held(new_buffered_page(page.get(), data.data(), 12));
  held->num_rows = 12;
  LeafPart part, beyond;
  CHECK(read(held.get(), 0, {2, 7}, {4, 9}, &part).message == nullptr);
  CHECK((bytes_of(part, 4) == std::vector<uint8_t>{2, 3, 7, 8}));
  const std::unique_ptr<Page> shorter(new_buffered_page(page.get(), data.data(), 11));
  shorter->num_rows = 12;
  CHECK(read(shorter.get(), 0, {10}, {12}, &beyond).message != nullptr);
}

TEST_CASE("zipped rows of any length find themselves by their index, which they read once") {
  Outcome outcome;
  const std::unique_ptr<HeldValueCodec> codec(hold_plain_values(0));
  StreamForm form;
  form.zip = {0, 0, -1, 32, -1};
  form.num_entries = form.num_values = 2;
  form.values = codec.get();
  // "ab" and "c" behind their lengths, then where each begins, and the end.
  const std::vector<uint8_t> file{2, 0, 0, 0, 'a', 'b', 1, 0, 0, 0, 'c', 0, 6, 11};
  const auto load = [&](Page* page, int64_t index_bytes) {
    PageRef ref{};
    ref.page = page;
    page->num_rows = 2;
    ref.buffers.starts[1] = 11;
    ref.buffers.sizes[0] = 11;
    ref.buffers.sizes[1] = index_bytes;
    ref.buffers.count = 2;
    ReadCount count;
    return load_indices({ref}, {-1, file.data(), static_cast<int64_t>(file.size()), nullptr}, &count);
  };
  const std::unique_ptr<Page> page(new_zipped_page(form, -1)), other(new_zipped_page(form, -1));
  CHECK(!page->is_indexed());
  CHECK(load(page.get(), 3).message == nullptr);
  CHECK(page->is_indexed());
  CHECK(page->index_bytes() > 0);
  LeafPart part;
  CHECK(read(page.get(), 11, {1}, {2}, &part, file).message == nullptr);
  CHECK((bytes_of(part, 1) == std::vector<uint8_t>{'c'}));
  CHECK(load(other.get(), 2).message != nullptr);
  CHECK(!other->is_indexed());
}

TEST_CASE("rows of packed structs are made of the values of their fields") {
  Outcome outcome;
  const std::unique_ptr<HeldValueCodec> words(hold_plain_values(16)), texts(hold_plain_values(0));
  const std::unique_ptr<HeldValueCodec> rows(hold_packed_rows({words.get(), texts.get()}, {2, -8}, {2, -4}));
  const std::vector<uint8_t> data{1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c', 4, 5, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<int64_t> starts{0, 13, 13}, sizes{13, 0, 10};
  LeafPart part;
  part.limit = 1 << 10;
  LaValues place = part.place(3, 0);
  CHECK(rows->expand(rows->self, data.data(), starts.data(), sizes.data(), 3, &place) == nullptr);
  part.took(3, place);
  CHECK((part.ends == std::vector<int64_t>{9, 9, 15}));
  CHECK((bytes_of(part, 15) == std::vector<uint8_t>{1, 2, 3, 0, 0, 0, 'a', 'b', 'c', 4, 5, 0, 0, 0, 0}));
  const std::vector<int64_t> shorter{12, 0, 10};
  LaValues again = part.place(3, 0);
  CHECK(rows->expand(rows->self, data.data(), starts.data(), shorter.data(), 3, &again) != nullptr);
}

}  // namespace
