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

template <class Offset>
bool descend(const uint8_t* offsets, int64_t start, int64_t stop) {
  bool found = false;
  for (int64_t slot = start; slot < stop; ++slot)
    found |= load<Offset>(offsets, slot + 1) < load<Offset>(offsets, slot);
  return found;
}

}  // namespace

int64_t num_nulls(const ArrowArray& array, SlotRange slots) {
  const uint8_t* validity = validity_of(array);
  if (validity == nullptr) return 0;
  const int64_t first = array.offset + slots.start, count = slots.stop - slots.start;
  int64_t num_valid = count;
  count_bits(validity, (first + count + 7) / 8, first, count, &num_valid);
  return count - num_valid;
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

Outcome LeafPath::open(const LeafRows& rows, const std::vector<PathStep>& path) {
  path_ = &path;
  nodes_.clear();
  ranges_.clear();
  if (rows.nodes.size() != path.size()) return misuse(kOtherForm);
  // Slots of the array around a node, whose first slot lies so far from the first of its memory.
  int64_t offset = rows.start, count = rows.count;
  SlotRange range{0, rows.count};
  for (size_t node = 0; node < path.size(); ++node) {
    ArrowArray at = *rows.nodes[node];
    // A struct's children have slots for those before its offset, too.
    if (at.length < offset + count) return misuse(kOtherForm, static_cast<int64_t>(node));
    at.offset += offset;
    at.length = count;
    nodes_.push_back(at);
    ranges_.push_back(range);
    offset = at.offset;
    if (path[node].list_bits == 0) continue;
    if (node + 1 == path.size() || at.n_buffers < 2 || (at.buffers[1] == nullptr && range.start < range.stop))
      return misuse(kOtherForm, static_cast<int64_t>(node));
    offset = 0;
    count = rows.nodes[node + 1]->length;
    range = at.buffers[1] == nullptr ? SlotRange{0, 0}
                                     : SlotRange{list_offset(node, range.start), list_offset(node, range.stop)};
    if (range.start < 0 || range.stop < range.start || range.stop > count)
      return misuse("list offsets leave their items", static_cast<int64_t>(node));
  }
  return success();
}

int64_t LeafPath::list_offset(size_t node, int64_t slot) const {
  const ArrowArray& list = nodes_[node];
  const auto* offsets = static_cast<const uint8_t*>(list.buffers[1]);
  return (*path_)[node].list_bits == 64 ? load<int64_t>(offsets, list.offset + slot)
                                        : int64_t{load<int32_t>(offsets, list.offset + slot)};
}

SlotRange LeafPath::slots(int64_t start, int64_t stop, int64_t* num_levels) const {
  *num_levels = stop - start;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if ((*path_)[node].list_bits == 0) continue;
    if (nodes_[node].buffers[1] == nullptr) return {0, 0};
    const int64_t first = list_offset(node, start), last = list_offset(node, stop);
    *num_levels += last - first;
    start = first;
    stop = last;
  }
  return {start, stop};
}

bool LeafPath::lists_go_back() const {
  for (size_t node = 0; node < nodes_.size(); ++node) {
    const int bits = (*path_)[node].list_bits;
    const auto* offsets = static_cast<const uint8_t*>(bits == 0 ? nullptr : nodes_[node].buffers[1]);
    if (offsets == nullptr) continue;
    const int64_t start = nodes_[node].offset + ranges_[node].start, stop = nodes_[node].offset + ranges_[node].stop;
    if (bits == 64 ? descend<int64_t>(offsets, start, stop) : descend<int32_t>(offsets, start, stop)) return true;
  }
  return false;
}

