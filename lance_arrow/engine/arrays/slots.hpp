// Structure kept as positions to validity bits and list offsets, without levels in between (spec 11).
//
// A layer has slots; some are listed as null (or as valid), and lists that hold items are listed with where those
// begin. Selected are runs of slots, so everything is a merge of runs with ascending positions: a fill, then one step
// for each listed position inside.
#pragma once

#include <algorithm>

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

constexpr int kMaxSlotLayers = 64;

// First place from `from` on whose value is not below `bound`: near ones are found in few steps.
inline int64_t gallop(const int64_t* values, int64_t from, int64_t size, int64_t bound) {
  int64_t step = 1;
  int64_t low = from;
  while (low + step < size && values[low + step] < bound) {
    low += step;
    step *= 2;
  }
  return std::lower_bound(values + low, values + std::min(size, low + step + 1), bound) - values;
}

struct SlotLayer {
  const int64_t* run_starts;
  const int64_t* run_stops;
  int64_t num_runs;
  const int64_t* positions;  // ascending: null slots, or the valid ones
  int64_t num_positions;
  bool lists_nulls;
  const int64_t* list_slots;  // ascending: lists that hold items; null where the layer is no list
  const int64_t* item_starts;  // num_lists + 1: where their items begin
  int64_t num_lists;
  int64_t dimension;  // of fixed-size lists of structs: slots of the layer inside for each slot; else 0
};

struct SlotOut {
  uint8_t* validity;
  int64_t validity_bytes;
  void* offsets;
  int64_t num_offsets;
  int offset_bits;
};

// Appends after the slots that are there; layers are inner-most first.
Outcome unravel_slots(const SlotLayer* layers, int num_layers, const SlotOut* out, int64_t* slots,
                      int64_t* null_counts);

// One word per selected slot: 1 where it is null, as definition levels say it of values.
Outcome null_flags(const SlotLayer& layer, uint16_t* out, int64_t num_out);

}  // namespace lance_arrow::engine
