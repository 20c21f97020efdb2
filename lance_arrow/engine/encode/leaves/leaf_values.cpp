#include "engine/encode/leaves/leaf_values.hpp"

#include <algorithm>

#include "engine/common/bitmaps.hpp"
#include "engine/common/utf8.hpp"
#include "engine/plan/level_masks.hpp"

namespace lance_arrow::engine {

namespace {

const uint8_t* buffer_of(const ArrowArray& array, int64_t number) {
  return static_cast<const uint8_t*>(array.n_buffers > number ? array.buffers[number] : nullptr);
}

// False as soon as an offset is less than the one before it; a loop that compilers turn into vectors.
template <class Offset>
bool go_back(const uint8_t* offsets, int64_t num_rows) {
  bool found = false;
  for (int64_t row = 0; row < num_rows; ++row) found |= load<Offset>(offsets, row + 1) < load<Offset>(offsets, row);
  return found;
}

}  // namespace

bool offsets_go_back(const ArrowArray& array, int64_t num_rows, int64_t offset_bits) {
  const uint8_t* offsets = buffer_of(array, 1);
  if (offsets == nullptr) return num_rows > 0;
  offsets += array.offset * (offset_bits / 8);
  return offset_bits == 32 ? go_back<int32_t>(offsets, num_rows) : go_back<int64_t>(offsets, num_rows);
}

int64_t string_bytes(const ArrowArray& array, int64_t start, int64_t stop, int64_t offset_bits) {
  const uint8_t* offsets = buffer_of(array, 1);
  if (offsets == nullptr) return 0;
  const int64_t first = array.offset + start, last = array.offset + stop;
  const int64_t held = offset_bits == 32 ? load<int32_t>(offsets, last) - int64_t{load<int32_t>(offsets, first)}
                                         : load<int64_t>(offsets, last) - load<int64_t>(offsets, first);
  return held + (stop - start) * (offset_bits / 8);
}

Outcome LeafValues::open(const std::vector<LeafRows>& parts, const std::vector<PathStep>& path, int64_t bits,
                         int64_t offset_bits) {
  Outcome outcome = levels_.open(parts, path);
  if (outcome.message != nullptr) return outcome;
  for (const ArrowArray& array : levels_.leaves()) {
    if (array.n_buffers != (bits == 0 ? 3 : 2)) return misuse("an array has another form than its leaf");
    if (buffer_of(array, 1) == nullptr) return misuse("an array has no values");
    if (bits == 0 && offsets_go_back(array, array.length, offset_bits)) return misuse("offsets go back");
  }
  const std::vector<uint16_t>& def = levels_.def();
  present_.assign((def.size() + 7) / 8, 0);
  int64_t nulls = 0;
  outcome = validity_from_levels(def.data(), static_cast<int64_t>(def.size()), 1, present_.data(),
                                 static_cast<int64_t>(present_.size()), 0, &nulls);
  if (outcome.message != nullptr) return outcome;
  if (bits == 0) {
    const uint8_t* data = offset_bits == 32 ? open_strings<int32_t>() : open_strings<int64_t>();
    facts_.set_strings(data, offsets_.data(), offset_bits, levels_.num_rows());
  } else {
    outcome = facts_.set(open_fixed(bits), bits, levels_.num_rows());
  }
  if (nulls > 0) {
    facts_.block.present = present_.data();
    facts_.block.num_nulls = nulls;
  }
  return outcome;
}

const uint8_t* LeafValues::open_fixed(int64_t bits) {
  const std::vector<ArrowArray>& arrays = levels_.leaves();
  const int64_t width = bits / 8, num_rows = levels_.num_rows();
  if (bits == 1) {
    copy_.assign(static_cast<size_t>((num_rows + 7) / 8), 0);
    int64_t row = 0;
    for (const ArrowArray& array : arrays) {
      copy_bit_run(buffer_of(array, 1), array.offset, copy_.data(), row, array.length);
      row += array.length;
    }
    if (!present_.empty())
      for (size_t byte = 0; byte < copy_.size(); ++byte) copy_[byte] &= present_[byte];
    return copy_.data();
  }
  const auto values_of = [&](const ArrowArray& array) { return buffer_of(array, 1) + array.offset * width; };
  if (present_.empty() && arrays.size() == 1) return values_of(arrays.front());
  copy_.clear();
  copy_.reserve(static_cast<size_t>(num_rows * width));
  for (const ArrowArray& array : arrays)
    copy_.insert(copy_.end(), values_of(array), values_of(array) + array.length * width);
  if (!present_.empty())
    for (int64_t row = 0; row < num_rows; ++row)
      if (is_null(row)) std::memset(copy_.data() + row * width, 0, static_cast<size_t>(width));
  return copy_.data();
}

// Offsets from 0 on, and the bytes: those of an only array if none are under nulls.
template <class Offset>
const uint8_t* LeafValues::open_strings() {
  const std::vector<ArrowArray>& arrays = levels_.leaves();
  const bool has_nulls = !present_.empty();
  offsets_.resize(static_cast<size_t>(levels_.num_rows()) + 1);
  offsets_[0] = 0;
  int64_t row = 0, hidden = 0;
  for (const ArrowArray& array : arrays) {
    const uint8_t* offsets = buffer_of(array, 1) + array.offset * static_cast<int64_t>(sizeof(Offset));
    const auto at = [&](int64_t slot) { return static_cast<int64_t>(load<Offset>(offsets, slot)); };
    const int64_t base = at(0) - offsets_[static_cast<size_t>(row)];
    for (int64_t slot = 0; slot < array.length && !has_nulls; ++slot)
      offsets_[static_cast<size_t>(row + slot) + 1] = at(slot + 1) - base;
    for (int64_t slot = 0; slot < array.length && has_nulls; ++slot) {
      const int64_t size = at(slot + 1) - at(slot);
      const bool hides = is_null(row + slot);
      hidden += hides ? size : 0;
      offsets_[static_cast<size_t>(row + slot) + 1] =
          offsets_[static_cast<size_t>(row + slot)] + (hides ? 0 : size);
    }
    row += array.length;
  }
  static constexpr uint8_t nothing = 0;
  if (offsets_.back() == 0) return &nothing;
  const auto first_byte = [&](const ArrowArray& array) {
    return buffer_of(array, 2) + static_cast<int64_t>(load<Offset>(buffer_of(array, 1), array.offset));
  };
  if (hidden == 0 && arrays.size() == 1) return first_byte(arrays.front());
  copy_.resize(static_cast<size_t>(offsets_.back()));
  row = 0;
  for (const ArrowArray& array : arrays) {
    const uint8_t* offsets = buffer_of(array, 1) + array.offset * static_cast<int64_t>(sizeof(Offset));
    const uint8_t* data = buffer_of(array, 2);
    const int64_t to = offsets_[static_cast<size_t>(row)],
                  stop = offsets_[static_cast<size_t>(row + array.length)];
    if (data != nullptr && hidden == 0) copy_bytes(copy_.data() + to, first_byte(array), stop - to);
    for (int64_t slot = 0; slot < array.length && hidden > 0 && data != nullptr; ++slot) {
      const int64_t start = offsets_[static_cast<size_t>(row + slot)];
      copy_bytes(copy_.data() + start, data + static_cast<int64_t>(load<Offset>(offsets, slot)),
                 offsets_[static_cast<size_t>(row + slot) + 1] - start);
    }
    row += array.length;
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
