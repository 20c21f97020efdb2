#include "engine/arrays/array_tree.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kContradiction = -1;

class BatchMaker {
 public:
  BatchMaker(const std::vector<ArrayForm>& forms, const std::vector<LeafShape>& shapes,
             const std::vector<LeafOut>& leaves, ArrayTree* tree)
      : forms_(forms), shapes_(shapes), leaves_(leaves), tree_(tree) {}

  bool lay_columns(int64_t num_rows) {
    std::vector<int64_t> columns;
    while (next_ < forms_.size()) {
      columns.push_back(static_cast<int64_t>(next_));
      if (lay_next() != num_rows) return false;
    }
    tree_->adopt(-1, columns);
    return true;
  }

 private:
  // Lays the next node and those below it; returns its slots, or that something is wrong.
  int64_t lay_next() {
    const auto number = static_cast<int64_t>(next_);
    const ArrayForm& form = forms_[next_++];
    const auto at = static_cast<size_t>(form.leaf);
    const LeafOut& leaf = leaves_[at];
    const auto depth = static_cast<size_t>(form.depth);
    if (depth >= leaf.nodes.size()) return kContradiction;
    const size_t place = leaf.nodes.size() - 1 - depth;
    const NodeOut& node = leaf.nodes[place];
    if (form.kind == ArrayForm::kValues || form.kind == ArrayForm::kStrings) {
      const bool is_strings = form.kind == ArrayForm::kStrings;
      if (leaf.num_values != node.slots) return kContradiction;
      if (is_strings)
        tree_->set(number, node.slots, node.null_count, node.validity, leaf.offsets.bytes, leaf.values.bytes, 3);
      else tree_->set(number, node.slots, node.null_count, node.validity, leaf.values.bytes, nullptr, 2);
      return node.slots;
    }
    const bool is_list = form.kind == ArrayForm::kList;
    tree_->set(number, node.slots, node.null_count, node.validity, is_list ? node.offsets : nullptr, nullptr,
               is_list ? 2 : 1);
    const int64_t expected = is_list ? leaf.num_children(shapes_[at], place) : node.slots * form.items;
    std::vector<int64_t> children;
    for (int child = 0; child < form.num_children; ++child) {
      children.push_back(static_cast<int64_t>(next_));
      if (lay_next() != expected) return kContradiction;
    }
    tree_->adopt(number, children);
    return node.slots;
  }

  const std::vector<ArrayForm>& forms_;
  const std::vector<LeafShape>& shapes_;
  const std::vector<LeafOut>& leaves_;
  ArrayTree* tree_;
  size_t next_ = 0;
};

}  // namespace

bool make_batch(const std::vector<ArrayForm>& forms, const std::vector<LeafShape>& shapes,
                const std::vector<LeafOut>& leaves, int64_t num_rows, std::unique_ptr<ResultMemory> memory,
                ArrowArray* out) {
  auto tree = std::make_unique<ArrayTree>(forms, std::move(memory));
  if (!BatchMaker(forms, shapes, leaves, tree.get()).lay_columns(num_rows)) return false;
  *out = ArrayTree::batch_of(std::move(tree), num_rows);
  return true;
}

}  // namespace lance_arrow::engine
