// scratch.hpp: nested calls of one thread have different memory, and a thread keeps little of it.
#include <thread>

#include "engine/bind/codec_holders.hpp"
#include "lance_arrow/codec_tables.hpp"
#include "lance_arrow/scratch.hpp"
#include "lance_arrow_codecs/fsst/codec.hpp"
#include "lance_arrow_codecs/fsst/symbols.hpp"
#include "lance_arrow_codecs/variable/codec.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using Scratch = std::vector<int>;

TEST_CASE("leases that are held at once are different objects") {
  const Leased<Scratch> first, second;
  CHECK(&*first != &*second);
  first->assign(3, 1);
  second->assign(3, 2);
  CHECK(first->front() == 1);
}

TEST_CASE("a lease is used again after its call, by the same thread only") {
  const Scratch* object = nullptr;
  {
    const Leased<Scratch> lease;
    object = &*lease;
  }
  const Leased<Scratch> again;
  CHECK(&*again == object);
  const Scratch* other = nullptr;
  std::thread([&] {
    const Leased<Scratch> lease;
    other = &*lease;
  }).join();
  CHECK(other != object);
}

TEST_CASE("memory above the limit is given back") {
  {
    const Leased<Scratch> lease;
    lease->resize(1 << 23);
  }
  const Leased<Scratch> again;
  CHECK(again->capacity() < (1 << 23));
}

TEST_CASE("a thread keeps so many objects that calls of usual depth need no other") {
  const auto nested = [](auto&& self, int depth, std::vector<const Scratch*>* found) -> void {
    const Leased<Scratch> lease;
    found->push_back(&*lease);
    if (depth > 1) self(self, depth - 1, found);
  };
  std::vector<const Scratch*> first, second;
  nested(nested, 4, &first);
  nested(nested, 4, &second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  CHECK(first == second);
  CHECK(std::unique(first.begin(), first.end()) == first.end());
}

// FSST in FSST: both levels need scratch memory for their codes at the same time.
TEST_CASE("a codec may hold another of its kind") {
  using namespace lance_arrow;
  using namespace lance_arrow::codecs;
  using namespace lance_arrow::engine;
  tests::Bytes table(SymbolTable::kBytes);
  std::memcpy(table.data(), "\2\0\0\1TSSF", 8);
  // Code 0 stands for the codes 1 0, and for the letters cd; code 1 for 0 and for ab.
  tests::Bytes inner = table, outer = table;
  std::memcpy(&inner[8], "\1\0", 2), std::memcpy(&inner[16], "\0", 1);
  inner[24] = 2, inner[25] = 1;
  std::memcpy(&outer[8], "cd", 2), std::memcpy(&outer[16], "ab", 2);
  outer[24] = outer[25] = 2;
  Outcome outcome;
  const std::unique_ptr<HeldChunkCodec> variable(hold_variable(32, false));
  const std::unique_ptr<HeldChunkCodec> child(
      hold_symbols(variable.get(), inner.data(), tests::size_of(inner), &outcome));
  const std::unique_ptr<HeldChunkCodec> codec(hold_symbols(child.get(), outer.data(), tests::size_of(outer), &outcome));
  const tests::Bytes chunk = tests::joined({tests::bytes_of<uint32_t>({12, 13, 14}), {0, 1}});
  const uint8_t* buffer = chunk.data();
  const int64_t size = tests::size_of(chunk), start = 0, stop = 2;
  const LaChunk one{&buffer, &size, 1, 2};
  const LaRuns runs{&start, &stop, 1};
  Intermediate out;
  std::vector<int64_t> ends(2);
  LaValues place{nullptr, 0, ends.data(), 0, &Intermediate::reserve, &out};
  REQUIRE(codec->select(codec->self, &one, &runs, &place) == nullptr);
  CHECK(std::string(out.bytes.begin(), out.bytes.begin() + place.end) == "abcdcd");
  CHECK(ends == std::vector<int64_t>{4, 6});
}

}  // namespace
