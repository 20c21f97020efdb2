#include "engine/arrays/slots.hpp"

#include <algorithm>
#include <limits>

#include "engine/common/bitmaps.hpp"

namespace lance_arrow::engine {

namespace {

// Calls visit(run, offset of the run's first slot in the selection, first and last place of listed values inside).
template <class Visit>
inline Outcome for_each_slot_run(const SlotLayer& layer, const int64_t* listed, int64_t num_listed, int64_t room,
                                 Visit&& visit) {
  int64_t done = 0;
  int64_t place = 0;
  int64_t before = 0;
  for (int64_t run = 0; run < layer.num_runs; ++run) {
    const int64_t start = layer.run_starts[run];
    const int64_t stop = layer.run_stops[run];
    if (start < before || stop < start) return misuse("the runs do not ascend", run);
    if (stop - start > room - done) return misuse("there is no room for all slots", run);
    place = gallop(listed, place, num_listed, start);
    const int64_t last = gallop(listed, place, num_listed, stop);
    const Outcome outcome = visit(run, done, place, last);
    if (outcome.message != nullptr) return outcome;
    place = last;
    before = stop;
    done += stop - start;
  }
  return success();
}

Outcome slot_validity(const SlotLayer& layer, const SlotOut& out, int64_t first_bit, int64_t* null_count) {
  const bool fills = out.validity != nullptr;
  const int64_t room = fills ? 8 * out.validity_bytes - first_bit : std::numeric_limits<int64_t>::max();
  if (room < 0) return misuse("a layer's bitmap is too small");
  return for_each_slot_run(
      layer, layer.positions, layer.num_positions, room, [&](int64_t run, int64_t done, int64_t place, int64_t last) {
        const int64_t start = layer.run_starts[run];
        const int64_t size = layer.run_stops[run] - start;
        const int64_t nulls = layer.lists_nulls ? last - place : size - (last - place);
        *null_count += nulls;
        if (!fills) return nulls == 0 ? success() : misuse("a layer has nulls but no bitmap", run);
        const int64_t bit = first_bit + done;
        const Outcome filled = fill_bits(out.validity, out.validity_bytes, bit, size, layer.lists_nulls);
        if (filled.message != nullptr) return filled;
        for (; place < last; ++place) {
          const int64_t within = layer.positions[place] - start;
          if (within < 0 || within >= size) return misuse("positions do not ascend", place);
          const auto one = static_cast<uint8_t>(1u << ((bit + within) & 7));
          uint8_t* const byte = out.validity + ((bit + within) >> 3);
          *byte = static_cast<uint8_t>(layer.lists_nulls ? *byte & ~one : *byte | one);
        }
        return success();
      });
}

// Writes an offset per slot, and the end after the last; `first_item` items lie before.
template <class Offset>
inline Outcome slot_offsets(const SlotLayer& layer, Offset* out, int64_t room, int64_t first_item) {
  if (room < 1) return misuse("a list's offsets are too few");
  int64_t item = first_item;
  int64_t total = 0;
  const Outcome outcome = for_each_slot_run(
      layer, layer.list_slots, layer.num_lists, room - 1, [&](int64_t run, int64_t done, int64_t place, int64_t last) {
        const int64_t* const starts = layer.item_starts;
        const int64_t stop = layer.run_stops[run];
        int64_t slot = layer.run_starts[run];
        const int64_t origin = starts[place];
        const int64_t items = starts[last] - origin;
        if (items < 0 || items > static_cast<int64_t>(std::numeric_limits<Offset>::max()) - item)
          return misuse("a list has more items than its offsets can count", run);
        Offset* to = out + done;
        if (last - place == stop - slot) {  // no empty list among them
          for (; place < last; ++place) *to++ = static_cast<Offset>(item + (starts[place] - origin));
        } else {
          for (; place < last; ++place) {
            const int64_t holds = layer.list_slots[place];
            if (holds < slot || holds >= stop) return misuse("positions do not ascend", place);
            const auto at = static_cast<Offset>(item + (starts[place] - origin));
            for (; slot <= holds; ++slot) *to++ = at;
          }
          for (; slot < stop; ++slot) *to++ = static_cast<Offset>(item + items);
        }
        item += items;
        total = done + (stop - layer.run_starts[run]);
        return success();
      });
  if (outcome.message == nullptr) out[total] = static_cast<Offset>(item);
  return outcome;
}

int64_t selected_slots(const SlotLayer& layer) {
  int64_t total = 0;
  for (int64_t run = 0; run < layer.num_runs; ++run) total += layer.run_stops[run] - layer.run_starts[run];
  return total;
}

}  // namespace

Outcome unravel_slots(const SlotLayer* layers, int num_layers, const SlotOut* out, int64_t* slots,
                      int64_t* null_counts) {
  // Outer layers first: a list's offsets begin at the slots that the layer inside had before.
  for (int layer = num_layers - 1; layer >= 0; --layer) {
    const SlotLayer& one = layers[layer];
    const int64_t slot = slots[layer];
    if (slot < 0) return misuse("a layer begins at a negative slot", layer);
    Outcome outcome = slot_validity(one, out[layer], slot, &null_counts[layer]);
    if (outcome.message != nullptr) return outcome;
    if (out[layer].offsets != nullptr) {
      if (layer == 0 || one.item_starts == nullptr)
        return misuse("offsets are requested of a layer that is not a list", layer);
      const int64_t room = out[layer].num_offsets - slot;
      if (room < 1) return misuse("a list's offsets are too few", layer);
      outcome = out[layer].offset_bits == 64
                    ? slot_offsets(one, static_cast<int64_t*>(out[layer].offsets) + slot, room, slots[layer - 1])
                    : slot_offsets(one, static_cast<int32_t*>(out[layer].offsets) + slot, room, slots[layer - 1]);
      if (outcome.message != nullptr) return outcome;
    }
    slots[layer] += selected_slots(one);
  }
  return success();
}

Outcome null_flags(const SlotLayer& layer, uint16_t* out, int64_t num_out) {
  const uint16_t rest = layer.lists_nulls ? 0 : 1;
  std::fill(out, out + num_out, rest);
  return for_each_slot_run(layer, layer.positions, layer.num_positions, num_out,
                           [&](int64_t run, int64_t done, int64_t place, int64_t last) {
                             const int64_t start = layer.run_starts[run];
                             const int64_t size = layer.run_stops[run] - start;
                             for (; place < last; ++place) {
                               const int64_t within = layer.positions[place] - start;
                               if (within < 0 || within >= size) return misuse("positions do not ascend", place);
                               out[done + within] = static_cast<uint16_t>(1 - rest);
                             }
                             return success();
                           });
}

}  // namespace lance_arrow::engine
