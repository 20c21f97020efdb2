// Selected rows of opened chunks: without lists a row is a value, with lists the levels tell.
#include "engine/pages/chunked_page_class.hpp"
#include "engine/plan/local_runs.hpp"

namespace lance_arrow::engine {

// The definition levels of a chunk without lists, checked.
Outcome ChunkedPage::flat_levels(const Opened& opened, int64_t chunk, std::vector<uint16_t>* levels) const {
  const int64_t num_values = opened.chunk.num_values;
  if (opened.num_levels != num_values) return corrupt("the numbers of levels and values of a chunk differ", chunk);
  levels->resize(static_cast<size_t>(num_values));
  const Outcome outcome = decode_levels(*form_.def, opened.def, opened.def_size, num_values, levels->data());
  return outcome.message != nullptr ? outcome : check_levels({nullptr, levels->data(), num_values}, 0, form_.max_def);
}

// Lets Python decode the values of all chunks; each knows where its own are.
Outcome ChunkedPage::decode_called(std::vector<Opened>* chunks, DecodedChunks* decoded) const {
  if (chunks->empty()) return success();
  std::vector<LaChunk> table;
  for (const Opened& one : *chunks) table.push_back(one.chunk);
  const LaRefusal refusal = called_->call(called_->decode, table.data(), static_cast<int64_t>(table.size()), decoded);
  if (refusal != nullptr) return refused(refusal);
  int64_t first = 0;
  for (Opened& one : *chunks) {
    one.decoded = decoded;
    one.first_decoded = first;
    first += one.chunk.num_values;
  }
  return success();
}

// Opens all chunks in the ranges, and lets Python decode them.
Outcome ChunkedPage::open_called(const Ranges& ranges, const Fetched& fetched, CalledScratch* calls) const {
  const Outcome outcome = for_each(ranges, fetched, [&](int64_t chunk, const uint8_t* bytes, int64_t size) {
    calls->chunks.emplace_back();
    return open_chunk(chunk, bytes, size, &calls->chunks.back());
  });
  return outcome.message != nullptr ? outcome : decode_called(&calls->chunks, &calls->decoded);
}

// All values of a chunk, of one width: where they lie as they are, or in `decoded`.
Outcome ChunkedPage::whole_chunk(const Opened& opened, int64_t limit, std::vector<uint8_t>* decoded,
                                 const uint8_t** values) const {
  const LaChunk& chunk = opened.chunk;
  const int64_t width = form_.values->bits / 8;
  if (chunk.num_values > limit / width) return above_limit();
  const int64_t num_bytes = chunk.num_values * width;
  if (plain_bytes_ > 0) {
    *values = chunk.buffers[0];
    return chunk.sizes[0] < num_bytes ? corrupt("a chunk is shorter than its values", -1) : success();
  }
  if (opened.decoded != nullptr) {
    *values = opened.decoded->values.data() + opened.first_decoded * width;
    return success();
  }
  if (static_cast<int64_t>(decoded->size()) < num_bytes) decoded->resize(static_cast<size_t>(num_bytes));
  *values = decoded->data();
  const int64_t start = 0;
  const LaRuns all{&start, &chunk.num_values, 1};
  LaValues place{decoded->data(), 0, nullptr, 0, nullptr, nullptr};
  return refused(form_.values->select(form_.values->self, &chunk, &all, &place));
}

Outcome ChunkedPage::open_selected(int64_t start, int64_t stop, const SelectionBitmap& selection, int64_t first_row,
                                   int64_t count, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const {
  const int64_t width = form_.values->bits / 8;
  const Leased<std::vector<uint8_t>> indices;
  LaValues place{nullptr, 0, nullptr, 0, nullptr, nullptr};
  if (expands()) {
    if (count > out->limit / width) return above_limit();
    if (static_cast<int64_t>(indices->size()) < count * width) indices->resize(static_cast<size_t>(count * width));
    place.values = indices->data();
  } else {
    place = out->place(count, form_.values->bits);
    if (place.values == nullptr) return above_limit();
  }
  uint8_t* to = place.values;
  const size_t def_at = out->def.size();
  if (form_.def != nullptr) out->def.resize(def_at + static_cast<size_t>(count));
  auto* def_to = reinterpret_cast<uint8_t*>(out->def.data() + def_at);
  const Leased<std::vector<uint16_t>> levels;
  const Leased<std::vector<uint8_t>> decoded;
  CalledScratch calls;
  size_t call = 0;
  Outcome outcome = called_ == nullptr ? success() : open_called(ranges, fetched, &calls);
  if (outcome.message != nullptr) return outcome;
  outcome = for_each(ranges, fetched, [&](int64_t chunk, const uint8_t* bytes, int64_t size) {
    const Opened* held = called_ == nullptr ? nullptr : &calls.chunks[call++];
    const int64_t first = places_.value_starts[chunk];
    const int64_t begin = std::max(first, start), end = std::min(places_.value_starts[chunk + 1], stop);
    if (begin >= end || selection.count(first_row + begin, first_row + end) == 0) return success();
    Opened own;
    Outcome found = held != nullptr ? success() : open_chunk(chunk, bytes, size, &own);
    if (found.message != nullptr) return found;
    const Opened& opened = held != nullptr ? *held : own;
    if (form_.def != nullptr) {
      found = flat_levels(opened, chunk, &*levels);
      if (found.message != nullptr) return found;
      const auto* from = reinterpret_cast<const uint8_t*>(levels->data() + (begin - first));
      def_to = selection.pick(2, from, first_row + begin, first_row + end, def_to);
    }
    const uint8_t* values = nullptr;
    found = whole_chunk(opened, out->limit, &*decoded, &values);
    if (found.message != nullptr) return found;
    to = selection.pick(width, values + (begin - first) * width, first_row + begin, first_row + end, to);
    return success();
  });
  if (outcome.message != nullptr) return outcome;
  if (to != place.values + count * width) return misuse("rows lie outside the pages");
  const uint16_t* def = form_.def == nullptr ? nullptr : out->def.data() + def_at;
  if (expands()) return out->append_items({indices->data(), def, count}, width, form_.items);
  if (form_.keeps_items) {
    const Outcome settled = form_.items.settle(place.values, width, def, count);
    if (settled.message != nullptr) return settled;
  }
  out->took(count, place);
  return success();
}

Outcome ChunkedPage::open_flat(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const {
  const Leased<LocalRuns> leased;
  const Leased<std::vector<uint16_t>> levels;
  LocalRuns& local = *leased;
  int64_t run = 0;
  CalledScratch calls;
  size_t call = 0;
  const Outcome called = called_ == nullptr ? success() : open_called(ranges, fetched, &calls);
  if (called.message != nullptr) return called;
  return for_each(ranges, fetched, [&](int64_t chunk, const uint8_t* bytes, int64_t size) {
    Opened own;
    Outcome outcome = called_ != nullptr ? success() : open_chunk(chunk, bytes, size, &own);
    if (outcome.message != nullptr) return outcome;
    const Opened& opened = called_ != nullptr ? calls.chunks[call++] : own;
    const int64_t first = places_.value_starts[chunk], num_values = opened.chunk.num_values;
    local.cut(rows.starts, rows.stops, rows.num_runs, first, first + num_values, first, &run);
    const uint16_t* def = nullptr;
    if (form_.def != nullptr) {
      outcome = flat_levels(opened, chunk, &*levels);
      if (outcome.message != nullptr) return outcome;
      const size_t at = out->def.size();
      for (size_t one = 0; one < local.starts.size(); ++one)
        out->def.insert(out->def.end(), levels->begin() + local.starts[one], levels->begin() + local.stops[one]);
      def = out->def.data() + at;
    }
    return append_values(opened, local.view(), local.count, def, out);
  });
}

// What a call of `open_nested` notes of its chunks.
struct ChunkedPage::NestedScratch {
  std::vector<Opened> chunks;
  std::vector<uint16_t> rep, def, visible;
  std::vector<int64_t> level_starts, value_starts, first_rows, num_rows, places, left_before, left_after;
  LocalRuns local;

  void clear() {
    chunks.clear();
    visible.clear();
    for (auto* list : {&level_starts, &value_starts, &first_rows, &num_rows, &left_before, &left_after}) list->clear();
  }

  friend int64_t kept_bytes(const NestedScratch& held) {
    int64_t bytes = lance_arrow::kept_bytes(held.chunks) + kept_bytes(held.local);
    for (const auto* list : {&held.rep, &held.def, &held.visible}) bytes += lance_arrow::kept_bytes(*list);
    for (const auto* list : {&held.level_starts, &held.value_starts, &held.first_rows, &held.num_rows, &held.places,
                             &held.left_before, &held.left_after})
      bytes += lance_arrow::kept_bytes(*list);
    return bytes;
  }
};

Outcome ChunkedPage::open_nested(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched,
                                 LeafPart* out) const {
  const Leased<NestedScratch> scratch;
  scratch->clear();
  NestedScratch& held = *scratch;
  auto& [chunks, rep, def, visible, level_starts, value_starts, first_rows, num_rows, places, left_before, left_after,
         local] = held;
  int64_t num_levels = 0, num_values = 0;
  // Names of a structured binding cannot be captured before clang 16.
  Outcome outcome = for_each(ranges, fetched, [&](int64_t chunk, const uint8_t* bytes, int64_t size) {
    held.chunks.emplace_back();
    const Outcome found = open_chunk(chunk, bytes, size, &held.chunks.back());
    if (found.message != nullptr) return found;
    held.left_before.push_back(places_.rows_left[chunk]);
    held.left_after.push_back(places_.rows_left[chunk + 1]);
    held.level_starts.push_back(num_levels);
    held.value_starts.push_back(num_values);
    held.first_rows.push_back(places_.rows_started[chunk]);
    held.num_rows.push_back(places_.rows_started[chunk + 1] - places_.rows_started[chunk]);
    num_levels += held.chunks.back().num_levels;
    num_values += held.chunks.back().chunk.num_values;
    return success();
  });
  if (outcome.message != nullptr) return outcome;
  level_starts.push_back(num_levels);
  value_starts.push_back(num_values);
  // Packed to 0 bits, the 65,535 levels of a chunk take no bytes.
  const int64_t most_levels = out->limit / static_cast<int64_t>(sizeof(uint16_t));
  if (num_levels > most_levels - static_cast<int64_t>(out->rep.size())) return above_limit();
  rep.resize(static_cast<size_t>(num_levels));
  if (form_.def != nullptr) def.resize(static_cast<size_t>(num_levels));
  for (size_t at = 0; at < chunks.size(); ++at) {
    Opened& one = chunks[at];
    outcome = decode_levels(*form_.rep, one.rep, one.rep_size, one.num_levels, rep.data() + level_starts[at]);
    if (outcome.message == nullptr && form_.def != nullptr)
      outcome = decode_levels(*form_.def, one.def, one.def_size, one.num_levels, def.data() + level_starts[at]);
    if (outcome.message != nullptr) return outcome;
  }
  const LevelStreams streams{rep.data(), form_.def == nullptr ? nullptr : def.data(), num_levels};
  outcome = check_levels(streams, form_.max_rep, form_.max_def);
  if (outcome.message != nullptr) return outcome;
  outcome = check_open_rows(rep.data(), num_levels, form_.max_rep, level_starts.data(), left_before.data(),
                            left_after.data(), static_cast<int64_t>(chunks.size()));
  if (outcome.message != nullptr) return outcome;
  const int64_t count = rows.num_runs;
  places.resize(static_cast<size_t>(4 * count));
  int64_t* found[4] = {places.data(), places.data() + count, places.data() + 2 * count, places.data() + 3 * count};
  outcome = select_rows(streams, form_.max_rep, form_.max_visible,
                        {level_starts.data(), value_starts.data(), first_rows.data(), num_rows.data(),
                         static_cast<int64_t>(chunks.size())},
                        {rows.starts, rows.stops, count}, {found[0], found[1], found[2], found[3]});
  if (outcome.message != nullptr) return outcome;
  const size_t first_def = out->def.size();
  for (int64_t run = 0; run < count; ++run) {
    out->rep.insert(out->rep.end(), rep.begin() + found[0][run], rep.begin() + found[1][run]);
    if (form_.def != nullptr) out->def.insert(out->def.end(), def.begin() + found[0][run], def.begin() + found[1][run]);
  }
  // Levels of the selected values alone, for what must know which slots are null.
  if (form_.has_items && form_.def != nullptr && form_.max_visible > 0)
    for (size_t at = first_def; at < out->def.size(); ++at)
      if (out->def[at] <= form_.max_visible) visible.push_back(out->def[at]);
  DecodedChunks decoded;
  if (called_ != nullptr) outcome = decode_called(&chunks, &decoded);
  if (outcome.message != nullptr) return outcome;
  int64_t run = 0, done_values = 0;
  for (size_t at = 0; at < chunks.size(); ++at) {
    local.cut(found[2], found[3], count, value_starts[at], value_starts[at + 1], value_starts[at], &run);
    if (local.count == 0) continue;
    const uint16_t* levels = visible.empty() ? nullptr : visible.data() + done_values;
    outcome = append_values(chunks[at], local.view(), local.count, levels, out);
    if (outcome.message != nullptr) return outcome;
    done_values += local.count;
  }
  return success();
}

}  // namespace lance_arrow::engine
