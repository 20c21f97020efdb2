// array_tree.hpp, result_memory.hpp: batches of leaves, whose memory goes with them; leaves that contradict each other.
#include <cstring>
#include <string>
#include <vector>

#include "engine/arrays/array_tree.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

int64_t held = 0;

uint8_t* counted(void*, int64_t size) {
  ++held;
  return static_cast<uint8_t*>(std::malloc(static_cast<size_t>(size) + 1));
}

void uncounted(void*, uint8_t* bytes, int64_t) {
  --held;
  std::free(bytes);
}

// struct<a: int8, b: list<string>>, of two rows.
struct Columns {
  std::vector<ArrayForm> forms{{ArrayForm::kSlots, 0, 0, 1, 2},
                               {ArrayForm::kValues, 0, 1, 0, 0},
                               {ArrayForm::kList, 1, 1, 0, 1},
                               {ArrayForm::kStrings, 1, 2, 0, 0}};
  std::vector<LeafShape> shapes{2};
  std::vector<LeafOut> leaves{2};
  std::unique_ptr<ResultMemory> memory{new ResultMemory({counted, uncounted, nullptr, false}, 1 << 20)};
  std::string text = "abc";
  std::vector<int32_t> ends{0, 1, 3}, lists{0, 1, 2};
  int64_t slots = 2;

  Region place(const void* bytes, size_t size) {
    uint8_t* to = memory->allocate(static_cast<int64_t>(size));
    std::memcpy(to, bytes, size);
    return {to, static_cast<int64_t>(size)};
  }

  bool make(int64_t num_rows, ArrowArray* out) {
    const NodeOut top{nullptr, nullptr, 2, 0};
    shapes[0].offset_bits = {0, 0};
    leaves[0].num_values = 2;
    leaves[0].values = place("\1\2", 2);
    leaves[0].nodes = {top, top};
    shapes[1].offset_bits = {0, 32, 0};
    leaves[1].num_values = 2;
    leaves[1].values = place(text.data(), text.size());
    leaves[1].offsets = place(ends.data(), 4 * ends.size());
    const Region borders = place(lists.data(), 4 * lists.size());
    leaves[1].nodes = {
        {nullptr, nullptr, slots, 0}, {nullptr, borders.bytes, static_cast<int64_t>(lists.size()) - 1, 0}, top};
    return make_batch(forms, shapes, leaves, num_rows, std::move(memory), out);
  }
};

TEST_CASE("a batch has the arrays of its leaves, and their memory as long as it lives") {
  Columns columns;
  ArrowArray batch;
  REQUIRE(columns.make(2, &batch));
  CHECK(held == 4);
  CHECK(batch.length == 2);
  REQUIRE(batch.n_children == 1);
  const ArrowArray& struct_ = *batch.children[0];
  REQUIRE(struct_.n_children == 2);
  CHECK(static_cast<const uint8_t*>(struct_.children[0]->buffers[1])[1] == 2);
  const ArrowArray& list = *struct_.children[1];
  CHECK(static_cast<const int32_t*>(list.buffers[1])[2] == 2);
  CHECK(std::memcmp(list.children[0]->buffers[2], "abc", 3) == 0);
  batch.release(&batch);
  CHECK((batch.release == nullptr));
  CHECK(held == 0);
}

TEST_CASE("leaves that contradict each other are refused, and their memory is freed") {
  ArrowArray batch;
  CHECK_FALSE(Columns().make(3, &batch));
  const auto refused = [&](auto change) {
    Columns columns;
    change(&columns);
    return !columns.make(2, &batch);
  };
  CHECK(refused([](Columns* columns) { columns->slots = 3; }));
  CHECK(refused([](Columns* columns) { columns->lists = {0, 1, 1, 2}; }));
  CHECK(refused([](Columns* columns) { columns->forms[3].depth = 3; }));
  CHECK(held == 0);
}

TEST_CASE("memory above the limit is not given") {
  ResultMemory memory({counted, uncounted, nullptr}, 1 << 12);
  CHECK(memory.allocate(1 << 12) != nullptr);
  CHECK(memory.allocate((1 << 12) + 1) == nullptr);
  CHECK(memory.allocate(-1) == nullptr);
  CHECK(held == 1);
}

TEST_CASE("small pieces share blocks, and lie apart") {
  ResultMemory memory({counted, uncounted, nullptr}, 1 << 12);
  std::vector<uint8_t*> pieces;
  for (int piece = 0; piece < 40; ++piece) {
    pieces.push_back(memory.allocate(piece % 3 == 0 ? 0 : 64));
    REQUIRE(pieces.back() != nullptr);
    std::memset(pieces.back(), piece, 64);
  }
  for (int piece = 0; piece < 40; ++piece) CHECK(pieces[piece][63] == piece);
  CHECK(held == 2);
}

}  // namespace
