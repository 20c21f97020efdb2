// Repetition and definition levels: any levels for any plan of layers, selections of rows, and the repetition index.
//
// Promises: what can be measured can be unravelled into exactly the measured slots, and lists count their items.
#include "engine/arrays/unravel.hpp"
#include "engine/plan/select_rows.hpp"
#include "input.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

struct Levels {
  std::vector<uint16_t> rep, def;
  bool has_rep, has_def;
  int64_t num_entries;

  explicit Levels(fuzz::Input& input)
      : has_rep(input.flag()), has_def(input.flag()), num_entries(input.number(0, 400)) {
    // Small levels, as streams have them; one in 64 is any level.
    const auto one = [&] {
      const int64_t found = input.number(0, 255);
      return static_cast<uint16_t>(found < 252 ? found % 6 : input.number(0, 0xFFFF));
    };
    for (int64_t entry = 0; entry < num_entries && has_rep; ++entry) rep.push_back(one());
    for (int64_t entry = 0; entry < num_entries && has_def; ++entry) def.push_back(one());
  }

  LevelStreams streams() const { return {has_rep ? rep.data() : nullptr, has_def ? def.data() : nullptr, num_entries}; }
};

void unravel_layers(fuzz::Input& input) {
  const int64_t num_layers = input.number(1, 8);
  std::vector<uint8_t> layers;
  std::vector<int64_t> dimensions;
  for (int64_t layer = 0; layer < num_layers; ++layer) layers.push_back(static_cast<uint8_t>(input.number(0, 7)));
  if (input.flag())
    for (int64_t layer = 0; layer < num_layers; ++layer) dimensions.push_back(input.number(-1, 6));
  LayerPlan plan;
  const auto num_dimensions = static_cast<int64_t>(dimensions.size());
  if (plan_layers(layers.data(), num_layers, dimensions.data(), num_dimensions, &plan).message != nullptr) return;
  const Levels levels(input);
  std::vector<int64_t> measured(static_cast<size_t>(num_layers));
  if (measure_layers(levels.streams(), plan, measured.data()).message != nullptr) return;

  const int64_t first_slot = input.number(0, 9);
  std::vector<fuzz::Buffer> bitmaps, offsets;
  std::vector<LayerOut> out;
  std::vector<int64_t> slots(static_cast<size_t>(num_layers), first_slot), nulls(static_cast<size_t>(num_layers));
  const int offset_bits = input.flag() ? 64 : 32;
  for (size_t layer = 0; layer < slots.size(); ++layer) {
    bitmaps.emplace_back((first_slot + measured[layer] + 7) / 8);
    offsets.emplace_back((first_slot + measured[layer] + 1) * (offset_bits / 8));
    const bool is_list = plan.rules[layer].is_list;
    out.push_back({bitmaps[layer].data(), bitmaps[layer].size, is_list ? offsets[layer].data() : nullptr,
                   is_list ? first_slot + measured[layer] + 1 : 0, is_list ? offset_bits : 0});
  }
  fuzz::require(unravel(levels.streams(), plan, out.data(), slots.data(), nulls.data()).message == nullptr,
                "what can be measured can be unravelled");
  for (size_t layer = 0; layer < slots.size(); ++layer) {
    fuzz::require(slots[layer] == first_slot + measured[layer], "layers have as many slots as measured");
    int64_t valid = 0;
    for (int64_t slot = first_slot; slot < slots[layer]; ++slot)
      valid += bitmaps[layer].data()[slot / 8] >> (slot % 8) & 1;
    fuzz::require(nulls[layer] == measured[layer] - valid, "nulls are the slots that are not valid");
    if (!plan.rules[layer].is_list) continue;
    int64_t before = first_slot;
    for (int64_t slot = first_slot; slot <= slots[layer]; ++slot) {
      const int64_t found =
          offset_bits == 64 ? load<int64_t>(offsets[layer].data(), slot) : load<int32_t>(offsets[layer].data(), slot);
      fuzz::require(found >= before, "offsets ascend");
      before = found;
    }
    fuzz::require(before == slots[layer - 1], "the last list ends with the last item");
  }
}

