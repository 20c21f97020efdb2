// leaf_encoding.hpp: leaves of any width, offset and nulls, in memory of exactly their size; metadata, sums and zones.
#include <memory>

#include "engine/encode/encoders/held_encoders.hpp"
#include "engine/encode/leaves/leaf_pages.hpp"
#include "engine/encode/leaves/zone_records.hpp"
#include "lance_arrow_codecs/flat/encoder.hpp"
#include "lance_arrow_codecs/inline_bitpacking/encoder.hpp"
#include "lance_arrow_codecs/out_of_line_bitpacking/encoder.hpp"
#include "lance_arrow_codecs/rle/encoder.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;
using tests::refusal;

// Numbers that look random, the same at every run.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 2654435761u + 1) {}

  uint64_t next(uint64_t limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ % limit;
  }

 private:
  uint64_t state_;
};

// All encoders of the format for values of one width, in the order of their names.
class Format {
 public:
  explicit Format(bool large) {
    const ScoreOptions options;
    add(hold_flat_encoder("flat"));
    add(hold_asked_encoder(4096, 1024));
    add(hold_inline_packer("inline", options));
    add(hold_run_encoder("runs", options));
    add_blocks(hold_flat_blocks("flat"));
    add_blocks(hold_inline_blocks("inline", options));
    add_blocks(hold_packed_blocks(std::vector<std::string>(17, "packed"), options, true));
    add_blocks(hold_run_blocks("runs", options));
    add_pages(hold_no_pages());
    add_pages(hold_constant_pages(true));
    add_pages(hold_zipped_pages(2.0));
    add_pages(hold_chunk_pages(form(large, {64, 128})));
  }

  static ChunkPageForm form(bool large, std::vector<int64_t> dictionary_bits) {
    ChunkPageForm form{};
    form.rules = form.index_rules = {8186, 4096, 4096};
    form.estimate_rules = {16 << 10, 4096, 4096};
    form.large = large;
    form.zipped_from_bytes = 256;
    form.dictionary_bits = std::move(dictionary_bits);
    form.dictionary_values = 100;
    form.dictionary_divisor = 2;
    form.dictionary_ratio = 0.8;
    return form;
  }

  EncoderSet set;

 private:
  void add(HeldChunkEncoder* one) {
    chunks_.emplace_back(one);
    set.chunks.encoders.push_back(one);
  }
  void add_blocks(HeldBlocksEncoder* one) {
    blocks_.emplace_back(one);
    set.blocks.encoders.push_back(one);
  }
  void add_pages(HeldPageEncoder* one) {
    pages_.emplace_back(one);
    set.layouts.push_back({one, "/layout"});
  }

  std::vector<std::unique_ptr<HeldChunkEncoder>> chunks_;
  std::vector<std::unique_ptr<HeldBlocksEncoder>> blocks_;
  std::vector<std::unique_ptr<HeldPageEncoder>> pages_;
};

// An array over memory of its own.
struct Column {
  Bytes validity, values;
  const void* buffers[2];
  ArrowArray array{};

  Column(int64_t bits, int64_t offset, int64_t num_rows, bool has_nulls, uint64_t largest, Numbers& numbers) {
    values.resize(static_cast<size_t>(((offset + num_rows) * bits + 7) / 8));
    if (bits < 8) {
      for (uint8_t& byte : values) byte = static_cast<uint8_t>(numbers.next(largest > 1 ? 256 : 1));
    } else {
      const auto width = static_cast<size_t>(bits / 8);
      for (size_t at = 0; at < values.size(); at += width) {
        const uint64_t value = numbers.next(largest);
        std::memcpy(&values[at], &value, width < 8 ? width : 8);
      }
    }
    if (has_nulls) {
      validity.resize(static_cast<size_t>((offset + num_rows + 7) / 8));
      for (uint8_t& byte : validity) byte = static_cast<uint8_t>(numbers.next(256) | numbers.next(256));
    }
    buffers[0] = has_nulls ? validity.data() : nullptr;
    buffers[1] = values.data();
    array.length = num_rows;
    array.null_count = has_nulls ? -1 : 0;
    array.offset = offset;
    array.n_buffers = 2;
    array.buffers = buffers;
  }
};

// A batch of one column, or a struct around it: bits of nulls may be given, and slots before the first.
struct Batch {
  Bytes validity;
  ArrowArray child;
  ArrowArray* children[1];
  const void* buffers[1];
  ArrowArray array{};

