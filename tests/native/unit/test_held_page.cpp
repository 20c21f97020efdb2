// held_page.hpp: indices and items in memory, expanded or kept; single bits among them.
#include <memory>
#include <string>
#include <vector>

#include "engine/pages/held_page.hpp"
#include "engine/plan/leaf_reader.hpp"
#include "stored_items.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Stored;

Outcome read(const HeldForm& form, int64_t num_rows, const std::vector<int64_t>& starts,
             const std::vector<int64_t>& stops, LeafPart* part) {
  const std::unique_ptr<Page> page(new_held_page(form));
  page->num_rows = num_rows;
  PageRef ref{};
  ref.page = page.get();
  part->limit = 1 << 20;
  ReadCount count;
  const LaRuns rows{starts.data(), stops.data(), static_cast<int64_t>(starts.size())};
  const Outcome outcome = read_leaf({ref}, {-1, nullptr, 0, nullptr}, nullptr, rows, part, &count);
  CHECK(count.requests == 0);
  return outcome;
}

TEST_CASE("rows are items, or their indices") {
  const Stored items({"a", "bcd", ""});
  const std::vector<uint8_t> indices{2, 1, 0, 1, 0};
  LeafPart expanded, kept, wrong;
  CHECK(read({indices.data(), 1, items.items, false}, 5, {1, 4}, {3, 5}, &expanded).message == nullptr);
  CHECK(std::string(reinterpret_cast<const char*>(expanded.values.data()), static_cast<size_t>(expanded.num_bytes)) ==
        "bcdaa");
  CHECK(expanded.num_values == 3);
  CHECK(read({indices.data(), 1, items.items, true}, 5, {0, 3}, {2, 4}, &kept).message == nullptr);
  CHECK((kept.values.data()[0] == 2 && kept.values.data()[1] == 1 && kept.values.data()[2] == 1));
  const std::vector<uint8_t> outside{3};
  CHECK(read({outside.data(), 1, items.items, false}, 1, {0}, {1}, &wrong).message != nullptr);
}

TEST_CASE("items are single bits") {
  Items items;
  const uint8_t bits = 0b10;
  items.bits = 1, items.num_items = 2, items.values = &bits, items.values_bytes = 1;
  const std::vector<uint8_t> indices{1, 0, 1, 1, 0, 0, 0, 0, 1, 1};
  LeafPart part;
  CHECK(read({indices.data(), 1, items, false}, 10, {0, 3}, {2, 10}, &part).message == nullptr);
  CHECK(part.num_values == 9);
  CHECK((part.values.data()[0] == 0b10000101 && (part.values.data()[1] & 1) == 1));
}

}  // namespace
