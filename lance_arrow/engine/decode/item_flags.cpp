#include "engine/decode/item_flags.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace lance_arrow::engine {

namespace {

constexpr int64_t kBlock = 512;  // codes whose marks stay in the cache

// Eight bytes that are 0 or 1 as eight bits, the first of them least significant.
uint8_t bits_of(const uint8_t* marks) {
  return static_cast<uint8_t>((load<uint64_t>(marks, 0) * 0x0102040810204080u) >> 56);
}

template <class Code>
struct Marker {
  const uint8_t* codes;
  int64_t num_codes;
  const uint8_t* flags;
  int64_t num_items;

  void mark(uint8_t* out) const {
    constexpr size_t few = 4;  // items that are compared one by one faster than all are looked up
    std::vector<Code> set;
    for (int64_t item = 0; item < num_items && set.size() <= few; ++item) {
      // Later items have no code of this width.
      if (static_cast<uint64_t>(item) > std::numeric_limits<Code>::max()) break;
      if (flags[item] != 0) set.push_back(static_cast<Code>(item));
    }
    alignas(64) uint8_t marks[kBlock];
    for (int64_t first = 0; first < num_codes; first += kBlock) {
      const int64_t count = std::min(kBlock, num_codes - first);
      if (set.size() <= few) compare(set, first, count, marks);
      else look_up(first, count, marks);
      std::fill(marks + count, marks + (count + 7) / 8 * 8, uint8_t{0});
      for (int64_t at = 0; at < count; at += 8) *out++ = bits_of(marks + at);
    }
  }

 private:
  void compare(const std::vector<Code>& set, int64_t first, int64_t count, uint8_t* marks) const {
    std::fill(marks, marks + count, uint8_t{0});
    for (const Code wanted : set)
      for (int64_t at = 0; at < count; ++at)
        marks[at] = static_cast<uint8_t>(marks[at] | (load<Code>(codes, first + at) == wanted ? 1 : 0));
  }

  void look_up(int64_t first, int64_t count, uint8_t* marks) const {
    const auto num = static_cast<uint64_t>(num_items);
    for (int64_t at = 0; at < count; ++at) {
      const auto code = static_cast<uint64_t>(load<Code>(codes, first + at));
      marks[at] = code < num ? flags[code] : uint8_t{0};
    }
  }
};

template <class Call>
Outcome with_code_type(int64_t code_bytes, Call call) {
  switch (code_bytes) {
    case 1: call.template operator()<uint8_t>(); return success();
    case 2: call.template operator()<uint16_t>(); return success();
    case 4: call.template operator()<uint32_t>(); return success();
    case 8: call.template operator()<uint64_t>(); return success();
    default: return misuse("codes have 1, 2, 4 or 8 bytes");
  }
}

}  // namespace

void bits_of_marks(const uint8_t* marks, int64_t count, uint8_t* out) {
  int64_t at = 0;
  for (; at + 8 <= count; at += 8) *out++ = bits_of(marks + at);
  if (at == count) return;
  uint8_t last[8] = {};
  std::memcpy(last, marks + at, static_cast<size_t>(count - at));
  *out = bits_of(last);
}

Outcome flags_of_codes(const uint8_t* codes, int64_t code_bytes, int64_t num_codes, const uint8_t* flags,
                       int64_t num_items, uint8_t* out, int64_t out_bytes) {
  if (num_codes < 0 || num_items < 0 || (num_codes + 7) / 8 > out_bytes) return misuse("flags have too few bytes");
  return with_code_type(code_bytes, [&]<class Code>() { Marker<Code>{codes, num_codes, flags, num_items}.mark(out); });
}

Outcome views_of_codes(const uint8_t* codes, int64_t code_bytes, int64_t num_codes, const uint8_t* views,
                       int64_t num_items, uint8_t* out, int64_t out_bytes) {
  if (num_codes < 0 || num_items < 1 || num_codes > out_bytes / kViewBytes) return misuse("views have too few bytes");
  return with_code_type(code_bytes, [&]<class Code>() {
    const auto last = static_cast<uint64_t>(num_items - 1);
    for (int64_t at = 0; at < num_codes; ++at) {
      const uint64_t item = std::min(static_cast<uint64_t>(load<Code>(codes, at)), last);
      std::memcpy(out + at * kViewBytes, views + item * kViewBytes, kViewBytes);
    }
  });
}

namespace {

template <class Offset>
Outcome views_by(const StoredValues& stored, int64_t buffer_bytes, uint8_t* to, int64_t* bytes_behind_views) {
  const auto end = static_cast<uint64_t>(stored.data_bytes);
  for (int64_t value = 0; value < stored.num_values; ++value, to += kViewBytes) {
    const int64_t bit = stored.first_bit + value;
    if (stored.validity != nullptr && (stored.validity[bit / 8] >> (bit % 8) & 1) == 0) {
      put_empty_view(to);
      continue;
    }
    const uint64_t start = load<Offset>(stored.offsets, value), stop = load<Offset>(stored.offsets, value + 1);
    if (start > stop || stop > end) return misuse("a value lies outside its bytes", value);
    const auto place = static_cast<int64_t>(start), size = static_cast<int64_t>(stop - start);
    if (size > kMostOfView) return misuse("a value is too long for a view", value);
    const uint8_t* bytes = stored.data + place;
    if (size <= kMostInView) {
      put_short_view(to, bytes, size, stored.data_bytes - place);
    } else {
      put_long_view(to, bytes, size, place, buffer_bytes);
      *bytes_behind_views += size;
    }
  }
  return success();
}

}  // namespace

Outcome views_of_values(const StoredValues& stored, int64_t buffer_bytes, uint8_t* out, int64_t out_bytes,
                        int64_t* bytes_behind_views) {
  *bytes_behind_views = 0;
  if (stored.num_values < 0 || stored.num_values > out_bytes / kViewBytes) return misuse("views have too few bytes");
  if (buffer_bytes < 1) return misuse("buffers of views have no bytes");
  return stored.offset_bits == 32 ? views_by<uint32_t>(stored, buffer_bytes, out, bytes_behind_views)
                                  : views_by<uint64_t>(stored, buffer_bytes, out, bytes_behind_views);
}

}  // namespace lance_arrow::engine