  explicit Batch(const ArrowArray& column, int64_t offset = 0, const Bytes& valid = {})
      : validity(valid), child(column), children{&child}, buffers{valid.empty() ? nullptr : validity.data()} {
    array.length = column.length - offset;
    array.offset = offset;
    array.null_count = valid.empty() ? 0 : -1;
    array.n_buffers = array.n_children = 1;
    array.buffers = buffers;
    array.children = children;
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
};

// The first rows of a batch as values of a leaf.
Outcome open_rows(LeafValues& values, const ArrowArray& batch, const std::vector<PathStep>& path, int64_t num_rows) {
  LeafRows rows{};
  const Outcome outcome = rows_of_batch(batch, path, &rows);
  if (outcome.message != nullptr) return outcome;
  rows.count = num_rows;
  return values.open({rows}, path, 64, 0);
}

void leave(ArrowArray* array) { array->release = nullptr; }

// A batch that may be moved: what it consists of belongs to `given`.
ArrowArray lent(Batch& given) {
  given.array.release = given.child.release = &leave;
  return given.array;
}

// Encodes pages as they come, and places them.
class Writing {
 public:
  Writing(std::vector<LeafForm> forms, const EncoderSet* encoders, BlockSums* sums, int64_t page_bytes)
      : forms(std::move(forms)),
        records(static_cast<int64_t>(this->forms.size())),
        encoders_(encoders),
        held_(&this->forms, page_bytes, 1 << 20),
        places_(&records, sums),
        bounds(this->forms.size()) {}

  void add(ArrowArray batch) {
    REQUIRE(refusal(held_.add(&batch, &pages_)) == "");
    place();
  }
  void end() {
    held_.take_largest(-1, &pages_);
    place();
    CHECK(held_.num_bytes() == 0);
  }

  std::vector<LeafForm> forms;
  ColumnRecords records;
  int64_t position = 64, num_asked = 0, num_pages = 0;

 private:
  void place() {
    for (const PageRows& rows : pages_) {
      const LeafForm& form = forms[rows.leaf];
      EncodedLeaf page;
      REQUIRE(refusal(encoder_.encode(form, *encoders_, rows, &page)) == "");
      places_.begin(position);
      if (!page.is_asked) REQUIRE(refusal(places_.place(form, rows, page)) == "");
      CHECK(places_.piece().size() % LeafPages::kAlignmentBytes == 0);
      position += static_cast<int64_t>(places_.piece().size());
      num_asked += page.is_asked;
      ++num_pages;
      REQUIRE(refusal(append_bounds(form.zones, rows.first_row, std::move(page.bounds), &bounds[rows.leaf])) == "");
    }
    pages_.clear();
  }

  const EncoderSet* encoders_;
  HeldRows held_;
  LeafEncoder encoder_;
  LeafPages places_;
  std::vector<PageRows> pages_;

 public:
  std::vector<LeafBounds> bounds;
};

}  // namespace

TEST_CASE("nulls of structs around a leaf are levels of their own, and hide its values") {
  Numbers numbers(3);
  Column given(64, 2, 13, false, 100, numbers);
  // Slots of the leaf: 2 before the array, of which structs leave out the first 1 and the first 2.
  given.validity = {0xFF, 0xDF};
  given.buffers[0] = given.validity.data();
  given.array.null_count = -1;
  const Batch inner(given.array, 1, {0xF7, 0xFF}), outer(inner.array, 2, {0xBF, 0xFF}), batch(outer.array);
  LeafValues values;
  const std::vector<PathStep> path{{0, true}, {0, false}, {0, true}};
  REQUIRE(refusal(open_rows(values, batch.array, path, 10)) == "");
  // Bit 6 of the outer struct is row 4. Bit 3 of the inner is row 0, bit 13 of the leaf row 8.
  CHECK(values.levels().def() == std::vector<uint16_t>{2, 0, 0, 0, 3, 0, 0, 0, 1, 0});
  CHECK(values.levels().layers() == std::vector<uint8_t>{3, 3, 3});
  CHECK(values.levels().max_def() == 3);
  CHECK(values.levels().has_refused_null());
  CHECK(values.block().num_nulls == 3);
  CHECK(values.block().present[0] == 0xEE);
  CHECK(values.block().present[1] == 0x02);
  for (int64_t row = 0; row < 10; ++row) {
    const bool is_null = row == 0 || row == 4 || row == 8;
    const uint64_t stored = load<uint64_t>(given.values.data(), 5 + row);
    CHECK(load<uint64_t>(values.block().values, row) == (is_null ? 0 : stored));
  }
  const LeafForm form{path, 0, 64, 0, 0, {0, 8, 0, false}};
  LeafLevels levels;
  bool is_refused = false;
  REQUIRE(refusal(check_leaf(form, batch.array, &levels, &is_refused)) == "");
  CHECK(is_refused);
  CHECK(refusal(open_rows(values, batch.array, {{1, true}}, 10)) == "a batch has another form than its leaves");
  CHECK(refusal(open_rows(values, batch.array, {{0, true}, {0, true}, {0, true}, {0, true}}, 10)) != "");
  const Batch longer(outer.array, 1);
  CHECK(refusal(open_rows(values, longer.array, path, 9)) == "");
}

