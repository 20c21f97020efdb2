#include "engine/encode/distinct.hpp"

#include <vector>

#include "engine/common/hashing.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kProbeValues = 8192;

struct FixedValues {
  const uint8_t* data;
  int64_t bytes_per_value;

  const uint8_t* at(int64_t value) const { return data + value * bytes_per_value; }
  uint64_t hash(int64_t value) const { return hash_bytes(at(value), bytes_per_value); }
  bool equal(int64_t a, int64_t b) const { return equal_bytes(at(a), at(b), bytes_per_value); }
};

// Values of `words` times 64 bits.
template <int words>
struct WordValues {
  const uint8_t* data;

  uint64_t hash(int64_t value) const {
    uint64_t hash = 0;
    for (int word = 0; word < words; ++word)
      hash = mix_bits(hash ^ load<uint64_t>(data, value * words + word) ^ kFirstFactor, kSecondFactor);
    return hash;
  }
  bool equal(int64_t a, int64_t b) const {
    bool same = true;
    for (int word = 0; word < words; ++word)
      same &= load<uint64_t>(data, a * words + word) == load<uint64_t>(data, b * words + word);
    return same;
  }
};

template <class Offset>
struct VariableValues {
  const uint8_t* data;
  const uint8_t* offsets;
  int64_t base;

  int64_t start(int64_t value) const { return static_cast<int64_t>(load<Offset>(offsets, value)) - base; }
  int64_t size(int64_t value) const { return start(value + 1) - start(value); }
  uint64_t hash(int64_t value) const { return hash_bytes(data + start(value), size(value)); }
  bool equal(int64_t a, int64_t b) const {
    const int64_t bytes = size(a);
    return bytes == size(b) && equal_bytes(data + start(a), data + start(b), bytes);
  }
};

struct DistinctSlot {
  uint32_t tag;
  uint32_t item;  // number + 1; 0: free
};

template <class Values>
class Distinct {
 public:
  Distinct(const Values& values, const DistinctOut& out) : values_(values), out_(out), slots_(1 << 10) {}

  int64_t find(int64_t value) {
    const uint64_t hash = values_.hash(value);
    const auto tag = static_cast<uint32_t>(hash >> 32);
    uint64_t place = hash & (slots_.size() - 1);
    for (;; place = (place + 1) & (slots_.size() - 1)) {
      const DistinctSlot slot = slots_[place];
      if (slot.item == 0) break;
      if (slot.tag != tag) continue;
      if (values_.equal(out_.firsts[slot.item - 1], value)) return slot.item - 1;
    }
    if (num_items == out_.max_items) return -1;
    out_.firsts[num_items++] = value;
    slots_[place] = {tag, static_cast<uint32_t>(num_items)};
    if (2 * static_cast<size_t>(num_items) > slots_.size()) grow();
    return num_items - 1;
  }

  int64_t num_items = 0;

 private:
  void grow() {
    std::vector<DistinctSlot> larger(4 * slots_.size());
    for (int64_t item = 0; item < num_items; ++item) {
      const uint64_t hash = values_.hash(out_.firsts[item]);
      uint64_t place = hash & (larger.size() - 1);
      while (larger[place].item != 0) place = (place + 1) & (larger.size() - 1);
      larger[place] = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(item + 1)};
    }
    slots_.swap(larger);
  }

  const Values& values_;
  const DistinctOut& out_;
  std::vector<DistinctSlot> slots_;
};

// Number of items, or -1 if there are more than max_items, or probably will be. The latter holds if random values out
// of max_items items would have repeated twice as often so far.
template <class Values>
int64_t index_values(const Values& values, const uint16_t* nulls, const DistinctOut& out) {
  Distinct<Values> table(values, out);
  int64_t seen = 0;
  for (int64_t value = 0; value < out.num_values; ++value) {
    if (nulls != nullptr && nulls[value] != 0) {
      out.indices[value] = 0;
      continue;
    }
    // Runs of equal values need no table.
    const int64_t before = value - 1;
    if (value > 0 && (nulls == nullptr || nulls[before] == 0) && values.equal(before, value)) {
      out.indices[value] = out.indices[before];
    } else {
      const int64_t item = table.find(value);
      if (item < 0) return -1;
      out.indices[value] = static_cast<uint32_t>(item);
    }
    // So few items would all have been met by now.
    const bool is_probed = out.num_values > 2 * kProbeValues && out.max_items > kProbeValues;
    if (++seen == kProbeValues && is_probed && (seen - table.num_items) * 4 * out.max_items < seen * seen) return -1;
  }
  return table.num_items;
}

}  // namespace

Outcome index_fixed(const uint8_t* data, int64_t data_bytes, int64_t bytes_per_value, const uint16_t* nulls,
                    const DistinctOut& out, int64_t* num_items) {
  if (bytes_per_value < 1 || bytes_per_value * out.num_values != data_bytes)
    return misuse("values and indices differ in number");
  if (out.max_items >= int64_t{1} << 32) return misuse("more items than indices can name");
  if (bytes_per_value == 8) *num_items = index_values(WordValues<1>{data}, nulls, out);
  else if (bytes_per_value == 16) *num_items = index_values(WordValues<2>{data}, nulls, out);
  else *num_items = index_values(FixedValues{data, bytes_per_value}, nulls, out);
  return success();
}

namespace {

template <class Offset>
Outcome index_variable_as(const uint8_t* offsets, const uint8_t* data, int64_t data_bytes, const uint16_t* nulls,
                          const DistinctOut& out, int64_t* num_items) {
  const auto base = static_cast<int64_t>(load<Offset>(offsets, 0));
  int64_t before = base;
  for (int64_t value = 1; value <= out.num_values; ++value) {
    const auto next = static_cast<int64_t>(load<Offset>(offsets, value));
    if (next < before) return misuse("offsets descend", value - 1);
    before = next;
  }
  if (before - base > data_bytes) return misuse("offsets leave the data", out.num_values - 1);
  *num_items = index_values(VariableValues<Offset>{data, offsets, base}, nulls, out);
  return success();
}

}  // namespace

Outcome index_variable(const uint8_t* offsets, int64_t offsets_bytes, int offset_bits, const uint8_t* data,
                       int64_t data_bytes, const uint16_t* nulls, const DistinctOut& out, int64_t* num_items) {
  if (offset_bits != 32 && offset_bits != 64) return misuse("offsets have 32 or 64 bits");
  if ((out.num_values + 1) * (offset_bits / 8) != offsets_bytes) return misuse("values and indices differ in number");
  if (out.max_items >= int64_t{1} << 32) return misuse("more items than indices can name");
  return offset_bits == 32 ? index_variable_as<int32_t>(offsets, data, data_bytes, nulls, out, num_items)
                           : index_variable_as<int64_t>(offsets, data, data_bytes, nulls, out, num_items);
}

}  // namespace lance_arrow::engine
