#include "engine/encode/leaves/leaf_levels.hpp"

#include <algorithm>

#include "engine/common/bitmaps.hpp"
#include "engine/common/layer_kinds.hpp"

namespace lance_arrow::engine {

namespace {

const uint8_t* validity_of(const ArrowArray& array) {
  return static_cast<const uint8_t*>(array.n_buffers > 0 && array.null_count != 0 ? array.buffers[0] : nullptr);
}

// Calls visit(array, number of the node) for each node; arrays of structs are entered.
template <class Visit>
Outcome walk(const ArrowArray& batch, const std::vector<PathStep>& path, Visit&& visit) {
  constexpr const char* message = "a batch has another form than its leaves";
  ArrowArray at = batch;
  for (size_t node = 0; node < path.size(); ++node) {
    const int64_t child = path[node].child, offset = at.offset;
    if (child < 0 || child >= at.n_children) return misuse(message, static_cast<int64_t>(node));
    at = *at.children[child];
    // A struct's children have slots for those before its offset, too.
    if (at.length < offset + batch.length) return misuse(message, static_cast<int64_t>(node));
    at.offset += offset;
    at.length = batch.length;
    visit(at, node);
  }
  return success();
}

}  // namespace

int64_t num_nulls(const ArrowArray& array, int64_t num_rows) {
  const uint8_t* validity = validity_of(array);
  if (validity == nullptr) return 0;
  int64_t num_valid = num_rows;
  count_bits(validity, (array.offset + num_rows + 7) / 8, array.offset, num_rows, &num_valid);
  return num_rows - num_valid;
}

Outcome array_of_leaf(const ArrowArray& batch, const std::vector<PathStep>& path, ArrowArray* leaf) {
  return walk(batch, path, [&](const ArrowArray& array, size_t) { *leaf = array; });
}

Outcome LeafLevels::open(const ArrowArray& batch, const std::vector<PathStep>& path, int64_t num_rows) {
  nodes_.assign(path.size(), {});
  traits_.assign(path.size(), {});
  def_.clear();
  layers_.assign(path.size(), kAllValidItem);
  max_def_ = 0;
  has_refused_null_ = false;
  bool has_validity = false;
  Outcome outcome = walk(batch, path, [&](const ArrowArray& array, size_t node) {
    leaf_ = array;
    ShredNode& own = nodes_[node];
    own.num_slots = num_rows;
    // Nodes without a null have no bitmap here.
    own.validity = num_nulls(array, num_rows) > 0 ? validity_of(array) : nullptr;
    own.validity_bytes = own.validity == nullptr ? 0 : (array.offset + num_rows + 7) / 8;
    own.bit_offset = array.offset;
    traits_[node] = {false, path[node].nullable, own.validity != nullptr};
    has_validity |= own.validity != nullptr;
  });
  if (outcome.message != nullptr || !has_validity) return outcome;
  const auto num_nodes = static_cast<int64_t>(path.size());
  numbers_.assign(path.size(), {});
  seen_.assign(path.size(), {});
  number_levels(traits_.data(), num_nodes, numbers_.data());
  set_levels(numbers_.data(), nodes_.data(), num_nodes);
  def_.resize(static_cast<size_t>(num_rows));
  ShredOut out{nullptr, def_.data(), num_rows, nullptr, nullptr, 0, 0, 0};
  outcome = shred_levels(nodes_.data(), num_nodes, num_rows, out);
  if (outcome.message != nullptr) return outcome;
  for (size_t node = 0; node < path.size(); ++node) {
    seen_[node].null = nodes_[node].has_null;
    has_refused_null_ |= nodes_[node].has_null && !path[node].nullable;
  }
  bool has_levels = false;
  outcome = end_levels(traits_.data(), numbers_.data(), seen_.data(), num_nodes, def_.data(), num_rows, layers_.data(),
                       &has_levels);
  max_def_ = std::count_if(seen_.begin(), seen_.end(), [](const NodeSeen& one) { return one.null != 0; });
  return outcome;
}

}  // namespace lance_arrow::engine
