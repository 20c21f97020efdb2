// binary_pages.hpp, indexed_page.hpp: what pages that are made of others refuse, and where.
#include <memory>
#include <vector>

#include "engine/bind/codec_holders.hpp"
#include "engine/pages/array_pages.hpp"
#include "engine/pages/binary_pages.hpp"
#include "engine/pages/indexed_page.hpp"
#include "engine/plan/leaf_reader.hpp"
#include "lance_arrow_codecs/lz4/codec.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;

constexpr int64_t kLimit = 1 << 20;

Outcome read(const std::vector<PageRef>& pages, const Bytes& file, int64_t start, int64_t stop) {
  LeafPart part;
  part.limit = kLimit;
  ReadCount count;
  const Reader reader{-1, file.data(), static_cast<int64_t>(file.size()), nullptr};
  return read_leaf(pages, reader, nullptr, {&start, &stop, 1}, &part, &count);
}

TEST_CASE("buffers beyond those that are noted of a page are not read") {
  const std::unique_ptr<HeldFrameCodec> frames(hold_lz4());
  const std::unique_ptr<Page> page(new_framed_binary_page({8, 0, nullptr}, {PageBuffers::kMost, frames.get(), kLimit}));
  page->num_rows = 1;
  PageRef ref{};
  ref.page = page.get();
  ref.data_bytes = 8;
  ref.buffers.count = PageBuffers::kMost + 2;
  const Outcome outcome = read({ref}, Bytes(64), 0, 1);
  CHECK(outcome.message != nullptr);
  CHECK(outcome.blame == kCaller);
}

TEST_CASE("wrong items are told to be in the page that has them, not in the first one") {
  const std::unique_ptr<Page> indices(new_flat_page(8, false)), items(new_binary_page({8, 0, nullptr}));
  indices->num_rows = 4;
  items->num_rows = 2;
  const std::unique_ptr<Page> page(new_indexed_page({indices.get(), items.get(), 2, {2, 1, -1}, false, kLimit}));
  page->num_rows = 4;
  page->layers = {3};
  // Indices, then ends that do not ascend, then bytes.
  Bytes file{0, 1, 2, 1, 0, 0, 0, 0};
  for (const uint8_t end : {3, 1}) file.insert(file.end(), {end, 0, 0, 0, 0, 0, 0, 0});
  file.insert(file.end(), {'a', 'b', 'c', 0});
  PageRef ref{};
  ref.page = page.get();
  ref.first_row = 100;
  ref.data_bytes = 4;
  ref.buffers.count = 3;
  const int64_t starts[] = {0, 8, 24}, sizes[] = {4, 16, 4};
  for (size_t buffer = 0; buffer < 3; ++buffer) {
    ref.buffers.starts[buffer] = starts[buffer];
    ref.buffers.sizes[buffer] = sizes[buffer];
  }
  const Outcome outcome = read({ref}, file, 100, 104);
  CHECK(outcome.message != nullptr);
  CHECK(outcome.blame == kBytes);
  CHECK(outcome.page_row == 100);
}

}  // namespace
