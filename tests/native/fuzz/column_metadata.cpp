// Metadata of columns: what is told of a message lies in the message and in the file, and arrays agree with each other.
#include "engine/tables/column_metadata.hpp"

#include "input.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

void check_place(Bytes part, Bytes message) {
  fuzz::require(
      part.empty() || (part.data() >= message.data() && part.data() + part.size() <= message.data() + message.size()),
      "descriptions lie in their message");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const bool is_aligned = input.flag();
  const int64_t file_size = input.number(0, 1 << 20), base = input.number(0, 1 << 20);
  const uint64_t alignment = is_aligned ? 64 : 1;
  const fuzz::Buffer held = input.rest();
  const Bytes message(reinterpret_cast<const char*>(held.data()), static_cast<size_t>(held.size));
  PageTable pages;
  ColumnMetadata metadata;
  metadata.read(message, static_cast<uint64_t>(file_size), alignment, base, &pages);
  if (metadata.fault.kind == MetadataFault::kMalformed)
    fuzz::require(metadata.fault.first <= message.size(), "a fault is in the message");
  if (metadata.fault.kind != MetadataFault::kNone) return 0;
  check_place(metadata.description.here, message);
  const auto num_pages = static_cast<size_t>(pages.num_pages());
  fuzz::require(pages.row_starts.size() == num_pages + 1 && pages.borders.size() == num_pages + 1, "pages agree");
  fuzz::require(
      pages.starts.size() == pages.sizes.size() && static_cast<size_t>(pages.borders.back()) == pages.starts.size(),
      "buffers agree");
  for (size_t page = 0; page < num_pages; ++page) {
    fuzz::require(pages.row_starts[page] <= pages.row_starts[page + 1], "rows do not wrap");
    fuzz::require(static_cast<size_t>(pages.description_of[page]) < pages.descriptions.size(), "pages are described");
  }
  for (size_t buffer = 0; buffer < pages.starts.size(); ++buffer) {
    const int64_t start = pages.starts[buffer] - base;
    fuzz::require(start >= 0 && pages.sizes[buffer] >= 0 && start <= file_size &&
                      pages.sizes[buffer] <= file_size - start && start % static_cast<int64_t>(alignment) == 0,
                  "buffers lie in the file");
  }
  for (const DescriptionField& one : pages.descriptions) check_place(one.here, message);
  return 0;
}
