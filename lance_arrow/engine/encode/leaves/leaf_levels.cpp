#include "engine/encode/leaves/leaf_levels.hpp"

#include <algorithm>

#include "engine/common/bitmaps.hpp"
#include "engine/common/layer_kinds.hpp"

namespace lance_arrow::engine {

namespace {

constexpr const char* kOtherForm = "a batch has another form than its leaves";

const uint8_t* validity_of(const ArrowArray& array) {
  return static_cast<const uint8_t*>(array.n_buffers > 0 && array.null_count != 0 ? array.buffers[0] : nullptr);
}

// Calls visit(array, number of the node) for each node, whose rows are the first of the array.
template <class Visit>
Outcome walk(const LeafRows& rows, Visit&& visit) {
  int64_t offset = rows.start;
  for (size_t node = 0; node < rows.nodes.size(); ++node) {
    ArrowArray at = *rows.nodes[node];
    // A struct's children have slots for those before its offset, too.
    if (at.length < offset + rows.count) return misuse(kOtherForm, static_cast<int64_t>(node));
    offset = at.offset += offset;
    at.length = rows.count;
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

Outcome rows_of_batch(const ArrowArray& batch, const std::vector<PathStep>& path, LeafRows* rows) {
  *rows = {{}, batch.offset, batch.length};
  const ArrowArray* at = &batch;
  for (size_t node = 0; node < path.size(); ++node) {
    const int64_t child = path[node].child;
    if (child < 0 || child >= at->n_children) return misuse(kOtherForm, static_cast<int64_t>(node));
    rows->nodes.push_back(at = at->children[child]);
  }
  return success();
}

Outcome array_of_leaf(const LeafRows& rows, ArrowArray* leaf) {
  return walk(rows, [&](const ArrowArray& array, size_t) { *leaf = array; });
}

Outcome LeafLevels::open(const std::vector<LeafRows>& parts, const std::vector<PathStep>& path) {
  nodes_.assign(parts.size() * path.size(), {});
  traits_.assign(path.size(), {});
  for (size_t node = 0; node < path.size(); ++node) traits_[node] = {false, path[node].nullable, false};
  leaves_.clear();
  def_.clear();
  layers_.assign(path.size(), kAllValidItem);
  num_rows_ = max_def_ = 0;
  has_refused_null_ = false;
  bool has_validity = false;
  for (size_t part = 0; part < parts.size(); ++part) {
    const int64_t count = parts[part].count;
    if (parts[part].nodes.size() != path.size()) return misuse(kOtherForm);
    const Outcome outcome = walk(parts[part], [&](const ArrowArray& array, size_t node) {
      if (node + 1 == path.size()) leaves_.push_back(array);
      ShredNode& own = nodes_[part * path.size() + node];
      own.num_slots = count;
      // Nodes without a null have no bitmap here.
      own.validity = num_nulls(array, count) > 0 ? validity_of(array) : nullptr;
      own.validity_bytes = own.validity == nullptr ? 0 : (array.offset + count + 7) / 8;
      own.bit_offset = array.offset;
      traits_[node].has_validity |= own.validity != nullptr;
      has_validity |= own.validity != nullptr;
    });
    if (outcome.message != nullptr) return outcome;
    num_rows_ += count;
  }
  return has_validity ? number(path) : success();
}

Outcome LeafLevels::number(const std::vector<PathStep>& path) {
  const auto num_nodes = static_cast<int64_t>(path.size());
  numbers_.assign(path.size(), {});
  seen_.assign(path.size(), {});
  number_levels(traits_.data(), num_nodes, numbers_.data());
  def_.resize(static_cast<size_t>(num_rows_));
  int64_t first = 0;
  for (size_t part = 0; part < leaves_.size(); ++part) {
    ShredNode* nodes = &nodes_[part * path.size()];
    const int64_t count = leaves_[part].length;
    set_levels(numbers_.data(), nodes, num_nodes);
    ShredOut out{nullptr, def_.data() + first, count, nullptr, nullptr, 0, 0, 0};
    const Outcome outcome = shred_levels(nodes, num_nodes, count, out);
    if (outcome.message != nullptr) return outcome;
    for (size_t node = 0; node < path.size(); ++node) {
      seen_[node].null |= nodes[node].has_null;
      has_refused_null_ |= nodes[node].has_null && !path[node].nullable;
    }
    first += count;
  }
  bool has_levels = false;
  const Outcome outcome = end_levels(traits_.data(), numbers_.data(), seen_.data(), num_nodes, def_.data(), num_rows_,
                                     layers_.data(), &has_levels);
  max_def_ = std::count_if(seen_.begin(), seen_.end(), [](const NodeSeen& one) { return one.null != 0; });
  return outcome;
}

}  // namespace lance_arrow::engine