TEST_CASE("leaves of any width, offset and nulls are encoded within their memory") {
  Numbers numbers(7);
  int64_t num_asked = 0, num_leaves = 0;
  for (const int64_t bits : {1, 8, 16, 32, 40, 64, 128, 256}) {
    const Format format(bits != 40);
    for (const int64_t num_rows : {1, 2, 7, 8, 9, 63, 64, 65, 200, 1000, 1023, 1024, 1025, 3000, 5000}) {
      for (const uint64_t largest : {uint64_t{1}, uint64_t{2}, uint64_t{100}, uint64_t{1} << 40}) {
        for (const bool has_nulls : {false, true}) {
          const ZoneForm zones{bits == 1 ? 3 : 4, bits == 1 ? 1 : bits / 8, 700, false};
          // One page, or several: the rows come in two batches.
          for (const int64_t page_bytes : {int64_t{1} << 30, int64_t{1500}}) {
            BlockSums sums(16 << 10);
            Writing writing({{{{0, true}}, 0, bits, 0, 0, zones}}, &format.set, &sums, page_bytes);
            const int64_t first = num_rows / 3;
            std::vector<std::unique_ptr<Column>> columns;
            std::vector<std::unique_ptr<Batch>> batches;
            for (const int64_t part : {first, num_rows - first}) {
              const auto offset = static_cast<int64_t>(numbers.next(12));
              columns.push_back(std::make_unique<Column>(bits, offset, part, has_nulls, largest, numbers));
              batches.push_back(std::make_unique<Batch>(columns.back()->array));
              writing.add(lent(*batches.back()));
            }
            writing.end();
            const LeafBounds& bounds = writing.bounds[0];
            CHECK(bounds.num_zones == (num_rows + 699) / 700);
            CHECK((writing.num_asked > 0 || writing.records.length(0) == num_rows));
            CHECK(sums.stop() <= writing.position);
            int64_t counted = 0;
            for (const auto* counts : {&bounds.values, &bounds.nulls, &bounds.nans})
              for (const int64_t count : *counts) counted += count;
            CHECK(counted == num_rows);
            if (bounds.num_zones == 1) CHECK(packed_zone(bounds, zones.width, 0, num_rows).size() >= 12);
            if (page_bytes < 2000) CHECK(writing.num_pages >= num_rows * bits / 8 / page_bytes);
            num_asked += writing.num_asked > 0;
            ++num_leaves;
          }
        }
      }
    }
  }
  CHECK(num_asked < num_leaves / 2);
}

