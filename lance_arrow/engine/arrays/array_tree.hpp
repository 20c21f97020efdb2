// A record batch in the form of the Arrow C data interface: one tree of arrays, and all memory of the batch.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/arrays/leaf_taking.hpp"
#include "engine/common/arrow_array.hpp"

namespace lance_arrow::engine {

// What a node of the tree is made of; nodes stand in pre-order, the children of one right behind it.
struct ArrayForm {
  enum Kind : int { kSlots = 0, kList = 1, kValues = 2, kStrings = 3 };
  int kind;
  int leaf;  // which of the leaves tells its structure
  int depth;  // nodes above it
  int64_t items;  // items of its child for one slot; 0 for lists, whose offsets tell
  int num_children;
};

// The arrays of one batch, and their memory.
class ArrayTree {
 public:
  ArrayTree(const std::vector<ArrayForm>& forms, std::unique_ptr<ResultMemory> memory)
      : arrays_(forms.size() + 1),
        buffers_(3 * (forms.size() + 1)),
        children_(forms.size()),
        memory_(std::move(memory)) {
    for (size_t node = 0; node < arrays_.size(); ++node) {
      arrays_[node] = ArrowArray{};
      arrays_[node].buffers = &buffers_[3 * node];
      arrays_[node].release = &release_child;
    }
  }
  ArrayTree(const ArrayTree&) = delete;
  ArrayTree& operator=(const ArrayTree&) = delete;

  ArrowArray* node(int64_t number) { return &arrays_[static_cast<size_t>(number) + 1]; }

  void set(int64_t number, int64_t length, int64_t null_count, const void* first, const void* second, const void* third,
           int64_t num_buffers) {
    ArrowArray* array = node(number);
    array->length = length;
    array->null_count = null_count;
    array->n_buffers = num_buffers;
    array->buffers[0] = first;
    array->buffers[1] = second;
    array->buffers[2] = third;
  }

  // Nodes are adopted parent by parent; number -1 is the batch itself.
  void adopt(int64_t number, const std::vector<int64_t>& numbers) {
    ArrowArray* array = node(number);
    array->n_children = static_cast<int64_t>(numbers.size());
    array->children = children_.data() + used_;
    for (const int64_t child : numbers) children_[used_++] = node(child);
  }

  // The batch; who releases it ends the tree.
  static ArrowArray batch_of(std::unique_ptr<ArrayTree> tree, int64_t num_rows) {
    ArrowArray batch = tree->arrays_[0];
    batch.length = num_rows;
    batch.n_buffers = 1;
    batch.release = &release_batch;
    batch.private_data = tree.release();
    return batch;
  }

 private:
  static void release_child(ArrowArray* array) { array->release = nullptr; }

  static void release_batch(ArrowArray* batch) {
    for (int64_t child = 0; child < batch->n_children; ++child)
      if (batch->children[child]->release != nullptr) batch->children[child]->release(batch->children[child]);
    batch->release = nullptr;
    delete static_cast<ArrayTree*>(batch->private_data);
  }

  std::vector<ArrowArray> arrays_;
  std::vector<const void*> buffers_;
  std::vector<ArrowArray*> children_;
  size_t used_ = 0;
  std::unique_ptr<ResultMemory> memory_;
};

// Makes a batch of leaves, and takes over their memory. False, and no batch, where leaves contradict each other or the
// number of rows.
bool make_batch(const std::vector<ArrayForm>& forms, const std::vector<LeafShape>& shapes,
                const std::vector<LeafOut>& leaves, int64_t num_rows, std::unique_ptr<ResultMemory> memory,
                ArrowArray* out);

}  // namespace lance_arrow::engine
