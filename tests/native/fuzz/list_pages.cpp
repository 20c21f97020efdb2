// Pages of lists, sparse pages and strings of 2.0: any ends, adjustments and positions. Rows read alone are those read
// among all.
#include <memory>

#include "engine/arrays/unravel.hpp"
#include "engine/pages/array_pages.hpp"
#include "engine/pages/binary_pages.hpp"
#include "engine/pages/constant_page.hpp"
#include "engine/pages/list_page.hpp"
#include "engine/pages/sparse_page.hpp"
#include "page_rows.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

// Ascending numbers below a bound.
std::vector<int64_t> ascending(fuzz::Input* input, int64_t below) {
  std::vector<int64_t> found;
  for (int64_t next = input->number(0, 7); next < below; next += input->number(1, 9)) found.push_back(next);
  return found;
}

struct Sparse {
  std::vector<std::vector<int64_t>> arrays;
  std::vector<SlotLayer> layers;  // inner-most first
  std::vector<int64_t> dimensions;
  std::unique_ptr<Page> values, page;

  Sparse(fuzz::Input* input, int64_t num_rows) {
    int64_t num_slots = num_rows;
    const int64_t count = input->number(0, 4);
    arrays.reserve(static_cast<size_t>(3 * count + 3));
    for (int64_t number = 0; number <= count; ++number) {
      const bool is_list = number < count && input->flag();
      SlotLayer layer{};
      arrays.push_back(ascending(input, num_slots));
      layer.positions = arrays.back().data();
      layer.num_positions = static_cast<int64_t>(arrays.back().size());
      layer.lists_nulls = input->flag();
      if (is_list) {
        arrays.push_back(ascending(input, num_slots));
        arrays.back().reserve(1);  // an address, also without lists
        std::vector<int64_t> starts{0};
        for (size_t list = 0; list < arrays.back().size(); ++list)
          starts.push_back(starts.back() + input->number(1, 5));
        layer.list_slots = arrays.back().data();
        layer.num_lists = static_cast<int64_t>(arrays.back().size());
        num_slots = starts.back();
        arrays.push_back(std::move(starts));
        layer.item_starts = arrays.back().data();
      } else if (number < count && input->number(0, 3) == 0 && num_slots < 4000) {
        layer.dimension = input->number(1, 3);
        num_slots *= layer.dimension;
      }
      dimensions.insert(dimensions.begin(), layer.dimension);
      layers.insert(layers.begin(), layer);
    }
    ConstantForm form;
    form.value_bits = 32;
    form.has_scalar = true;
    form.scalar = "four";
    form.max_visible = -1;
    values.reset(new_constant_page(form, 0));
    values->num_rows = num_slots;
    fuzz::require(check_slot_layers(layers, num_rows, num_slots).message == nullptr, "layers are right");
    page.reset(new_sparse_page(layers, 1, values.get()));
    page->num_rows = num_rows;
    page->layers = sparse_layer_kinds(layers);
  }
};

// Levels that a page makes are those of its layers.
void require_slots(const LeafPart& part, const std::vector<uint8_t>& kinds, const std::vector<int64_t>& dimensions,
                   int64_t num_rows) {
  LayerPlan plan;
  int64_t slots[kMaxLayers];
  const auto num_layers = static_cast<int64_t>(kinds.size());
  fuzz::require(plan_layers(kinds.data(), num_layers, dimensions.data(), num_layers, &plan).message == nullptr,
                "layers are known");
  const LevelStreams streams{plan.num_lists > 0 ? part.rep.data() : nullptr, part.def.data(),
                             static_cast<int64_t>(part.def.size())};
  fuzz::require(measure_layers(streams, plan, slots).message == nullptr, "levels are right");
  fuzz::require(slots[num_layers - 1] == num_rows, "levels have as many rows as were read");
  fuzz::require(slots[0] == part.num_values, "a value for each slot");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const int64_t num_rows = input.number(1, 500), kind = input.number(0, 2);
  const auto adjustment = static_cast<uint64_t>(input.number(0, 0xFFFF));
  std::unique_ptr<Sparse> sparse;
  std::unique_ptr<Page> made;
  if (kind == 0) sparse = std::make_unique<Sparse>(&input, num_rows);
  else
    made.reset(kind == 1 ? new_list_page(adjustment, input.number(0, 0xFFFF))
                         : new_binary_page({8, adjustment, nullptr}));
  Page* page = kind == 0 ? sparse->page.get() : made.get();
  page->num_rows = num_rows;
  if (kind != 0) page->layers = {3};
  fuzz::Buffer file(8 * num_rows + 0xFFFF);
  const fuzz::Buffer rest = input.rest();
  std::memcpy(file.data(), rest.data(), static_cast<size_t>(std::min(rest.size, file.size)));
  PageRef ref{};
  ref.page = page;
  ref.first_item = 1000;
  ref.data_bytes = kind == 2 ? 0xFFFF : 8 * num_rows;
  ref.data_start = kind == 2 ? 8 * num_rows : 0;
  ref.second_bytes = 8 * num_rows;
  const int64_t middle = std::max<int64_t>(num_rows / 2, 1);
  const fuzz::PageRows all(ref, file, 0, num_rows);
  if (!all.is_good) return 0;
  const fuzz::PageRows first(ref, file, 0, middle), last(ref, file, middle - 1, num_rows);
  fuzz::require(first.is_good && last.is_good, "rows of a page that was read are read");
  fuzz::require(std::equal(first.part.def.begin(), first.part.def.end(), all.part.def.begin()), "levels are the same");
  fuzz::require(std::equal(first.part.rep.begin(), first.part.rep.end(), all.part.rep.begin()), "levels are the same");
  fuzz::require(std::equal(first.part.ends.begin(), first.part.ends.end(), all.part.ends.begin()), "ends are the same");
  fuzz::require(std::equal(last.part.def.rbegin(), last.part.def.rend(), all.part.def.rbegin()), "levels are the same");
  if (kind == 0) require_slots(last.part, page->layers, sparse->dimensions, num_rows - middle + 1);
  int64_t num_items = 0, behind = ref.first_item;
  for (size_t run = 0; run < all.part.item_starts.size(); ++run) {
    fuzz::require(behind <= all.part.item_starts[run] && all.part.item_starts[run] < all.part.item_stops[run],
                  "items ascend");
    behind = all.part.item_stops[run];
    num_items += behind - all.part.item_starts[run];
  }
  if (kind == 1) fuzz::require(num_items == all.part.num_bytes, "lists have the items that they name");
  return 0;
}