TEST_CASE("a batch is released when its rows are in pages, or copied for the next one") {
  Numbers numbers(5);
  const Column narrow(8, 0, 100, false, 100, numbers), wide(64, 0, 100, false, 100, numbers);
  static int num_released;
  num_released = 0;
  const auto release = [](ArrowArray* array) {
    ++num_released;
    array->release = nullptr;
  };
  ArrowArray fields[2] = {narrow.array, wide.array};
  ArrowArray* children[2] = {&fields[0], &fields[1]};
  Bytes validity(13, 0xFE);
  const void* buffers[1] = {validity.data()};
  ArrowArray around{100, 1, 0, 1, 2, buffers, children, nullptr, nullptr, nullptr};
  ArrowArray* columns[1] = {&around};
  const ArrowArray batch{100, 0, 0, 1, 1, buffers, columns, nullptr, release, nullptr};
  const std::vector<LeafForm> forms{{{{0, true}, {0, true}}, 0, 8, 0, 0, {}},
                                    {{{0, true}, {1, true}}, 1, 64, 0, 0, {}}};
  HeldRows held(&forms, 1 << 20, 1000);
  std::vector<PageRows> pages;
  ArrowArray first = batch, second = batch;
  REQUIRE(refusal(held.add(&first, &pages)) == "");
  CHECK((num_released == 0 && pages.empty()));
  CHECK(held.num_bytes() == 900 + 2 * HeldRows::kPartBytes);
  REQUIRE(refusal(held.add(&second, &pages)) == "");
  CHECK((num_released == 1 && pages.empty()));
  held.take_largest(2000, &pages);
  REQUIRE(pages.size() == 1);
  CHECK((pages[0].leaf == 1 && pages[0].num_rows == 200 && pages[0].parts.size() == 2));
  ArrowArray copied = lend_rows(pages[0].parts[0]), given = lend_rows(pages[0].parts[1]);
  pages.clear();
  CHECK((copied.length == 100 && copied.n_children == 1));
  CHECK((static_cast<const uint8_t*>(copied.buffers[0])[0] == 0xFE));
  CHECK(std::memcmp(copied.children[0]->buffers[1], wide.values.data(), 800) == 0);
  CHECK((given.length == 100 && given.children[0]->buffers[1] == wide.values.data()));
  copied.release(&copied);
  held.take_largest(-1, &pages);
  pages.clear();
  CHECK((num_released == 1 && held.num_bytes() == 0));
  given.release(&given);
  CHECK(num_released == 2);
}

namespace {

// Lists of 32-bit offsets around an array.
struct Lists {
  Bytes offsets, validity;
  const void* buffers[2];
  ArrowArray* children[1];
  ArrowArray array{};

  Lists(const std::vector<int32_t>& given, int64_t offset, const Bytes& valid, ArrowArray* items)
      : offsets(tests::bytes_of(given)),
        validity(valid),
        buffers{valid.empty() ? nullptr : validity.data(), offsets.data()},
        children{items} {
    array.length = static_cast<int64_t>(given.size()) - 1 - offset;
    array.offset = offset;
    array.null_count = valid.empty() ? 0 : -1;
    array.n_buffers = 2;
    array.n_children = 1;
    array.buffers = buffers;
    array.children = children;
  }
};

}  // namespace

TEST_CASE("entries of lists are values, nulls and empty lists; zones count values") {
  Numbers numbers(9);
  Column items(64, 1, 9, false, 100, numbers);
  items.validity = {0xEF, 0xFF};  // item 3
  items.buffers[0] = items.validity.data();
  items.array.null_count = -1;
  // The first slot is before the array. Then 2 items, none, null with 2 items that nobody sees, 3 items.
  const Lists lists({0, 1, 3, 3, 5, 8}, 1, {0b10111}, &items.array);
  const Batch batch(lists.array);
  const std::vector<PathStep> path{{0, true, 32}, {0, true}};
  LeafValues values;
  REQUIRE(refusal(open_rows(values, batch.array, path, 4)) == "");
  const LeafLevels& levels = values.levels();
  CHECK(levels.rep() == std::vector<uint16_t>{1, 0, 1, 1, 1, 0, 0});
  CHECK(levels.num_values() == 5);
  CHECK(levels.max_rep() == 1);
  // Item 3 lies in the null list.
  CHECK(levels.layers() == std::vector<uint8_t>{1, 6});
  CHECK(levels.def() == std::vector<uint16_t>{0, 0, 2, 1, 0, 0, 0});
  CHECK((levels.max_visible() == 0 && levels.max_def() == 2));
  CHECK(values.value_levels() == nullptr);
  const int64_t expected[] = {1, 2, 5, 6, 7};
  for (int64_t value = 0; value < 5; ++value)
    CHECK(load<uint64_t>(values.block().values, value) == load<uint64_t>(items.values.data(), 1 + expected[value]));
  LeafBounds bounds;
  REQUIRE(refusal(bound_leaf({1, 8, 3, false}, values, 2, &bounds)) == "");
  // Rows 2, then rows 3 to 5.
  CHECK((bounds.num_zones == 2 && bounds.values == std::vector<int64_t>{2, 3}));
  const LeafForm form{path, 0, 64, 0, 0, {1, 8, 0, false}};
  LeafLevels again;
  bool is_refused = true;
  REQUIRE(refusal(check_leaf(form, batch.array, &again, &is_refused)) == "");
  CHECK(!is_refused);
  const Lists back({0, 1, 3, 2, 5, 8}, 1, {}, &items.array);
  REQUIRE(refusal(check_leaf(form, Batch(back.array).array, &again, &is_refused)) == "");
  CHECK(is_refused);
  const Lists beyond({0, 1, 3, 3, 5, 10}, 1, {}, &items.array);
  CHECK(refusal(check_leaf(form, Batch(beyond.array).array, &again, &is_refused)) == "list offsets leave their items");
}

