#include "engine/encode/chunk_writing.hpp"

#include <algorithm>
#include <bit>

namespace lance_arrow::engine {

Outcome cut_levels(const LevelCut& levels, const int64_t* value_starts, int64_t num_chunks, int64_t* level_starts,
                   int64_t* index) {
  if (num_chunks < 1) return misuse("there are no chunks");
  if (levels.max_visible < 0 || levels.max_visible > 0xFFFF) return misuse("levels have 16 bits");
  int64_t entry = 0;
  level_starts[0] = 0;
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    const bool last = chunk + 1 == num_chunks;
    int64_t wanted = value_starts[chunk + 1] - value_starts[chunk];
    if (wanted < 0) return misuse("value_starts descend", chunk);
    const int64_t first = entry;
    if (levels.def == nullptr) {
      entry += last ? levels.num_entries - entry : std::min(wanted, levels.num_entries - entry);
      wanted -= entry - first;
    } else {
      const uint16_t most = static_cast<uint16_t>(levels.max_visible);
      while (entry < levels.num_entries && (last || wanted > 0)) wanted -= levels.def[entry++] <= most;
    }
    if (wanted < 0) return misuse("there are more visible entries than values", chunk);
    if (wanted > 0) return misuse("there are fewer visible entries than values", chunk);
    // A row ends where the next one begins, or with the page.
    const bool ends_page = entry == levels.num_entries;
    int64_t rows = ends_page && entry > first;
    for (int64_t next = first + 1; next < entry + !ends_page; ++next) rows += levels.rep[next] == levels.max_rep;
    int64_t row_end = entry;
    if (!ends_page)
      while (row_end > first && levels.rep[row_end] != levels.max_rep) --row_end;
    level_starts[chunk + 1] = entry;
    index[2 * chunk] = rows;
    index[2 * chunk + 1] = entry - row_end;
  }
  return success();
}

namespace {

constexpr uint8_t kChunkPadding = 0xFE;

void pad_to(uint8_t* out, int64_t from, int64_t to) {
  if (to > from) std::memset(out + from, kChunkPadding, static_cast<size_t>(to - from));
}

// The size fields of a chunk's header; -1 where one does not hold its size.
int64_t write_header(const ChunkWriting& page, int64_t chunk, uint8_t* out) {
  int64_t at = 2;
  if (page.num_levels[chunk] < 0 || page.num_levels[chunk] > 0xFFFF) return -1;
  store<uint16_t>(out, 0, static_cast<uint16_t>(page.num_levels[chunk]));
  for (const ChunkPart& part : page.levels) {
    if (part.sizes[chunk] < 0 || part.sizes[chunk] > 0xFFFF) return -1;
    const auto size = static_cast<uint16_t>(part.sizes[chunk]);
    std::memcpy(out + at, &size, sizeof(size));
    at += 2;
  }
  for (const ChunkPart& part : page.values) {
    if (part.sizes[chunk] < 0 || part.sizes[chunk] > (page.large ? 0x7FFFFFFF : 0xFFFF)) return -1;
    const auto size = static_cast<uint32_t>(part.sizes[chunk]);
    std::memcpy(out + at, &size, page.large ? 4 : 2);
    at += page.large ? 4 : 2;
  }
  return at;
}

// log2 of the values of a chunk; -1 where they are no power of two of at least 2 and at most 2^15.
int log_of_values(int64_t count) {
  if (count < 2 || count > (1 << 15) || (count & (count - 1)) != 0) return -1;
  return std::countr_zero(static_cast<uint64_t>(count));
}

}  // namespace

Outcome write_chunks(ChunkWriting& page, uint8_t* words, int64_t words_bytes, uint8_t* out, int64_t out_bytes) {
  const int64_t word_bytes = page.large ? 4 : 2;
  const int64_t max_units = int64_t{1} << (page.large ? 28 : 12);
  if (words_bytes != page.num_chunks * word_bytes) return misuse("the chunk table has another length than the chunks");
  const auto num_levels_parts = static_cast<int64_t>(page.levels.size());
  const int64_t header = 2 + 2 * num_levels_parts + (page.large ? 4 : 2) * static_cast<int64_t>(page.values.size());
  int64_t start = 0;
  for (int64_t chunk = 0; chunk < page.num_chunks; ++chunk) {
    if (padded(header) > out_bytes - start) return misuse("the output is too small for the chunks", chunk);
    const int64_t end = write_header(page, chunk, out + start);
    if (end < 0) return misuse("a part of a chunk is too large for its header", chunk);
    int64_t at = start + padded(end);
    pad_to(out, start + end, at);
    const auto put = [&](ChunkPart& part) {
      const int64_t size = part.sizes[chunk];
      if (size > part.num_bytes - part.done || padded(size) > out_bytes - at) return false;
      copy_bytes(out + at, part.bytes + part.done, size);
      pad_to(out, at + size, at + padded(size));
      part.done += size;
      at += padded(size);
      return true;
    };
    for (ChunkPart& part : page.levels)
      if (!put(part)) return misuse("a chunk's levels leave their buffer or the output", chunk);
    for (ChunkPart& part : page.values)
      if (!put(part)) return misuse("a chunk's values leave their buffer or the output", chunk);
    const bool last = chunk + 1 == page.num_chunks;
    const int log_values = last ? 0 : log_of_values(page.value_counts[chunk]);
    if (log_values < 0) return misuse("the number of values of a chunk before the last is not a power of two", chunk);
    const int64_t units = (at - start) / 8;
    if (units > max_units) return misuse("a chunk is too large for its word", chunk);
    const auto word = static_cast<uint32_t>((units - 1) << 4 | log_values);
    std::memcpy(words + chunk * word_bytes, &word, static_cast<size_t>(word_bytes));
    start = at;
  }
  if (start != out_bytes) return misuse("the output is too large for the chunks");
  return success();
}

}  // namespace lance_arrow::engine
