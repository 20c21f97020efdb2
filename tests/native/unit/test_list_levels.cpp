// list_page.hpp and list_levels.hpp: lists in columns of their own, level by level, near and far.
#include <memory>
#include <string>
#include <vector>

#include "engine/pages/array_pages.hpp"
#include "engine/pages/list_page.hpp"
#include "engine/plan/list_levels.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;

constexpr int64_t kLimit = 1 << 20;

// Lists of lists of 32-bit numbers that count on; some lists are null, and some of these have items nobody sees.
struct Tree {
  std::vector<std::unique_ptr<Page>> pages;
  ListPages lists;
  std::vector<PageRef> leaf;
  std::vector<std::vector<std::vector<int32_t>>> rows;  // what is seen
  std::vector<bool> is_null;
  Bytes file;

  // A column of lists in pages of `page_rows`; ends of nulls have the number of items and 1 added.
  void add_lists(const std::vector<int64_t>& sizes, const std::vector<bool>& nulls, size_t page_rows) {
    std::vector<PageRef> refs;
    int64_t first_item = 0;
    for (size_t start = 0; start < sizes.size(); start += page_rows) {
      const size_t stop = std::min(sizes.size(), start + page_rows);
      int64_t num_items = 0;
      for (size_t list = start; list < stop; ++list) num_items += sizes[list];
      std::vector<uint64_t> ends;
      uint64_t end = 0;
      for (size_t list = start; list < stop; ++list) {
        end += static_cast<uint64_t>(sizes[list]);
        ends.push_back(end + (nulls[list] ? static_cast<uint64_t>(num_items) + 1 : 0));
      }
      pages.emplace_back(new_list_page(static_cast<uint64_t>(num_items) + 1, num_items));
      refs.push_back(place(static_cast<int64_t>(start), static_cast<int64_t>(stop - start), tests::bytes_of(ends)));
      refs.back().first_item = first_item;
      first_item += num_items;
    }
    lists.push_back(refs);
  }

  PageRef place(int64_t first_row, int64_t num_rows, const Bytes& stored) {
    pages.back()->num_rows = num_rows;
    pages.back()->layers = {3};
    PageRef ref{};
    ref.page = pages.back().get();
    ref.first_row = first_row;
    ref.data_start = static_cast<int64_t>(file.size());
    ref.data_bytes = static_cast<int64_t>(stored.size());
    file.insert(file.end(), stored.begin(), stored.end());
    return ref;
  }

  explicit Tree(tests::Random* random) {
    std::vector<int64_t> outer, inner;
    std::vector<bool> outer_null, inner_null;
    int32_t next = 0;
    for (int row = 0; row < 60; ++row) {
      const bool hides = random->below(8) == 0;
      outer_null.push_back(hides || random->below(6) == 0);
      outer.push_back(outer_null.back() && !hides ? 0 : random->below(4));
      rows.emplace_back();
      is_null.push_back(outer_null.back());
      for (int64_t list = 0; list < outer.back(); ++list) {
        inner_null.push_back(random->below(5) == 0);
        inner.push_back(random->below(5));
        std::vector<int32_t> items;
        for (int64_t item = 0; item < inner.back(); ++item) items.push_back(next++);
        if (!outer_null.back()) rows.back().push_back(inner_null.back() ? std::vector<int32_t>() : items);
      }
    }
    add_lists(outer, outer_null, 25);
    add_lists(inner, inner_null, 31);
    std::vector<int32_t> numbers(static_cast<size_t>(next));
    for (int32_t number = 0; number < next; ++number) numbers[static_cast<size_t>(number)] = number;
    pages.emplace_back(new_flat_page(32, false));
    leaf.push_back(place(0, next, tests::bytes_of(numbers)));
    file.shrink_to_fit();
  }
};

std::vector<int32_t> read(const Tree& tree, const Reader& reader, const LaRuns& rows, ListParts* parts) {
  LaRuns values{};
  ReadCount count;
  REQUIRE(tests::refusal(read_lists(tree.lists, reader, rows, kLimit, parts, &values, &count)) == "");
  LeafPart leaf;
  leaf.limit = kLimit;
  REQUIRE(tests::refusal(read_leaf(tree.leaf, reader, nullptr, values, &leaf, &count)) == "");
  return tests::numbers_of<int32_t>(Bytes(leaf.values.data(), leaf.values.data() + 4 * leaf.num_values));
}

