#include "engine/encode/leaves/leaf_values.hpp"

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

int64_t string_bytes(const ArrowArray& array, int64_t num_rows, int64_t offset_bits) {
  const uint8_t* offsets = buffer_of(array, 1);
  if (offsets == nullptr) return 0;
  const int64_t first = array.offset, last = first + num_rows;
  const int64_t held = offset_bits == 32 ? load<int32_t>(offsets, last) - int64_t{load<int32_t>(offsets, first)}
                                         : load<int64_t>(offsets, last) - load<int64_t>(offsets, first);
  return held + num_rows * (offset_bits / 8);
}

Outcome LeafValues::open(const ArrowArray& batch, const std::vector<PathStep>& path, int64_t num_rows, int64_t bits,
                         int64_t offset_bits) {
  Outcome outcome = levels_.open(batch, path, num_rows);
  if (outcome.message != nullptr) return outcome;
  const ArrowArray& array = levels_.leaf();
  if (array.n_buffers != (bits == 0 ? 3 : 2)) return misuse("an array has another form than its leaf");
  const uint8_t* first = buffer_of(array, 1);
  if (first == nullptr) return misuse("an array has no values");
  const std::vector<uint16_t>& def = levels_.def();
  present_.assign((def.size() + 7) / 8, 0);
  int64_t nulls = 0;
  outcome = validity_from_levels(def.data(), static_cast<int64_t>(def.size()), 1, present_.data(),
                                 static_cast<int64_t>(present_.size()), 0, &nulls);
  if (outcome.message != nullptr) return outcome;
  if (bits == 0) {
    if (offsets_go_back(array, num_rows, offset_bits)) return misuse("offsets go back");
    first += array.offset * (offset_bits / 8);
    const uint8_t* data = buffer_of(array, 2);
    data =
        offset_bits == 32 ? open_strings<int32_t>(first, data, num_rows) : open_strings<int64_t>(first, data, num_rows);
    facts_.set_strings(data, offsets_.data(), offset_bits, num_rows);
  } else {
    outcome = facts_.set(open_fixed(first, array.offset, num_rows, bits), bits, num_rows);
  }
  if (nulls > 0) {
    facts_.block.present = present_.data();
    facts_.block.num_nulls = nulls;
  }
  return outcome;
}

const uint8_t* LeafValues::open_fixed(const uint8_t* values, int64_t offset, int64_t num_rows, int64_t bits) {
  const int64_t width = bits / 8;
  const auto num_bits_bytes = static_cast<size_t>((num_rows + 7) / 8);
  if (bits == 1) {
    copy_.assign(num_bits_bytes, 0);
    copy_bit_run(values, offset, copy_.data(), 0, num_rows);
    if (!present_.empty())
      for (size_t byte = 0; byte < num_bits_bytes; ++byte) copy_[byte] &= present_[byte];
    return copy_.data();
  }
  const uint8_t* block = values + offset * width;
  if (present_.empty()) return block;
  copy_.assign(block, block + num_rows * width);
  for (int64_t row = 0; row < num_rows; ++row)
    if (is_null(row)) std::memset(copy_.data() + row * width, 0, static_cast<size_t>(width));
  return copy_.data();
}

// Offsets from 0 on, and the bytes: those of the array if none are under nulls.
template <class Offset>
const uint8_t* LeafValues::open_strings(const uint8_t* offsets, const uint8_t* data, int64_t num_rows) {
  const auto at = [&](int64_t row) { return static_cast<int64_t>(load<Offset>(offsets, row)); };
  offsets_.resize(static_cast<size_t>(num_rows) + 1);
  const int64_t base = at(0);
  int64_t hidden = 0;
  if (present_.empty()) {
    for (int64_t row = 0; row <= num_rows; ++row) offsets_[static_cast<size_t>(row)] = at(row) - base;
  } else {
    offsets_[0] = 0;
    for (int64_t row = 0; row < num_rows; ++row) {
      const int64_t size = at(row + 1) - at(row);
      const bool hides = is_null(row);
      hidden += hides ? size : 0;
      offsets_[static_cast<size_t>(row) + 1] = offsets_[static_cast<size_t>(row)] + (hides ? 0 : size);
    }
  }
  static constexpr uint8_t nothing = 0;
  if (data == nullptr) return &nothing;
  if (hidden == 0) return data + base;
  copy_.resize(static_cast<size_t>(offsets_.back()));
  for (int64_t row = 0; row < num_rows; ++row) {
    const int64_t to = offsets_[static_cast<size_t>(row)], size = offsets_[static_cast<size_t>(row) + 1] - to;
    copy_bytes(copy_.data() + to, data + at(row), size);
  }
  return copy_.empty() ? &nothing : copy_.data();
}

bool LeafValues::is_text() const {
  constexpr int64_t width = sizeof(int64_t);
  const StoredOffsets stored{reinterpret_cast<const uint8_t*>(offsets_.data()),
                             static_cast<int64_t>(offsets_.size()) * width, 64};
  return check_utf8(stored, facts_.block.values, facts_.block.num_bytes).message == nullptr;
}

}  // namespace lance_arrow::engine
