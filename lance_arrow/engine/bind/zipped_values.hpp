// The C tables of codecs of zipped values (lance_arrow_native.h): each value lies apart.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/bind/codec_tables.hpp"

namespace lance_arrow::engine {

// Zipped values as they are.
struct ZippedBytes {
  int64_t bits;

  static LaRefusal expand(const void* self, const uint8_t* data, const int64_t* starts, const int64_t* sizes,
                          int64_t num_values, LaValues* out) {
    const auto& form = *static_cast<const ZippedBytes*>(self);
    const int64_t width = form.bits / 8;
    for (int64_t value = 0; value < num_values; ++value) {
      const uint8_t* from = data + starts[value];
      if (form.bits == 0) {
        if (const LaRefusal refusal = append_bytes(from, sizes[value], value, out)) return refusal;
        continue;
      }
      if (sizes[value] != width) return "a zipped value has another size than its description";
      copy_bytes(out->values + value * width, from, width);
    }
    return kDone;
  }
};

// Zipped lists of one length without items: the bitmaps that are stored, then zeros for the others and the items.
struct ZippedNulls {
  int64_t stored_bytes;
  int64_t row_bytes;

  static LaRefusal expand(const void* self, const uint8_t* data, const int64_t* starts, const int64_t* sizes,
                          int64_t num_values, LaValues* out) {
    const auto& form = *static_cast<const ZippedNulls*>(self);
    uint8_t* to = out->values;
    for (int64_t value = 0; value < num_values; ++value, to += form.row_bytes) {
      if (sizes[value] != form.stored_bytes) return "a zipped value has another size than its description";
      copy_bytes(to, data + starts[value], form.stored_bytes);
      std::memset(to + form.stored_bytes, 0, static_cast<size_t>(form.row_bytes - form.stored_bytes));
    }
    return kDone;
  }
};

// Zipped booleans, whose bytes have a codec of their own: 0 is false, all others are true, as in the reference.
struct ZippedBooleans {
  const LaValueCodec* bytes;

  static LaRefusal expand(const void* self, const uint8_t* data, const int64_t* starts, const int64_t* sizes,
                          int64_t num_values, LaValues* out) {
    const LaValueCodec& bytes = *static_cast<const ZippedBooleans*>(self)->bytes;
    const Leased<std::vector<uint8_t>> leased;
    std::vector<uint8_t>& found = *leased;
    found.resize(static_cast<size_t>(num_values));
    LaValues place{found.data(), 0, nullptr, 0, nullptr, nullptr};
    const LaRefusal refusal = bytes.expand(bytes.self, data, starts, sizes, num_values, &place);
    if (refusal != nullptr) return refusal;
    for (int64_t value = 0; value < num_values; ++value) {
      const int64_t bit = out->bit_offset + value;
      const auto one = static_cast<uint8_t>(1u << (bit % 8));
      uint8_t& to = out->values[bit / 8];
      to = static_cast<uint8_t>(found[static_cast<size_t>(value)] != 0 ? to | one : to & ~one);
    }
    return kDone;
  }
};

// Zstandard frames after their size, of one uncompressed block: typical for images and other compressed values. A frame
// of one segment stores its content size in 2 or 4 bytes (RFC 8878, 3.1.1.1). A block has at most 128 KiB.
struct StoredZstd {
  static constexpr int64_t kShortHead = 18, kLongHead = 20, kLeast = 256, kMostShort = 256 + 0xFFFF, kMost = 128 << 10;

  int64_t most_bytes;  // of a value: larger ones are for `expand` to refuse

  static int64_t head_bytes(const void* self, int64_t size) {
    const int64_t most = std::min(static_cast<const StoredZstd*>(self)->most_bytes, kMost);
    const int64_t head = size <= kShortHead + kMostShort ? kShortHead : kLongHead;
    const int64_t content = size - head;
    return content >= (head == kShortHead ? kLeast : kMostShort + 1) && content <= most ? head : -1;
  }

  static int64_t is_stored(const void* self, const uint8_t* head, int64_t size) {
    constexpr uint32_t magic = 0xFD2FB528;
    constexpr uint8_t one_segment = 0x20, two_bytes = 0x40, four_bytes = 0x80;
    constexpr uint32_t last_stored_block = 1;  // the last block, its type 0: raw
    const int64_t head_size = head_bytes(self, size);
    if (head_size < 0) return 0;
    const bool is_short = head_size == kShortHead;
    const auto content = static_cast<uint64_t>(size - head_size);
    const uint8_t descriptor = one_segment | (is_short ? two_bytes : four_bytes);
    const uint64_t told = is_short ? load<uint16_t>(head + 13, 0) + uint64_t{kLeast} : load<uint32_t>(head + 13, 0);
    const uint8_t* block = head + head_size - 3;
    const uint32_t block_head = block[0] | uint32_t{block[1]} << 8 | uint32_t{block[2]} << 16;
    return load<uint64_t>(head, 0) == content && load<uint32_t>(head + 8, 0) == magic && head[12] == descriptor &&
           told == content && block_head == (content << 3 | last_stored_block);
  }
};

}  // namespace lance_arrow::engine