Outcome LeafLevels::open(const std::vector<LeafRows>& parts, const std::vector<PathStep>& path) {
  num_parts_ = parts.size();
  if (paths_.size() < num_parts_) paths_.resize(num_parts_);
  nodes_.assign(parts.size() * path.size(), {});
  traits_.assign(path.size(), {});
  for (size_t node = 0; node < path.size(); ++node)
    traits_[node] = {path[node].list_bits != 0, path[node].nullable, false};
  runs_.clear();
  rep_.clear();
  def_.clear();
  layers_.assign(path.size(), kAllValidItem);
  num_rows_ = num_entries_ = num_values_ = max_rep_ = max_def_ = max_visible_ = 0;
  has_refused_null_ = false;
  bool has_levels = false;
  for (const PathStep& step : path) max_rep_ += step.list_bits != 0;
  for (size_t part = 0; part < parts.size(); ++part) {
    LeafPath& own = paths_[part];
    if (const Outcome outcome = own.open(parts[part], path); outcome.message != nullptr) return outcome;
    int64_t most_entries = 0;
    own.slots(0, parts[part].count, &most_entries);
    num_entries_ += most_entries;
    num_rows_ += parts[part].count;
    for (size_t number = 0; number < path.size(); ++number) {
      const ArrowArray& array = own.nodes()[number];
      const SlotRange range = own.ranges()[number];
      ShredNode& node = nodes_[part * path.size() + number];
      node.num_slots = array.length;
      node.bit_offset = array.offset;
      // Nodes without a null have no bitmap here.
      node.validity = num_nulls(array, range) > 0 ? validity_of(array) : nullptr;
      node.validity_bytes = node.validity == nullptr ? 0 : (array.offset + array.length + 7) / 8;
      traits_[number].has_validity |= node.validity != nullptr;
      has_levels |= node.validity != nullptr || traits_[number].is_list;
      if (!traits_[number].is_list) continue;
      static constexpr int64_t no_items = 0;
      const auto* offsets = static_cast<const uint8_t*>(array.buffers[1]);
      node.offset_bits = path[number].list_bits;
      node.offsets = offsets == nullptr ? reinterpret_cast<const uint8_t*>(&no_items)
                                        : offsets + array.offset * (node.offset_bits / 8);
      node.num_offsets = array.length + 1;
    }
  }
  if (has_levels) return number(path);
  for (size_t part = 0; part < num_parts_; ++part) runs_.push_back({part, 0, parts[part].count});
  num_values_ = num_rows_;
  return success();
}

Outcome LeafLevels::number(const std::vector<PathStep>& path) {
  const auto num_nodes = static_cast<int64_t>(path.size());
  numbers_.assign(path.size(), {});
  seen_.assign(path.size(), {});
  number_levels(traits_.data(), num_nodes, numbers_.data());
  const auto most_entries = static_cast<size_t>(num_entries_);
  def_.resize(most_entries);
  rep_.resize(max_rep_ > 0 ? most_entries : 0);
  num_entries_ = 0;
  constexpr size_t few_runs = 64;
  if (run_starts_.size() < few_runs) {
    run_starts_.resize(few_runs);
    run_stops_.resize(few_runs);
  }
  for (size_t part = 0; part < num_parts_; ++part)
    if (const Outcome outcome = shred(part, path); outcome.message != nullptr) return outcome;
  def_.resize(static_cast<size_t>(num_entries_));
  if (max_rep_ > 0) rep_.resize(static_cast<size_t>(num_entries_));
  bool has_levels = false;
  const Outcome outcome = end_levels(traits_.data(), numbers_.data(), seen_.data(), num_nodes, def_.data(),
                                     num_entries_, layers_.data(), &has_levels);
  if (!has_levels) def_.clear();
  for (const uint8_t layer : layers_) max_def_ += num_def_levels(layer);
  for (size_t layer = 0; layer < layers_.size() && !is_list_kind(layers_[layer]); ++layer)
    max_visible_ += num_def_levels(layers_[layer]);
  return outcome;
}

Outcome LeafLevels::shred(size_t part, const std::vector<PathStep>& path) {
  const auto num_nodes = static_cast<int64_t>(path.size());
  ShredNode* nodes = &nodes_[part * path.size()];
  const int64_t num_rows = paths_[part].nodes().front().length;
  set_levels(numbers_.data(), nodes, num_nodes);
  const int64_t capacity = static_cast<int64_t>(def_.size()) - num_entries_;
  ShredOut out{rep_.empty() ? nullptr : rep_.data() + num_entries_,
               def_.data() + num_entries_,
               capacity,
               run_starts_.data(),
               run_stops_.data(),
               static_cast<int64_t>(run_starts_.size()),
               0,
               0};
  Outcome outcome = shred_levels(nodes, num_nodes, num_rows, out);
  if (outcome.message == nullptr && out.num_runs > out.run_capacity) {
    run_starts_.resize(static_cast<size_t>(2 * out.num_runs));
    run_stops_.resize(run_starts_.size());
    return shred(part, path);
  }
  if (outcome.message != nullptr) return outcome;
  num_entries_ += out.num_entries;
  for (int64_t run = 0; run < out.num_runs; ++run) {
    const Run own{part, run_starts_[static_cast<size_t>(run)], run_stops_[static_cast<size_t>(run)]};
    runs_.push_back(own);
    num_values_ += own.stop - own.start;
  }
  for (size_t node = 0; node < path.size(); ++node) {
    seen_[node].null |= nodes[node].has_null;
    seen_[node].empty |= nodes[node].has_empty;
    has_refused_null_ |= nodes[node].has_null && !path[node].nullable;
  }
  return outcome;
}

}  // namespace lance_arrow::engine