TEST_CASE("rows of lists of lists are found level by level, out of memory and out of fetched parts") {
  tests::Random random(11);
  for (int round = 0; round < 60; ++round) {
    const Tree tree(&random);
    std::vector<int64_t> starts, stops;
    for (int64_t row = random.below(9); row < 60; row += 1 + random.below(9)) {
      starts.push_back(row);
      row = std::min<int64_t>(60, row + 1 + random.below(20));
      stops.push_back(row);
    }
    const LaRuns rows{starts.data(), stops.data(), static_cast<int64_t>(starts.size())};
    std::vector<int32_t> expected;
    std::vector<int64_t> ends;
    std::vector<uint16_t> nulls;
    int64_t end = 0;
    for (size_t run = 0; run < starts.size(); ++run)
      for (int64_t row = starts[run]; row < stops[run]; ++row) {
        const auto& lists = tree.rows[static_cast<size_t>(row)];
        ends.push_back(end += static_cast<int64_t>(lists.size()));
        nulls.push_back(tree.is_null[static_cast<size_t>(row)]);
        for (const auto& list : lists) expected.insert(expected.end(), list.begin(), list.end());
      }
    ListParts near;
    const auto size = static_cast<int64_t>(tree.file.size());
    CHECK(read(tree, {-1, tree.file.data(), size, nullptr}, rows, &near) == expected);
    CHECK(near[0]->ends == ends);
    CHECK(near[0]->def == nulls);
    CHECK(num_shared(tree.lists, tree.lists) == 2);

    Segments held;
    const Reader far{-1, nullptr, size, nullptr, &held};
    std::vector<Bytes> fetched;
    fetched.reserve(10'000);
    int waves = 0;
    for (;; ++waves) {
      Wanted wanted;
      REQUIRE(tests::refusal(want_below_lists(tree.lists, tree.leaf, far, rows, kLimit, &wanted)) == "");
      if (wanted.starts.empty()) break;
      REQUIRE(waves < 3);
      for (size_t range = 0; range < wanted.starts.size(); ++range) {
        fetched.emplace_back(tree.file.begin() + wanted.starts[range], tree.file.begin() + wanted.stops[range]);
        held.add(wanted.starts[range], fetched.back().data(), wanted.stops[range] - wanted.starts[range]);
      }
    }
    ListParts parts;
    CHECK(read(tree, far, rows, &parts) == expected);
  }
}

TEST_CASE("ends must ascend within the items") {
  const auto refusal = [](const std::vector<uint64_t>& ends, int64_t num_items) {
    const std::unique_ptr<Page> page(new_list_page(100, num_items));
    page->num_rows = static_cast<int64_t>(ends.size());
    page->layers = {3};
    const Bytes file = tests::bytes_of(ends);
    PageRef ref{};
    ref.page = page.get();
    ref.data_bytes = static_cast<int64_t>(file.size());
    LeafPart part;
    part.limit = kLimit;
    ReadCount count;
    const int64_t start = 0, stop = page->num_rows;
    return tests::refusal(
        read_leaf({ref}, {-1, file.data(), ref.data_bytes, nullptr}, nullptr, {&start, &stop, 1}, &part, &count));
  };
  CHECK(refusal({1, 102, 3}, 3) == "");
  CHECK(refusal({2, 1, 3}, 3) == "a list ends before it begins, or behind all items");
  CHECK(refusal({1, 4, 3}, 3) == "a list ends before it begins, or behind all items");
  CHECK(refusal({1, 2, 3}, 4) == "the last list of a page ends before or behind its items");
  CHECK(refusal({1, uint64_t{1} << 63, 4}, 4) == "a list ends before it begins, or behind all items");
  CHECK(refusal({1, 2, uint64_t{1} << 63}, 4) == "the last list of a page ends before or behind its items");
}

TEST_CASE("takes of more than a few lists check the ends that nobody wants, once for a page") {
  // Reads every `step`th list of a page, twice; bytes that were wanted of each read.
  const auto take = [](std::vector<uint64_t> ends, size_t wrong, uint64_t end, int64_t step, int64_t* wanted) {
    const auto num_items = static_cast<int64_t>(ends.back());
    if (wrong < ends.size()) ends[wrong] = end;
    const std::unique_ptr<Page> page(new_list_page(0, num_items));
    page->num_rows = static_cast<int64_t>(ends.size());
    page->layers = {3};
    const Bytes file = tests::bytes_of(ends);
    PageRef ref{};
    ref.page = page.get();
    ref.data_bytes = static_cast<int64_t>(file.size());
    std::vector<int64_t> starts, stops;
    for (int64_t row = 0; row < page->num_rows - 1; row += step) {
      starts.push_back(row);
      stops.push_back(row + 1);
    }
    std::string refused;
    for (int turn = 0; turn < 2; ++turn) {
      LeafPart part;
      part.limit = kLimit;
      ReadCount count;
      refused +=
          tests::refusal(read_leaf({ref}, {-1, file.data(), ref.data_bytes, nullptr}, nullptr,
                                   {starts.data(), stops.data(), static_cast<int64_t>(starts.size())}, &part, &count));
      wanted[turn] = count.bytes_wanted;
    }
    return refused;
  };
  const auto ascending = [](size_t count) {
    std::vector<uint64_t> ends(count);
    for (size_t list = 0; list < count; ++list) ends[list] = list + 1;
    return ends;
  };
  const std::string outside = "a list ends before it begins, or behind all items";
  const std::string last = "the last list of a page ends before or behind its items";
  int64_t wanted[2];
  CHECK(take(ascending(1000), 1000, 0, 50, wanted) == "");
  CHECK(wanted[0] == 8 * 1000);
  CHECK(wanted[1] == 8 * 39);  // 20 lists, and the one before each but the first
  CHECK(take(ascending(1000), 30, 9999, 50, wanted) == outside + outside);
  CHECK(take(ascending(1000), 999, 999, 50, wanted) == last + last);
  CHECK(take(ascending(1000), 999, 999, 100, wanted) == "");  // a few
  CHECK(wanted[0] == 8 * 19);
  // Of a page that is not read at once the end of the last list is checked.
  CHECK(take(ascending(40'000), 40'000, 0, 50, wanted) == "");
  CHECK(wanted[0] > wanted[1]);
  CHECK(wanted[0] < 8 * 2000);
  CHECK(take(ascending(40'000), 39'999, 39'999, 50, wanted) == last + last);
}

}  // namespace
