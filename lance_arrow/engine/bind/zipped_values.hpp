// The C tables of codecs of zipped values (lance_arrow_native.h): each value lies apart.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::engine {

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

}  // namespace lance_arrow::engine
