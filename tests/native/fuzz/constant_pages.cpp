// Constant pages: any levels, scalars and descriptions. Rows read alone are those read among all.
#include <memory>

#include "engine/pages/constant_page.hpp"
#include "page_rows.hpp"

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  constexpr int64_t widths[] = {kNoValues, 0, 1, 8, 32, 64, 128, 24};
  ConstantForm form;
  form.value_bits = input.one_of(widths);
  form.offset_bits = input.flag() ? 64 : 32;
  form.has_scalar = form.value_bits > 0 && input.flag();
  if (form.has_scalar) form.scalar.assign(static_cast<size_t>((form.value_bits + 7) / 8), 's');
  form.max_rep = static_cast<int>(input.number(0, 2));
  form.max_def = static_cast<int>(input.number(0, 4));
  form.max_visible = form.max_rep > 0 ? static_cast<int>(input.number(0, 4)) : -1;
  form.is_null_without_levels = form.value_bits != kNoValues && input.flag();
  form.most_level_bytes = 1 << 16;
  const auto num_buffers = static_cast<size_t>(input.number(0, 3));
  const std::unique_ptr<Page> page(new_constant_page(form, num_buffers));
  page->num_rows = input.number(1, 1000);
  PageRef ref{};
  ref.page = page.get();
  int64_t sizes[3];
  for (size_t number = 0; number < num_buffers; ++number) sizes[number] = input.number(0, 0xFFFF);
  const fuzz::Buffer file = input.rest();
  int64_t at = 0;
  ref.buffers.count = num_buffers;
  for (size_t number = 0; number < num_buffers; ++number) {
    ref.buffers.starts[number] = at;
    ref.buffers.sizes[number] = sizes[number];
    at += sizes[number];
  }
  const int64_t middle = page->num_rows / 2;
  const fuzz::PageRows all(ref, file, 0, page->num_rows);
  if (!all.is_good) return 0;
  const fuzz::PageRows first(ref, file, 0, std::max<int64_t>(middle, 1)),
      last(ref, file, std::max<int64_t>(middle, 1) - 1, page->num_rows);
  fuzz::require(first.is_good && last.is_good, "rows of a page that was read are read");
  fuzz::require(first.part.num_values <= all.part.num_values, "some rows have no more values than all");
  fuzz::require(std::equal(first.part.def.begin(), first.part.def.end(), all.part.def.begin()), "levels are the same");
  fuzz::require(std::equal(first.part.ends.begin(), first.part.ends.end(), all.part.ends.begin()), "ends are the same");
  if (form.value_bits >= 8)
    fuzz::require(
        std::equal(first.part.values.data(), first.part.values.data() + first.part.num_values * form.value_bits / 8,
                   all.part.values.data()),
        "values are the same");
  return 0;
}
