#include "engine/encode/leaves/held_rows.hpp"

#include <algorithm>
#include <numeric>

#include "engine/encode/leaves/leaf_values.hpp"

namespace lance_arrow::engine {

namespace {

// What rows of a leaf take.
struct Weight {
  int64_t num_bytes;
  int64_t num_levels;
};

Weight weigh(const LeafForm& form, const LeafPath& path, int64_t start, int64_t stop) {
  Weight weight{};
  const SlotRange slots = path.slots(start, stop, &weight.num_levels);
  weight.num_bytes = form.bits == 0 ? string_bytes(path.leaf(), slots, form.offset_bits)
                                    : ((slots.stop - slots.start) * form.bits + 7) / 8;
  return weight;
}

// How many of `most_rows` from `start` on have at most so many bytes and levels.
int64_t rows_within(const LeafForm& form, const LeafPath& path, int64_t start, int64_t most_rows, Weight most) {
  int64_t low = 0, high = most_rows;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    const Weight weight = weigh(form, path, start, start + middle);
    if (weight.num_bytes <= most.num_bytes && weight.num_levels <= most.num_levels) low = middle;
    else high = middle - 1;
  }
  return low;
}

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

// Arrays of a batch, each moved out of the one around it, as the interface allows, so that it can be released alone.
struct HeldRows::Tree {
  SharedArray array;
  std::vector<Tree> children{};

  static Tree of(ArrowArray* given, SharedArray outer, const Shape& shape) {
    const bool has_leaves = shape.num_leaves > 1;
    // Children are moved before the array around them would release them. Those of a single leaf go with it.
    std::vector<ArrowArray> below;
    for (int64_t child = 0; child < given->n_children; ++child) {
      ArrowArray* own = given->children[child];
      below.push_back(*own);
      (has_leaves ? own->release : below.back().release) = nullptr;
    }
    Tree tree{std::make_shared<HeldArray>(given, std::move(outer), has_leaves, shape.list_bits)};
    for (size_t child = 0; child < below.size(); ++child) {
      static const Shape other{};
      tree.children.push_back(
          of(&below[child], tree.array, child < shape.children.size() ? shape.children[child] : other));
    }
    return tree;
  }
};

HeldArray::HeldArray(ArrowArray* given, std::shared_ptr<const HeldArray> outer, bool has_leaves, int list_bits)
    : array_(*given), outer_(std::move(outer)) {
  given->release = nullptr;
  if (!has_leaves) return;
  if (list_bits != 0 && array_.n_buffers > 1 && array_.buffers[1] != nullptr) {
    const auto* offsets = static_cast<const uint8_t*>(array_.buffers[1]);
    offsets_.assign(offsets, offsets + (array_.offset + array_.length + 1) * (list_bits / 8));
    buffers_[1] = offsets_.data();
  }
  if (array_.null_count != 0 && array_.n_buffers > 0 && array_.buffers[0] != nullptr) {
    const auto* bits = static_cast<const uint8_t*>(array_.buffers[0]);
    validity_.assign(bits, bits + (array_.offset + array_.length + 7) / 8);
    buffers_[0] = validity_.data();
  }
  if (array_.release != nullptr) array_.release(&array_);
  array_.release = nullptr;
  array_.buffers = buffers_;
  array_.n_buffers = list_bits == 0 ? 1 : 2;
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

HeldRows::HeldRows(const std::vector<LeafForm>* forms, int64_t page_bytes, int64_t page_levels)
    : forms_(forms), page_bytes_(page_bytes), page_levels_(page_levels) {
  for (size_t leaf = 0; leaf < forms->size(); ++leaf) {
    held_.push_back({leaf, 0});
    Shape* at = &shape_;
    for (const PathStep& step : (*forms)[leaf].path) {
      const auto child = static_cast<size_t>(step.child);
      if (at->children.size() <= child) at->children.resize(child + 1);
      at = &at->children[child];
      ++at->num_leaves;
      at->list_bits = step.list_bits;
    }
  }
}

Outcome HeldRows::add(ArrowArray* batch, std::vector<PageRows>* pages) {
  const int64_t start = batch->offset, count = batch->length;
  static const Shape other{};
  std::vector<Tree> columns;
  for (size_t child = 0; child < static_cast<size_t>(batch->n_children); ++child)
    columns.push_back(
        Tree::of(batch->children[child], nullptr, child < shape_.children.size() ? shape_.children[child] : other));
  if (batch->release != nullptr) batch->release(batch);
  for (size_t leaf = 0; leaf < held_.size() && count > 0; ++leaf) {
    const std::vector<Tree>* children = &columns;
    const Tree* at = nullptr;
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
  LeafPath path;
  const Outcome outcome = path.open(rows_of(part), form.path);
  if (outcome.message != nullptr) return outcome;
  PageRows& held = held_[leaf];
  for (int64_t row = 0; row < count;) {
    const Weight room{page_bytes_ - held.num_bytes, page_levels_ - held.num_levels};
    int64_t num_rows = rows_within(form, path, row, count - row, room);
    // A row that is too large for any page is a page of its own.
    if (num_rows == 0 && held.num_rows == 0) num_rows = 1;
    if (num_rows > 0) {
      const Weight weight = weigh(form, path, row, row + num_rows);
      held.parts.push_back({part.leaf, part.start + row, num_rows});
      held.num_rows += num_rows;
      held.num_levels += weight.num_levels;
      held.num_bytes += weight.num_bytes;
      num_bytes_ += weight.num_bytes + kPartBytes;
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
