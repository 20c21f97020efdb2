#include "engine/encode/leaves/held_rows.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/encode/leaves/leaf_values.hpp"

namespace lance_arrow::engine {

namespace {

// Parts of fewer bytes are copied: each takes memory beside its values, and its batch is kept for it.
constexpr int64_t kSmallBytes = 64 << 10;

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
  const Weight all = weigh(form, path, start, start + most_rows);
  if (all.num_bytes <= most.num_bytes && all.num_levels <= most.num_levels) return most_rows;
  int64_t low = 0, high = most_rows - 1;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    const Weight weight = weigh(form, path, start, start + middle);
    if (weight.num_bytes <= most.num_bytes && weight.num_levels <= most.num_levels) low = middle;
    else high = middle - 1;
  }
  return low;
}

// A batch that was given, until it is released.
class Batch {
 public:
  explicit Batch(ArrowArray* given) : array_(*given) { given->release = nullptr; }
  ~Batch() {
    if (array_.release != nullptr) array_.release(&array_);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  const ArrowArray& array() const { return array_; }

 private:
  ArrowArray array_;
};

// Arrays on the path to a leaf, lent to who releases the first one.
struct LentArrays {
  std::shared_ptr<const void> memory;
  std::vector<ArrowArray> nodes;
  std::vector<ArrowArray*> children;

  static void keep(ArrowArray* array) { array->release = nullptr; }
  static void give_back(ArrowArray* array) {
    array->release = nullptr;
    delete static_cast<LentArrays*>(array->private_data);
  }
};

}  // namespace

ArrowArray lend_rows(const HeldPart& part) {
  const LeafRows& rows = part.rows;
  auto lent = std::make_unique<LentArrays>();
  lent->memory = part.memory;
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
  column.offset += rows.start;
  if (column.length != rows.count && column.null_count != 0) column.null_count = -1;
  column.length = rows.count;
  column.private_data = lent.release();
  column.release = &LentArrays::give_back;
  return column;
}

// Rows that are copied have offsets of the width that they had.
HeldRows::HeldRows(const std::vector<LeafForm>* forms, int64_t page_bytes, int64_t page_levels)
    : forms_(forms),
      page_bytes_(std::min(page_bytes, int64_t{std::numeric_limits<int32_t>::max()})),
      page_levels_(page_levels),
      waiting_(forms->size()) {
  for (size_t leaf = 0; leaf < forms->size(); ++leaf) waiting_[leaf].rows.leaf = leaf;
}

Outcome HeldRows::add(ArrowArray* given, std::vector<PageRows>* pages) {
  const auto batch = std::make_shared<const Batch>(given);
  if (batch->array().length == 0) return success();
  last_batch_bytes_ = batch_bytes_;
  batch_bytes_ = 0;
  for (size_t leaf = 0; leaf < waiting_.size(); ++leaf) {
    LeafRows rows{};
    Outcome outcome = copy(leaf);
    if (outcome.message == nullptr) outcome = rows_of_batch(batch->array(), (*forms_)[leaf].path, &rows);
    if (outcome.message == nullptr) outcome = add_rows(batch, rows, leaf, pages);
    if (outcome.message != nullptr) return outcome;
  }
  return success();
}

// Columns that are not much narrower than the others wait about as long as these, which would keep the batch anyway.
bool HeldRows::is_small(int64_t num_bytes) const {
  return num_bytes < kSmallBytes || num_bytes < last_batch_bytes_ / (2 * static_cast<int64_t>(waiting_.size()));
}

Outcome HeldRows::copy(size_t leaf) {
  Waiting& waiting = waiting_[leaf];
  if (waiting.last_bytes == 0 || !is_small(waiting.last_bytes)) return success();
  const LeafForm& form = (*forms_)[leaf];
  num_bytes_ -= waiting.num_bytes();
  for (const HeldPart& part : waiting.rows.parts) {
    Outcome outcome = path_.open(part.rows, form.path);
    if (outcome.message == nullptr) outcome = waiting.copied.add(form, path_);
    if (outcome.message != nullptr) return outcome;
  }
  waiting.rows.parts.clear();
  waiting.lent_bytes = waiting.last_bytes = 0;
  num_bytes_ += waiting.num_bytes();
  return success();
}

Outcome HeldRows::add_rows(const std::shared_ptr<const void>& batch, const LeafRows& rows, size_t leaf,
                           std::vector<PageRows>* pages) {
  const LeafForm& form = (*forms_)[leaf];
  const Outcome outcome = path_.open(rows, form.path);
  if (outcome.message != nullptr) return outcome;
  Waiting& waiting = waiting_[leaf];
  PageRows& held = waiting.rows;
  batch_bytes_ += weigh(form, path_, 0, rows.count).num_bytes;
  for (int64_t row = 0; row < rows.count;) {
    const Weight room{page_bytes_ - held.num_bytes, page_levels_ - held.num_levels};
    int64_t num_rows = rows_within(form, path_, row, rows.count - row, room);
    // A row that is too large for any page is a page of its own.
    if (num_rows == 0 && held.num_rows == 0) num_rows = 1;
    if (num_rows > 0) {
      const Weight weight = weigh(form, path_, row, row + num_rows);
      held.parts.push_back({batch, {rows.nodes, rows.start + row, num_rows}});
      held.num_rows += num_rows;
      held.num_levels += weight.num_levels;
      held.num_bytes += weight.num_bytes;
      waiting.last_bytes = weight.num_bytes + kPartBytes;
      waiting.lent_bytes += waiting.last_bytes;
      num_bytes_ += weight.num_bytes + kPartBytes;
      row += num_rows;
    }
    if (row < rows.count) take(leaf, pages);
  }
  return success();
}

void HeldRows::take(size_t leaf, std::vector<PageRows>* pages) {
  Waiting& waiting = waiting_[leaf];
  PageRows& held = waiting.rows;
  if (held.num_rows == 0) return;
  num_bytes_ -= waiting.num_bytes();
  waiting.lent_bytes = waiting.last_bytes = 0;
  if (!waiting.copied.empty()) held.parts.insert(held.parts.begin(), waiting.copied.take((*forms_)[leaf]));
  PageRows next{leaf, held.first_row + held.num_rows};
  pages->push_back(std::move(held));
  held = std::move(next);
}

void HeldRows::take_largest(int64_t most_left, std::vector<PageRows>* pages) {
  std::vector<size_t> leaves(waiting_.size());
  std::iota(leaves.begin(), leaves.end(), size_t{0});
  if (most_left >= 0)
    std::ranges::stable_sort(leaves,
                             [&](size_t a, size_t b) { return waiting_[a].num_bytes() > waiting_[b].num_bytes(); });
  for (const size_t leaf : leaves) {
    if (most_left >= 0 && num_bytes_ <= most_left) break;
    take(leaf, pages);
  }
}

}  // namespace lance_arrow::engine
