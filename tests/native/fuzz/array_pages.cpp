// Pages that are made of others: values by index, strings in one frame, strings of codes, rows of lists, values of
// valid slots, and lists with bitmaps that they did not have. Rows read alone are those read among all.
#include "engine/pages/array_pages.hpp"

#include <memory>

#include "engine/bind/codec_holders.hpp"
#include "engine/pages/binary_pages.hpp"
#include "engine/pages/indexed_page.hpp"
#include "engine/pages/spread_page.hpp"
#include "engine/pages/widened_page.hpp"
#include "lance_arrow/codec_tables.hpp"
#include "lance_arrow_codecs/lz4/codec.hpp"
#include "page_rows.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

constexpr int64_t kBufferBytes = 0x2000;
constexpr int kNumBuffers = 4;  // of a page; each has as many bytes

// A page, and what it points to.
struct Made {
  std::vector<std::unique_ptr<Page>> pages;
  std::vector<int64_t> positions;
  std::unique_ptr<HeldValueCodec> codes;
  std::unique_ptr<HeldFrameCodec> frames;
  PageRef ref{};

  Page* add(Page* page, int64_t num_rows) {
    pages.emplace_back(page);
    page->num_rows = num_rows;
    page->layers = {3};
    return page;
  }

  void place(int data, int second = -1, int third = -1) {
    int64_t* starts[] = {&ref.data_start, &ref.second_start, &ref.third_start};
    int64_t* sizes[] = {&ref.data_bytes, &ref.second_bytes, &ref.third_bytes};
    const int buffers[] = {data, second, third};
    for (int one = 0; one < 3; ++one) {
      *starts[one] = buffers[one] < 0 ? 0 : buffers[one] * kBufferBytes;
      *sizes[one] = buffers[one] < 0 ? 0 : kBufferBytes;
    }
    ref.buffers.count = kNumBuffers;
    for (int64_t buffer = 0; buffer < kNumBuffers; ++buffer) {
      ref.buffers.starts[buffer] = buffer * kBufferBytes;
      ref.buffers.sizes[buffer] = kBufferBytes;
    }
  }
};

void make_indexed(fuzz::Input* input, int64_t num_rows, Made* made) {
  const int64_t bits[] = {8, 16, 32, 64};
  const int64_t num_items = input->number(0, 40);
  const bool keeps = input->flag(), has_nulls = input->flag(), is_text = input->flag();
  IndexedForm form{};
  form.indices = made->add(new_flat_page(input->one_of(bits), has_nulls), num_rows);
  form.items = made->add(is_text ? new_binary_page({8, 0x1000, nullptr}) : new_flat_page(32, input->flag()), num_items);
  form.num_items = num_items;
  const int buffers[] = {2, 3, -1};
  std::copy(buffers, buffers + 3, form.item_buffers);
  form.keeps_items = keeps;
  form.most_item_bytes = 1 << 16;
  made->add(new_indexed_page(form), num_rows);
  made->place(0, has_nulls ? 1 : -1);
}

void make_strings(fuzz::Input* input, int64_t num_rows, Made* made) {
  BinaryForm form{input->flag() ? 8 : 4, static_cast<uint64_t>(input->number(0, 0xFFFF)), nullptr};
  if (input->flag()) {
    made->codes.reset(hold_plain_values(0));
    form.codes = made->codes.get();
  }
  if (input->flag()) {
    made->frames.reset(hold_lz4());
    made->add(new_framed_binary_page(form, {0, made->frames.get(), 1 << 16}), num_rows);
    made->place(1);
  } else {
    made->add(new_binary_page(form), num_rows);
    made->place(0, 1);
  }
}

