// Meaning of one layer of levels. Source: RepDefLayer.
#pragma once

#include <cstdint>

namespace lance_arrow::engine {

enum LayerKind : uint8_t {
  kAllValidItem = 1,
  kAllValidList = 2,
  kNullableItem = 3,
  kNullableList = 4,
  kEmptyableList = 5,
  kNullAndEmptyList = 6,
};

}  // namespace lance_arrow::engine
