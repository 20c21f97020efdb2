// Dictionaries of strings, as pages hold them.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/dictionary_items.hpp"

namespace tests {

struct Stored {
  std::string bytes;
  std::vector<uint32_t> offsets{0};
  lance_arrow::engine::Items items;

  explicit Stored(const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      bytes += value;
      offsets.push_back(static_cast<uint32_t>(bytes.size()));
    }
    items.values = reinterpret_cast<const uint8_t*>(bytes.data());
    items.values_bytes = static_cast<int64_t>(bytes.size());
    items.offsets = reinterpret_cast<const uint8_t*>(offsets.data());
    items.offset_bits = 32;
    items.num_items = static_cast<int64_t>(values.size());
  }
};

}  // namespace tests
