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

inline bool is_list_kind(uint8_t kind) { return kind != kAllValidItem && kind != kNullableItem; }

// Definition levels that a layer uses; none of a kind that does not exist.
inline int num_def_levels(uint8_t kind) {
  constexpr int used[] = {0, 0, 0, 1, 1, 1, 2};
  return kind <= kNullAndEmptyList ? used[kind] : 0;
}

}  // namespace lance_arrow::engine
