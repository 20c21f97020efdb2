// Zipped pages that read their row index: rows read alone are those read among all, and those of a page in memory.
#include <memory>

#include "engine/bind/codec_holders.hpp"
#include "engine/pages/buffered_page.hpp"
#include "engine/pages/zipped_page.hpp"
#include "lance_arrow/codec_tables.hpp"
#include "page_rows.hpp"

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

namespace {

bool is_prefix(const LeafPart& some, const LeafPart& all, int64_t value_bits) {
  if (some.num_values > all.num_values || some.def.size() > all.def.size() || some.rep.size() > all.rep.size())
    return false;
  const int64_t num_bytes = value_bits == 0 ? some.num_bytes : some.num_values * value_bits / 8;
  return std::equal(some.def.begin(), some.def.end(), all.def.begin()) &&
         std::equal(some.rep.begin(), some.rep.end(), all.rep.begin()) &&
         std::equal(some.ends.begin(), some.ends.end(), all.ends.begin()) &&
         std::equal(some.values.data(), some.values.data() + num_bytes, all.values.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  StreamForm form;
  form.max_rep = static_cast<int>(input.number(0, 2));
  form.max_def = static_cast<int>(input.number(0, 3));
  form.zip.bits_rep = form.max_rep > 0 ? 2 : 0;
  form.zip.bits_def = form.max_def > 0 ? 2 : 0;
  form.zip.max_visible = form.max_rep > 0 ? static_cast<int>(input.number(0, form.max_def)) : -1;
  constexpr int64_t widths[] = {0, 0, 8, 32};
  const int64_t bits = input.one_of(widths);
  form.zip.bytes_per_value = bits == 0 ? -1 : bits / 8;
  form.zip.bits_per_offset = bits > 0 ? 0 : input.flag() ? 64 : 32;
  Outcome outcome;
  const std::unique_ptr<HeldValueCodec> codec(hold_plain_values(bits));
  form.values = codec.get();
  const int64_t num_rows = input.number(1, 1000);
  form.num_entries = form.num_values = -1;
  if (!input.flag()) {
    // Without lists, layouts refuse other numbers.
    form.num_entries = form.max_rep == 0 ? num_rows : input.number(0, 2000);
    form.num_values = form.max_rep == 0 ? num_rows : input.number(0, 2000);
  }
  const bool is_even = form.max_rep == 0 && bits > 0;
  const int64_t row_bytes = is_even ? (form.zip.bits_def > 0 ? 1 : 0) + bits / 8 : -1;
  const int64_t stream_bytes = is_even ? num_rows * row_bytes : input.number(0, 0xFFFF);
  const int64_t index_bytes = is_even ? 0 : input.number(0, 0xFFFF);
  const fuzz::Buffer file = input.rest();
  const std::unique_ptr<Page> page(new_zipped_page(form, row_bytes));
  page->num_rows = num_rows;
  PageRef ref{};
  ref.page = page.get();
  ref.data_start = 0;
  ref.data_bytes = stream_bytes;
  ref.buffers.starts[0] = 0, ref.buffers.sizes[0] = stream_bytes;
  ref.buffers.starts[1] = stream_bytes, ref.buffers.sizes[1] = index_bytes;
  ref.buffers.count = is_even ? 1 : 2;
  ReadCount count;
  if (load_indices({ref}, {-1, file.data(), file.size, nullptr}, &count).message != nullptr) return 0;
  const int64_t middle = std::max<int64_t>(num_rows / 2, 1);
  const fuzz::PageRows all(ref, file, 0, num_rows), first(ref, file, 0, middle);
  if (all.is_good && first.is_good) fuzz::require(is_prefix(first.part, all.part, bits), "the first rows are the same");
  if (stream_bytes > file.size) return 0;
  fuzz::Buffer stream(stream_bytes);
  if (stream_bytes > 0) std::memcpy(stream.data(), file.data(), static_cast<size_t>(stream_bytes));
  const std::unique_ptr<Page> held(new_buffered_page(page.get(), stream.data(), stream.size));
  held->num_rows = num_rows;
  PageRef in_memory{};
  in_memory.page = held.get();
  const fuzz::PageRows again(in_memory, stream, 0, num_rows);
  fuzz::require(again.is_good == all.is_good, "a page in memory is refused where that of a file is");
  if (all.is_good) fuzz::require(is_prefix(again.part, all.part, bits), "rows in memory are the same");
  return 0;
}
