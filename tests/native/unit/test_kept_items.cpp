// dictionary_items.hpp: indices that are kept, and the offsets of their items.
#include <vector>

#include "stored_items.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Stored;

TEST_CASE("kept indices lie in the dictionary, and those of nulls are 0") {
  const Stored stored({"a", "b"});
  std::vector<uint8_t> indices{1, 9, 0};
  const std::vector<uint16_t> def{0, 1, 0};
  CHECK(stored.items.settle(indices.data(), 1, def.data(), 3).message == nullptr);
  CHECK(indices == std::vector<uint8_t>{1, 0, 0});
  std::vector<uint64_t> wide{0, uint64_t{1} << 63};
  const Outcome outcome = stored.items.settle(reinterpret_cast<uint8_t*>(wide.data()), 8, nullptr, 2);
  CHECK(outcome.message != nullptr);
  CHECK(outcome.index == 1);
}

TEST_CASE("offsets of items ascend within their bytes, in either width") {
  Stored stored({"ab", "", "c"});
  std::vector<int64_t> wide(4);
  CHECK(stored.items.copy_offsets(reinterpret_cast<uint8_t*>(wide.data()), 64).message == nullptr);
  CHECK(wide == std::vector<int64_t>{0, 2, 2, 3});
  std::vector<int32_t> narrow(4);
  CHECK(stored.items.copy_offsets(reinterpret_cast<uint8_t*>(narrow.data()), 32).message == nullptr);
  CHECK(narrow == std::vector<int32_t>{0, 2, 2, 3});
  stored.offsets[2] = 1;
  CHECK(stored.items.copy_offsets(reinterpret_cast<uint8_t*>(narrow.data()), 32).message != nullptr);
  stored.offsets[2] = 4;
  CHECK(stored.items.copy_offsets(reinterpret_cast<uint8_t*>(narrow.data()), 32).message != nullptr);
}

}  // namespace