TEST_CASE("lists become pages of whole rows within their memory") {
  Numbers numbers(11);
  int64_t num_pages = 0;
  for (const bool large : {false, true}) {
    const Format format(large);
    for (int round = 0; round < 60; ++round) {
      const auto num_rows = static_cast<int64_t>(numbers.next(300)) + 1;
      std::vector<int32_t> offsets{static_cast<int32_t>(numbers.next(3))};
      for (int64_t row = 0; row <= num_rows; ++row)
        offsets.push_back(offsets.back() + static_cast<int32_t>(numbers.next(round % 3 == 0 ? 2 : 9)));
      Bytes valid(static_cast<size_t>(num_rows / 8 + 1), 0xFF);
      for (uint8_t& byte : valid) byte = static_cast<uint8_t>(numbers.next(256) | numbers.next(256));
      const int64_t bits = round % 2 == 0 ? 32 : 64;
      Column items(bits, 2, offsets.back(), round % 4 == 0, 1000, numbers);
      Lists lists(offsets, 1, round % 5 == 0 ? Bytes{} : valid, &items.array);
      items.array.release = &leave;
      Batch batch(lists.array);
      BlockSums sums(16 << 10);
      const ZoneForm zones{1, bits / 8, 40, false};
      Writing writing({{{{0, true, 32}, {0, true}}, 0, bits, 0, 0, zones}}, &format.set, &sums,
                      round % 3 == 1 ? 500 : 1 << 20);
      writing.add(lent(batch));
      writing.end();
      CHECK(writing.bounds[0].num_zones == (num_rows + 39) / 40);
      CHECK((writing.num_asked > 0 || writing.records.length(0) == num_rows));
      num_pages += writing.num_pages;
    }
  }
  CHECK(num_pages > 200);
}

TEST_CASE("equal tables of chunks lie in one place") {
  Numbers numbers(1);
  const Format format(true);
  const std::vector<LeafForm> forms{{{{0, true}}, 0, 64, 0, 0, {0, 8, 0, false}}};
  ColumnRecords records(1);
  LeafPages places(&records, nullptr);
  places.begin(0);
  for (int64_t column = 0; column < 2; ++column) {
    const Column given(64, 0, 100, false, uint64_t{1} << 62, numbers);
    Batch batch(given.array);
    ArrowArray moved = lent(batch);
    HeldRows held(&forms, 1 << 20, 1 << 20);
    std::vector<PageRows> pages;
    REQUIRE(refusal(held.add(&moved, &pages)) == "");
    held.take_largest(-1, &pages);
    EncodedLeaf page;
    LeafEncoder encoder;
    REQUIRE(refusal(encoder.encode(forms[0], format.set, pages[0], &page)) == "");
    CHECK(!page.is_asked);
    REQUIRE(refusal(places.place(forms[0], pages[0], page)) == "");
    // A table of chunks of one word, padded, is there once.
    CHECK(places.piece().size() == static_cast<size_t>(64 + 832 * (column + 1)));
  }
}

TEST_CASE("metadata are the bytes of protobuf") {
  ColumnRecords records(1);
  records.add_page(0, "ab", {{64, 128}, {4, 300}}, 100, 7);
  records.describe(0, "c", {{1}, {2}});
  std::vector<int64_t> sizes;
  const std::string expected(
      "\x0a\x05\x12\x03\x0a\x01"
      "c"
      "\x12\x16\x0a\x03\x40\x80\x01\x12\x03\x04\xac\x02\x18\x64\x22\x06\x12\x04\x0a\x02"
      "ab"
      "\x28\x07\x1a\x01\x01\x22\x01\x02",
      37);
  CHECK(records.serialized(&sizes) == expected);
  CHECK(sizes == std::vector<int64_t>{37});
}

TEST_CASE("columns without a description, or of another length, are found") {
  ColumnRecords records(2);
  records.describe(0, "c", {});
  const std::vector<int64_t> none{0, 0}, three{3, 0};
  CHECK(records.first_wrong(none.data()) == 1);
  records.describe(1, "c", {});
  CHECK(records.first_wrong(none.data()) == -1);
  CHECK(records.first_wrong(three.data()) == 0);
}