void make_lists(fuzz::Input* input, int64_t num_rows, Made* made) {
  ListRowsForm form;
  const int64_t outer = input->number(1, 5), inner = input->number(1, 9);
  const int64_t item_bits[] = {1, 8, 32};
  form.bits = {outer, outer * inner, outer * inner * input->one_of(item_bits)};
  form.buffers = {static_cast<int>(input->number(0, 3)) - 2, static_cast<int>(input->number(0, 3)) - 2,
                  input->flag() ? 2 : ListRowsForm::kAllNull};
  if (form.buffers[0] == 0) form.buffers[0] = 1;
  if (form.buffers[1] == 0) form.buffers[1] = 1;
  form.has_validity = input->flag();
  Page* rows = made->add(new_list_rows_page(form), num_rows);
  made->place(form.buffers[2], form.has_validity ? 3 : -1);
  if (input->flag() && rows->parts != form.bits) made->add(new_widened_page(rows, form.bits).release(), num_rows);
}

void make_spread(fuzz::Input* input, int64_t num_rows, Made* made) {
  for (int64_t slot = input->number(0, 5); slot < num_rows; slot += input->number(1, 6))
    made->positions.push_back(slot);
  SlotLayer slots{};
  slots.positions = made->positions.data();
  slots.num_positions = static_cast<int64_t>(made->positions.size());
  slots.lists_nulls = input->flag();
  const int64_t bits[] = {1, 16, 64};
  const int64_t num_stored = slots.lists_nulls ? num_rows - slots.num_positions : slots.num_positions;
  const Page* stored = made->add(new_flat_page(input->one_of(bits), false), num_stored);
  made->add(new_spread_page(slots, stored), num_rows);
  made->place(0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const int64_t num_rows = input.number(1, 500), kind = input.number(0, 3);
  Made made;
  if (kind == 0) make_indexed(&input, num_rows, &made);
  else if (kind == 1) make_strings(&input, num_rows, &made);
  else if (kind == 2) make_lists(&input, num_rows, &made);
  else make_spread(&input, num_rows, &made);
  fuzz::Buffer file(kNumBuffers * kBufferBytes);
  // Each buffer begins with bytes of the input; all others are 0.
  for (int64_t buffer = 0; buffer < kNumBuffers && input.left() > 0; ++buffer) {
    const fuzz::Buffer part = input.bytes(input.number(0, kBufferBytes));
    if (part.size > 0) std::memcpy(file.data() + buffer * kBufferBytes, part.data(), static_cast<size_t>(part.size));
  }
  Page* page = made.pages.back().get();
  PageRef ref = made.ref;
  ref.page = page;
  const int64_t middle = std::max<int64_t>(num_rows / 2, 1);
  const fuzz::PageRows all(ref, file, 0, num_rows);
  if (!all.is_good) return 0;
  fuzz::require(all.part.num_values == num_rows, "a value for each row");
  const fuzz::PageRows first(ref, file, 0, middle), last(ref, file, middle - 1, num_rows);
  fuzz::require(first.is_good && last.is_good, "rows of a page that was read are read");
  fuzz::require(std::equal(first.part.def.begin(), first.part.def.end(), all.part.def.begin()), "levels are the same");
  fuzz::require(std::equal(last.part.def.rbegin(), last.part.def.rend(), all.part.def.rbegin()), "levels are the same");
  fuzz::require(std::equal(first.part.ends.begin(), first.part.ends.end(), all.part.ends.begin()), "ends are the same");
  if (page->value_bits > 1) {
    const int64_t width = page->value_bits / 8, skipped = (middle - 1) * width;
    fuzz::require(
        std::memcmp(first.part.values.data(), all.part.values.data(), static_cast<size_t>(middle * width)) == 0,
        "values are the same");
    fuzz::require(std::memcmp(last.part.values.data(), all.part.values.data() + skipped,
                              static_cast<size_t>(num_rows * width - skipped)) == 0,
                  "values are the same");
  } else if (page->value_bits == 0) {
    const auto num_bytes = static_cast<size_t>(first.part.num_bytes);
    fuzz::require(num_bytes == 0 || std::memcmp(first.part.values.data(), all.part.values.data(), num_bytes) == 0,
                  "bytes are the same");
  }
  return 0;
}
