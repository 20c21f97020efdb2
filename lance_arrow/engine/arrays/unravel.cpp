#include "engine/arrays/unravel.hpp"

#include <algorithm>

namespace lance_arrow::engine {

Outcome share_levels(const uint8_t* layers, int64_t num_layers, const int64_t* dimensions, uint16_t* rep,
                     const uint16_t* def, int64_t num_entries) {
  int num_lists = 0, reach = 0;  // lists inside; levels of the layers up to the next list
  int64_t structs = 1;  // in one slot of the layer, since the last list
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    if (is_list_kind(layers[layer])) {
      ++num_lists;
      structs = 1;
    } else {
      structs *= std::max<int64_t>(1, dimensions[layer]);
    }
    reach += num_def_levels(layers[layer]);
    if (dimensions[layer] == 0) continue;
    int64_t next = layer + 1;
    int upto = reach;
    for (; next < num_layers && !is_list_kind(layers[next]); ++next) upto += num_def_levels(layers[next]);
    if (next == num_layers) continue;
    int64_t slot = 0;
    for (int64_t entry = 0; entry < num_entries; ++entry) {
      if (def != nullptr && def[entry] > upto)
        return unsupported("levels of null or empty lists around fixed-size lists of structs are not defined", entry);
      if (rep[entry] < num_lists) continue;
      if (slot++ % structs != 0) rep[entry] = static_cast<uint16_t>(num_lists);
    }
  }
  return success();
}

Outcome plan_layers(const uint8_t* layers, int64_t num_layers, const int64_t* dimensions, int64_t num_dimensions,
                    LayerPlan* plan) {
  if (num_layers < 1 || num_layers > kMaxLayers) return misuse("there must be 1 to 64 layers");
  if (num_dimensions != 0 && num_dimensions != num_layers) return misuse("dimensions and layers differ in number");
  uint16_t level = 0;
  int group = 0;
  int tier = 0;
  plan->tiers[0] = {0, 0, 0};
  for (int64_t i = 0; i < num_layers; ++i) {
    const uint8_t kind = layers[i];
    if (kind < kAllValidItem || kind > kNullAndEmptyList) return misuse("unknown layer", i);
    const bool is_list = is_list_kind(kind);
    if (i == 0 && is_list) return misuse("the inner-most layer is a list", i);
    if (is_list) {
      plan->reach[group++] = level;
      plan->tiers[++tier] = {group, 0, level};
    }
    const int64_t dimension = num_dimensions == 0 ? 0 : dimensions[i];
    if (dimension < 0 || (dimension != 0 && (is_list || i == 0))) return misuse("a layer cannot have a dimension", i);
    if (dimension != 0) plan->tiers[++tier] = {group, dimension, level};
    const bool nullable = kind == kNullableItem || kind == kNullableList || kind == kNullAndEmptyList;
    const bool both = kind == kNullAndEmptyList;
    plan->rules[i] = {tier, is_list, nullable, level, static_cast<uint16_t>(both ? level + 2 : 0)};
    level = static_cast<uint16_t>(level + num_def_levels(kind));
  }
  plan->reach[group] = level;
  plan->num_layers = static_cast<int>(num_layers);
  plan->num_lists = group;
  plan->num_tiers = tier + 1;
  return success();
}

}  // namespace lance_arrow::engine
