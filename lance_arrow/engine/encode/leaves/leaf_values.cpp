#include "engine/encode/leaves/leaf_values.hpp"

#include <algorithm>

#include "engine/common/bitmaps.hpp"
#include "engine/common/utf8.hpp"
#include "engine/plan/level_masks.hpp"

namespace lance_arrow::engine {

namespace {

// False as soon as an offset is less than the one before it; a loop that compilers turn into vectors.
template <class Offset>
bool go_back(const uint8_t* offsets, int64_t num_rows) {
  bool found = false;
  for (int64_t row = 0; row < num_rows; ++row) found |= load<Offset>(offsets, row + 1) < load<Offset>(offsets, row);
  return found;
}

}  // namespace

bool offsets_go_back(const ArrowArray& array, SlotRange slots, int64_t offset_bits) {
  const uint8_t* offsets = buffer_of(array, 1);
  const int64_t count = slots.stop - slots.start;
  if (offsets == nullptr) return count > 0;
  offsets += (array.offset + slots.start) * (offset_bits / 8);
  return offset_bits == 32 ? go_back<int32_t>(offsets, count) : go_back<int64_t>(offsets, count);
}

int64_t string_bytes(const ArrowArray& array, SlotRange slots, int64_t offset_bits) {
  const uint8_t* offsets = buffer_of(array, 1);
  if (offsets == nullptr) return 0;
  const int64_t first = array.offset + slots.start, last = array.offset + slots.stop;
  const int64_t held = offset_bits == 32 ? load<int32_t>(offsets, last) - int64_t{load<int32_t>(offsets, first)}
                                         : load<int64_t>(offsets, last) - load<int64_t>(offsets, first);
  return held + (last - first) * (offset_bits / 8);
}

Outcome LeafValues::open(const std::vector<LeafRows>& parts, const std::vector<PathStep>& path, int64_t bits,
                         int64_t offset_bits) {
  Outcome outcome = levels_.open(parts, path);
  if (outcome.message != nullptr) return outcome;
  for (const Run& run : levels_.runs()) {
    const ArrowArray& array = levels_.leaf(run.part);
    if (array.n_buffers != (bits == 0 ? 3 : 2)) return misuse("an array has another form than its leaf");
    if (buffer_of(array, 1) == nullptr) return misuse("an array has no values");
    if (run.start < 0 || run.stop > array.length) return misuse("an array has too few values");
    if (bits == 0 && offsets_go_back(array, {run.start, run.stop}, offset_bits)) return misuse("offsets go back");
  }
  outcome = open_nulls();
  if (outcome.message != nullptr) return outcome;
  if (bits == 0) {
    const uint8_t* data = offset_bits == 32 ? open_strings<int32_t>() : open_strings<int64_t>();
    facts_.set_strings(data, offsets_.data(), offset_bits, levels_.num_values());
  } else {
    outcome = facts_.set(open_fixed(bits), bits, levels_.num_values());
  }
  if (num_nulls_ > 0) {
    facts_.block.present = present_.data();
    facts_.block.num_nulls = num_nulls_;
  }
  return outcome;
}

Outcome LeafValues::open_nulls() {
  const std::vector<uint16_t>& def = levels_.def();
  num_nulls_ = 0;
  value_levels_.clear();
  if (levels_.max_rep() > 0 && levels_.max_visible() > 0) {
    const auto num_values = static_cast<size_t>(levels_.num_values());
    const auto most = static_cast<uint16_t>(levels_.max_visible());
    value_levels_.resize(num_values + 1);
    size_t value = 0;
    for (const uint16_t level : def) {
      // The one behind the last is overwritten, or dropped.
      value_levels_[std::min(value, num_values)] = level;
      value += level <= most;
    }
    if (value != num_values) return misuse("levels and values differ in number");
    value_levels_.pop_back();
  }
  const std::vector<uint16_t>& own = levels_.max_rep() > 0 ? value_levels_ : def;
  present_.assign((own.size() + 7) / 8, 0);
  const Outcome outcome = validity_from_levels(own.data(), static_cast<int64_t>(own.size()), 1, present_.data(),
                                               static_cast<int64_t>(present_.size()), 0, &num_nulls_);
  if (num_nulls_ == 0) present_.clear();
  return outcome;
}

const uint16_t* LeafValues::value_levels() const {
  if (num_nulls_ == 0) return nullptr;
  return levels_.max_rep() > 0 ? value_levels_.data() : levels_.def().data();
}

const uint8_t* LeafValues::open_fixed(int64_t bits) {
  const std::vector<Run>& runs = levels_.runs();
  const int64_t width = bits / 8, num_values = levels_.num_values();
  if (bits == 1) {
    copy_.assign(static_cast<size_t>((num_values + 7) / 8), 0);
    int64_t value = 0;
    for (const Run& run : runs) {
      const ArrowArray& array = levels_.leaf(run.part);
      copy_bit_run(buffer_of(array, 1), array.offset + run.start, copy_.data(), value, run.stop - run.start);
      value += run.stop - run.start;
    }
    for (size_t byte = 0; byte < present_.size(); ++byte) copy_[byte] &= present_[byte];
    return copy_.data();
  }
  const auto values_of = [&](const Run& run, int64_t slot) {
    const ArrowArray& array = levels_.leaf(run.part);
    return buffer_of(array, 1) + (array.offset + slot) * width;
  };
  if (present_.empty() && runs.size() == 1) return values_of(runs.front(), runs.front().start);
  copy_.clear();
  copy_.reserve(static_cast<size_t>(num_values * width));
  for (const Run& run : runs) copy_.insert(copy_.end(), values_of(run, run.start), values_of(run, run.stop));
  if (!present_.empty())
    for (int64_t value = 0; value < num_values; ++value)
      if (is_null(value)) std::memset(copy_.data() + value * width, 0, static_cast<size_t>(width));
  return copy_.data();
}

// Offsets from 0 on, and the bytes: those of an only run if none are under nulls.
template <class Offset>
const uint8_t* LeafValues::open_strings() {
  const std::vector<Run>& runs = levels_.runs();
  const bool has_nulls = !present_.empty();
  offsets_.resize(static_cast<size_t>(levels_.num_values()) + 1);
  offsets_[0] = 0;
  const auto offsets_of = [&](const Run& run) {
    const ArrowArray& array = levels_.leaf(run.part);
    return buffer_of(array, 1) + (array.offset + run.start) * static_cast<int64_t>(sizeof(Offset));
  };
  int64_t* to = offsets_.data();
  int64_t value = 0, hidden = 0;
  for (const Run& run : runs) {
    const uint8_t* offsets = offsets_of(run);
    const int64_t count = run.stop - run.start;
    const auto at = [&](int64_t slot) { return static_cast<int64_t>(load<Offset>(offsets, slot)); };
    const int64_t base = at(0) - to[value];
    for (int64_t slot = 0; slot < count && !has_nulls; ++slot) to[value + slot + 1] = at(slot + 1) - base;
    for (int64_t slot = 0; slot < count && has_nulls; ++slot) {
      const int64_t size = at(slot + 1) - at(slot);
      const bool hides = is_null(value + slot);
      hidden += hides ? size : 0;
      to[value + slot + 1] = to[value + slot] + (hides ? 0 : size);
    }
    value += count;
  }
  static constexpr uint8_t nothing = 0;
  if (offsets_.back() == 0) return &nothing;
  const auto first_byte = [&](const Run& run, int64_t slot) {
    return buffer_of(levels_.leaf(run.part), 2) + static_cast<int64_t>(load<Offset>(offsets_of(run), slot));
  };
  if (hidden == 0 && runs.size() == 1) return first_byte(runs.front(), 0);
  copy_.resize(static_cast<size_t>(offsets_.back()));
  value = 0;
  for (const Run& run : runs) {
    const int64_t count = run.stop - run.start;
    if (hidden == 0) copy_bytes(copy_.data() + to[value], first_byte(run, 0), to[value + count] - to[value]);
    for (int64_t slot = 0; slot < count && hidden > 0; ++slot) {
      const int64_t start = to[value + slot], size = to[value + slot + 1] - start;
      if (size > 0) copy_bytes(copy_.data() + start, first_byte(run, slot), size);
    }
    value += count;
  }
  return copy_.data();
}

bool LeafValues::is_text() const {
  constexpr int64_t width = sizeof(int64_t);
  const StoredOffsets stored{reinterpret_cast<const uint8_t*>(offsets_.data()),
                             static_cast<int64_t>(offsets_.size()) * width, 64};
  return check_utf8(stored, facts_.block.values, facts_.block.num_bytes).message == nullptr;
}

}  // namespace lance_arrow::engine