void select(fuzz::Input& input) {
  const int max_rep = static_cast<int>(input.number(-1, 6)), max_visible = static_cast<int>(input.number(-1, 6));
  const int64_t num_chunks = input.number(1, 6);
  const auto numbers = [&](int64_t count, int64_t most) {
    std::vector<int64_t> found;
    for (int64_t one = 0; one < count; ++one) found.push_back(input.number(-1, most));
    return found;
  };
  std::vector<int64_t> level_starts = numbers(num_chunks + 1, 400), value_starts(level_starts.size());
  std::vector<int64_t> first_rows(static_cast<size_t>(num_chunks)), num_rows(first_rows);
  const std::vector<int64_t> before = numbers(num_chunks, 12), after = numbers(num_chunks, 12);
  const bool is_honest = input.flag();
  fuzz::Runs runs(input, 400);
  const Levels levels(input);
  if (!levels.has_rep) return;
  const LevelStreams streams = levels.streams();
  if (is_honest) {
    // Chunks that lie back to back and say what they hold: only then does a selection go on to its end.
    level_starts.front() = 0;
    level_starts.back() = levels.num_entries;
    for (int64_t& start : level_starts) start = std::clamp<int64_t>(start, 0, levels.num_entries);
    std::sort(level_starts.begin(), level_starts.end());
    int64_t row = 0, value = 0;
    for (size_t chunk = 0; chunk < first_rows.size() && max_rep > 0; ++chunk) {
      first_rows[chunk] = row;
      value_starts[chunk] = value;
      for (int64_t entry = level_starts[chunk]; entry < level_starts[chunk + 1]; ++entry) {
        row += levels.rep[static_cast<size_t>(entry)] == max_rep;
        value += !levels.has_def || levels.def[static_cast<size_t>(entry)] <= max_visible;
      }
      num_rows[chunk] = row - first_rows[chunk];
    }
    value_starts.back() = value;
  } else {
    first_rows = before;
    num_rows = after;
  }
  const auto count = static_cast<size_t>(runs.count());
  std::vector<int64_t> places[4] = {std::vector<int64_t>(count), std::vector<int64_t>(count),
                                    std::vector<int64_t>(count), std::vector<int64_t>(count)};
  const Outcome outcome =
      select_rows(streams, max_rep, max_visible,
                  {level_starts.data(), value_starts.data(), first_rows.data(), num_rows.data(), num_chunks},
                  {runs.starts.data(), runs.stops.data(), runs.count()},
                  {places[0].data(), places[1].data(), places[2].data(), places[3].data()});
  for (size_t run = 0; run < count && outcome.message == nullptr; ++run) {
    fuzz::require(places[0][run] >= 0 && places[0][run] < places[1][run] && places[1][run] <= levels.num_entries,
                  "a run of rows has level entries");
    fuzz::require(places[2][run] <= places[3][run], "a run of rows has values in order");
  }
  check_open_rows(streams.rep, streams.num_entries, max_rep, level_starts.data(), before.data(), after.data(),
                  num_chunks);
  check_levels(streams, max_rep, max_visible);
  int64_t num_found = 0, num_values = 0;
  if (max_rep > 0) count_rows_and_values(streams, max_rep, max_visible, &num_found, &num_values);
}

void make_bitmap(fuzz::Input& input) {
  const int null_level = static_cast<int>(input.number(-1, 8));
  const int64_t bit_offset = input.number(-1, 70);
  fuzz::Buffer bits(input.number(0, 64));
  const Levels levels(input);
  if (!levels.has_def) return;
  int64_t nulls = 0;
  validity_from_levels(levels.def.data(), levels.num_entries, null_level, bits.data(), bits.size, bit_offset, &nulls);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  switch (input.number(0, 3)) {
    case 0: select(input); break;
    case 1: make_bitmap(input); break;
    default: unravel_layers(input);
  }
  return 0;
}
