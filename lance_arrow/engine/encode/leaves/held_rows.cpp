#include "engine/encode/leaves/held_rows.hpp"

#include <algorithm>
#include <numeric>

#include "engine/encode/leaves/leaf_values.hpp"

namespace lance_arrow::engine {

namespace {

// Bytes of rows `start` to `stop` of an array that begins at row `start` of its part.
int64_t bytes_of(const LeafForm& form, const ArrowArray& array, int64_t start, int64_t stop) {
  if (form.bits == 0) return string_bytes(array, start, stop, form.offset_bits);
  return ((stop - start) * form.bits + 7) / 8;
}

// How many rows from `start` on have at most so many bytes.
int64_t rows_within(const LeafForm& form, const ArrowArray& array, int64_t start, int64_t most_rows, int64_t most_bytes) {
  int64_t low = 0, high = most_rows;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (bytes_of(form, array, start, start + middle) <= most_bytes) low = middle;
    else high = middle - 1;
  }
  return low;
}

// Arrays of a batch, each moved out of the one around it, as the interface allows, so that it can be released alone.
struct HeldTree {
  SharedArray array;
  std::vector<HeldTree> children;

  static HeldTree of(ArrowArray* given, SharedArray outer) {
    // The children are moved first: the array around them would release them.
    std::vector<ArrowArray> moved;
    for (int64_t child = 0; child < given->n_children; ++child) {
      moved.push_back(*given->children[child]);
      given->children[child]->release = nullptr;
    }
    HeldTree tree{std::make_shared<HeldArray>(given, std::move(outer)), {}};
    for (ArrowArray& child : moved) tree.children.push_back(of(&child, tree.array));
    return tree;
  }
};

// Arrays on the path to a leaf, lent to who releases the first one.
struct LentArrays {
  SharedArray leaf;
  std::vector<ArrowArray> nodes;
  std::vector<ArrowArray*> children;

  static void keep(ArrowArray* array) { array->release = nullptr; }
  static void give_back(ArrowArray* array) {
    array->release = nullptr;
    delete static_cast<LentArrays*>(array->private_data);
  }
};

}  // namespace

HeldArray::HeldArray(ArrowArray* given, std::shared_ptr<const HeldArray> outer)
    : array_(*given), outer_(std::move(outer)) {
  given->release = nullptr;
  if (array_.n_children == 0) return;
  if (array_.null_count != 0 && array_.n_buffers > 0 && array_.buffers[0] != nullptr) {
    const auto* bits = static_cast<const uint8_t*>(array_.buffers[0]);
    validity_.assign(bits, bits + (array_.offset + array_.length + 7) / 8);
    buffers_[0] = validity_.data();
  }
  if (array_.release != nullptr) array_.release(&array_);
  array_.release = nullptr;
  array_.buffers = buffers_;
  array_.n_buffers = 1;
  array_.n_children = 0;
  array_.children = nullptr;
}

LeafRows rows_of(const HeldPart& part) {
  LeafRows rows{{}, part.start, part.count};
  for (const HeldArray* at = part.leaf.get(); at != nullptr; at = at->outer()) rows.nodes.push_back(&at->array());
  std::ranges::reverse(rows.nodes);
  return rows;
}

ArrowArray lend_rows(const HeldPart& part) {
  const LeafRows rows = rows_of(part);
  auto lent = std::make_unique<LentArrays>();
  lent->leaf = part.leaf;
  for (const ArrowArray* node : rows.nodes) lent->nodes.push_back(*node);
  for (ArrowArray& node : lent->nodes) lent->children.push_back(&node);
  for (size_t node = 0; node < lent->nodes.size(); ++node) {
    ArrowArray& own = lent->nodes[node];
    const bool is_leaf = node + 1 == lent->nodes.size();
    own.n_children = is_leaf ? 0 : 1;
    own.children = is_leaf ? nullptr : &lent->children[node + 1];
    own.release = &LentArrays::keep;
    own.private_data = nullptr;
  }
  ArrowArray column = lent->nodes.front();
  column.offset += part.start;
  if (column.length != part.count && column.null_count != 0) column.null_count = -1;
  column.length = part.count;
  column.private_data = lent.release();
  column.release = &LentArrays::give_back;
  return column;
}

HeldRows::HeldRows(const std::vector<LeafForm>* forms, int64_t page_bytes, int64_t page_rows)
    : forms_(forms), page_bytes_(page_bytes), page_rows_(page_rows) {
  for (size_t leaf = 0; leaf < forms->size(); ++leaf) held_.push_back({leaf, 0});
}

Outcome HeldRows::add(ArrowArray* batch, std::vector<PageRows>* pages) {
  const int64_t start = batch->offset, count = batch->length;
  std::vector<HeldTree> columns;
  for (int64_t child = 0; child < batch->n_children; ++child)
    columns.push_back(HeldTree::of(batch->children[child], nullptr));
  if (batch->release != nullptr) batch->release(batch);
  for (size_t leaf = 0; leaf < held_.size() && count > 0; ++leaf) {
    const std::vector<HeldTree>* children = &columns;
    const HeldTree* at = nullptr;
    for (const PathStep& step : (*forms_)[leaf].path) {
      const auto child = static_cast<size_t>(step.child);
      if (child >= children->size()) return misuse("a batch has another form than its leaves");
      at = &(*children)[child];
      children = &at->children;
    }
    const Outcome outcome = add_part({at->array, start, count}, leaf, pages);
    if (outcome.message != nullptr) return outcome;
  }
  return success();
}

Outcome HeldRows::add_part(HeldPart part, size_t leaf, std::vector<PageRows>* pages) {
  const LeafForm& form = (*forms_)[leaf];
  const int64_t count = part.count;
  ArrowArray array{};
  const Outcome outcome = array_of_leaf(rows_of(part), &array);
  if (outcome.message != nullptr) return outcome;
  PageRows& held = held_[leaf];
  for (int64_t row = 0; row < count;) {
    const int64_t room_bytes = page_bytes_ - held.num_bytes;
    const int64_t most_rows = std::min(count - row, page_rows_ - held.num_rows);
    int64_t num_rows = rows_within(form, array, row, most_rows, room_bytes);
    // A row that is too large for any page is a page of its own.
    if (num_rows == 0 && held.num_rows == 0) num_rows = 1;
    if (num_rows > 0) {
      const int64_t num_bytes = bytes_of(form, array, row, row + num_rows);
      held.parts.push_back({part.leaf, part.start + row, num_rows});
      held.num_rows += num_rows;
      held.num_bytes += num_bytes;
      num_bytes_ += num_bytes + kPartBytes;
      row += num_rows;
    }
    if (row < count) take(leaf, pages);
  }
  return success();
}

void HeldRows::take(size_t leaf, std::vector<PageRows>* pages) {
  PageRows& held = held_[leaf];
  if (held.num_rows == 0) return;
  num_bytes_ -= memory_of(held);
  PageRows next{leaf, held.first_row + held.num_rows};
  pages->push_back(std::move(held));
  held = std::move(next);
}

void HeldRows::take_largest(int64_t most_left, std::vector<PageRows>* pages) {
  std::vector<size_t> leaves(held_.size());
  std::iota(leaves.begin(), leaves.end(), size_t{0});
  if (most_left >= 0)
    std::ranges::stable_sort(leaves, [&](size_t a, size_t b) { return memory_of(held_[a]) > memory_of(held_[b]); });
  for (const size_t leaf : leaves) {
    if (most_left >= 0 && num_bytes_ <= most_left) break;
    take(leaf, pages);
  }
}

}  // namespace lance_arrow::engine
