#include "engine/encode/leaves/copied_rows.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/common/bitmaps.hpp"

namespace lance_arrow::engine {

// Slots of one array on the path.
struct CopiedNode {
  int64_t length = 0;
  std::vector<uint8_t> validity;  // nothing without nulls
  std::vector<uint8_t> slots;  // offsets, or values of one width
  std::vector<uint8_t> bytes;  // of byte strings

  int64_t num_bytes() const { return static_cast<int64_t>(validity.capacity() + slots.capacity() + bytes.capacity()); }
};

namespace {

// Adds zeros; where they begin. Memory grows by half, so that a byte is moved a few times at most.
uint8_t* add_bytes(std::vector<uint8_t>* to, int64_t count) {
  const size_t end = to->size(), size = end + static_cast<size_t>(count);
  if (size > to->capacity()) to->reserve(std::max(size, end + end / 2));
  to->resize(size);
  return to->data() + end;
}

uint8_t* add_bits(std::vector<uint8_t>* to, int64_t length, int64_t count) {
  add_bytes(to, (length + count + 7) / 8 - static_cast<int64_t>(to->size()));
  return to->data();
}

void add_validity(const ArrowArray& array, SlotRange slots, CopiedNode* to) {
  const bool has_nulls = num_nulls(array, slots) > 0;
  if (!has_nulls && to->validity.empty()) return;
  const int64_t count = slots.stop - slots.start;
  if (to->validity.empty()) to->validity.assign(static_cast<size_t>((to->length + 7) / 8), 0xFF);
  uint8_t* bits = add_bits(&to->validity, to->length, count);
  if (has_nulls) copy_bit_run(buffer_of(array, 0), array.offset + slots.start, bits, to->length, count);
  else fill_bits(bits, static_cast<int64_t>(to->validity.size()), to->length, count, true);
}

// Adds offsets of lists or byte strings; `first` and `size` get what they refer to.
template <class Offset>
Outcome add_offsets(const ArrowArray& array, SlotRange slots, CopiedNode* to, int64_t* first, int64_t* size) {
  constexpr int64_t width = sizeof(Offset);
  if (to->slots.empty()) add_bytes(&to->slots, width);
  const int64_t count = slots.stop - slots.start;
  *first = *size = 0;
  if (count == 0) return success();
  const uint8_t* offsets = buffer_of(array, 1);
  if (offsets == nullptr) return misuse("an array has no offsets");
  offsets += (array.offset + slots.start) * width;
  *first = int64_t{load<Offset>(offsets, 0)};
  *size = int64_t{load<Offset>(offsets, count)} - *first;
  const int64_t base = int64_t{load<Offset>(to->slots.data(), to->length)};
  if (*size < 0 || *size > int64_t{std::numeric_limits<Offset>::max()} - base) return misuse("offsets go back");
  uint8_t* out = add_bytes(&to->slots, count * width);
  for (int64_t slot = 0; slot < count; ++slot)
    store<Offset>(out, slot, static_cast<Offset>(base + (int64_t{load<Offset>(offsets, slot + 1)} - *first)));
  return success();
}

Outcome add_offsets(int64_t bits, const ArrowArray& array, SlotRange slots, CopiedNode* to, int64_t* first,
                    int64_t* size) {
  return bits == 64 ? add_offsets<int64_t>(array, slots, to, first, size)
                    : add_offsets<int32_t>(array, slots, to, first, size);
}

Outcome add_values(const LeafForm& form, const ArrowArray& array, SlotRange slots, CopiedNode* to) {
  int64_t start = array.offset + slots.start, count = slots.stop - slots.start;
  if (form.bits == 0) {
    const Outcome outcome = add_offsets(form.offset_bits, array, slots, to, &start, &count);
    if (outcome.message != nullptr) return outcome;
  }
  const uint8_t* values = buffer_of(array, form.bits == 0 ? 2 : 1);
  if (count == 0) return success();
  if (values == nullptr) return misuse("an array has no values");
  if (form.bits == 1) {
    copy_bit_run(values, start, add_bits(&to->slots, to->length, count), to->length, count);
    return success();
  }
  const int64_t width = form.bits == 0 ? 1 : form.bits / 8;
  copy_bytes(add_bytes(form.bits == 0 ? &to->bytes : &to->slots, count * width), values + start * width, count * width);
  return success();
}

}  // namespace

struct CopiedRows::Copy {
  std::vector<CopiedNode> nodes;
  // As they are lent.
  std::vector<ArrowArray> arrays;
  std::vector<std::array<const void*, 3>> buffers;
};

Outcome CopiedRows::add(const LeafForm& form, const LeafPath& path) {
  if (copy_ == nullptr) copy_ = std::make_shared<Copy>();
  std::vector<CopiedNode>& nodes = copy_->nodes;
  nodes.resize(path.nodes().size());
  num_bytes_ = sizeof(Copy);
  for (size_t node = 0; node < nodes.size(); ++node) {
    const ArrowArray& array = path.nodes()[node];
    const SlotRange slots = path.ranges()[node];
    CopiedNode& own = nodes[node];
    add_validity(array, slots, &own);
    Outcome outcome = success();
    if (node + 1 == nodes.size()) {
      outcome = add_values(form, array, slots, &own);
    } else if (form.path[node].list_bits != 0) {
      int64_t first = 0, size = 0;
      outcome = add_offsets(form.path[node].list_bits, array, slots, &own, &first, &size);
    }
    if (outcome.message != nullptr) return outcome;
    own.length += slots.stop - slots.start;
    num_bytes_ += static_cast<int64_t>(sizeof(CopiedNode) + sizeof(ArrowArray)) + own.num_bytes();
  }
  return success();
}

HeldPart CopiedRows::take(const LeafForm& form) {
  static constexpr int64_t nothing = 0;
  const auto start_of = [](const std::vector<uint8_t>& bytes) {
    return bytes.empty() ? static_cast<const void*>(&nothing) : bytes.data();
  };
  const std::shared_ptr<Copy> copy = std::move(copy_);
  copy_ = nullptr;
  num_bytes_ = 0;
  const size_t count = copy->nodes.size();
  copy->arrays.resize(count);
  copy->buffers.resize(count);
  LeafRows rows{{}, 0, copy->nodes.front().length};
  for (size_t node = 0; node < count; ++node) {
    const CopiedNode& own = copy->nodes[node];
    const bool is_leaf = node + 1 == count;
    copy->buffers[node] = {own.validity.empty() ? nullptr : own.validity.data(), start_of(own.slots),
                           start_of(own.bytes)};
    ArrowArray& array = copy->arrays[node];
    array = {};
    array.length = own.length;
    array.null_count = own.validity.empty() ? 0 : -1;
    array.n_buffers = is_leaf ? (form.bits == 0 ? 3 : 2) : form.path[node].list_bits == 0 ? 1 : 2;
    array.buffers = copy->buffers[node].data();
    rows.nodes.push_back(&array);
  }
  return {copy, std::move(rows)};
}

}  // namespace lance_arrow::engine
