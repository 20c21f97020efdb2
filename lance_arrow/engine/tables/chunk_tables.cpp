#include "engine/tables/chunk_tables.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kMaxChunkValues = 1 << 15;
constexpr uint64_t kMaxChunkEntries = 0xFFFF;  // 16 bits count them, and no row finishes without one

template <class Word>
Outcome parse_words(const uint8_t* words, int64_t num_chunks, int64_t num_values, int64_t data_bytes, int64_t* starts,
                    int64_t* value_starts) {
  int64_t position = 0;
  int64_t value = 0;
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    const uint64_t word = load<Word>(words, chunk);
    const bool last = chunk + 1 == num_chunks;
    const int log_values = static_cast<int>(word & 15);
    starts[chunk] = position;
    value_starts[chunk] = value;
    position += (static_cast<int64_t>(word >> 4) + 1) * 8;
    if (!last && log_values == 0) return corrupt("a chunk that is not the last has no number of values", chunk);
    const int64_t values = last ? num_values - value : int64_t{1} << log_values;
    if (position > data_bytes) return corrupt("the chunks are larger than their buffer", chunk);
    if (values < 0 || value + values > num_values) return corrupt("the chunks hold more values than the page", chunk);
    if (last && log_values != 0 && values != int64_t{1} << log_values)
      return corrupt("the last chunk does not have the remaining values of the page", chunk);
    if (values > kMaxChunkValues) return corrupt("the last chunk would hold more values than a chunk can", chunk);
    value += values;
  }
  if (position != data_bytes) return corrupt("the chunks are smaller than their buffer", num_chunks - 1);
  starts[num_chunks] = position;
  value_starts[num_chunks] = value;
  return success();
}

}  // namespace

Outcome parse_chunk_words(const uint8_t* words, int64_t words_bytes, bool large, int64_t num_values, int64_t data_bytes,
                          int64_t* starts, int64_t num_starts, int64_t* value_starts, int64_t num_value_starts) {
  const int64_t width = large ? 4 : 2;
  if (num_values < 0 || data_bytes < 0) return misuse("negative number of values or bytes");
  if (words_bytes % width != 0) return corrupt("the chunk table is not a whole number of words", -1);
  const int64_t num_chunks = words_bytes / width;
  if (num_chunks == 0) return corrupt("the chunk table is empty", -1);
  if (num_starts != num_chunks + 1 || num_value_starts != num_chunks + 1)
    return misuse("the outputs have another length than the chunk table plus one");
  return large ? parse_words<uint32_t>(words, num_chunks, num_values, data_bytes, starts, value_starts)
               : parse_words<uint16_t>(words, num_chunks, num_values, data_bytes, starts, value_starts);
}

namespace {

// Walks the parts of one chunk; `room` is what is left of it after `position`.
struct ChunkCursor {
  int64_t start;
  int64_t size;
  int64_t position;

  bool take(int64_t bytes, int64_t* out_start, int64_t* out_size) {
    if (bytes > size - position) return false;
    *out_start = start + position;
    *out_size = bytes;
    position += (bytes + 7) & ~int64_t{7};
    return position <= size;
  }
};

}  // namespace

Outcome parse_row_index(const uint8_t* index, int64_t index_bytes, int64_t num_chunks, int64_t num_rows,
                        const RowsOut& out) {
  if (index_bytes / 16 != num_chunks || index_bytes % 16 != 0)
    return corrupt("a repetition index has the wrong size", -1);
  int64_t finished = 0, left = 0;
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    out.finished[chunk] = finished;
    out.left[chunk] = left;
    out.started[chunk] = finished + (left > 0 ? 1 : 0);
    const auto rows = load<uint64_t>(index, 2 * chunk), entries = load<uint64_t>(index, 2 * chunk + 1);
    if (rows > kMaxChunkEntries || entries > kMaxChunkEntries)
      return corrupt("the repetition index counts more than the entries a chunk can have", chunk);
    if (rows == 0 && entries == 0) return corrupt("by the repetition index, a chunk has no level entry", chunk);
    finished += static_cast<int64_t>(rows);
    left = static_cast<int64_t>(entries);
  }
  if (finished != num_rows) return corrupt("the numbers of rows of the repetition index and the page differ", -1);
  if (left != 0) return corrupt("the repetition index leaves the last row of the page open", -1);
  out.finished[num_chunks] = finished;
  out.left[num_chunks] = 0;
  out.started[num_chunks] = finished;
  return success();
}

Outcome parse_header(const uint8_t* data, int64_t start, int64_t size, int64_t chunk, int64_t num_chunks,
                     const HeaderForm& form, const HeaderOut& out) {
  const int64_t width = form.large ? 4 : 2;
  const int64_t fixed = 2 + (form.has_rep ? 2 : 0) + (form.has_def ? 2 : 0);
  if (size < fixed || form.num_buffers > (size - fixed) / width)
    return corrupt("a chunk is shorter than its header", chunk);
  const uint8_t* const bytes = data + start;
  const uint8_t* const buffer_sizes = bytes + fixed;
  ChunkCursor cursor{start, size, (fixed + form.num_buffers * width + 7) & ~int64_t{7}};
  if (cursor.position > size) return corrupt("a chunk is shorter than its header", chunk);
  const int64_t num_levels = load<uint16_t>(bytes, 0);
  if ((num_levels != 0) != (form.has_rep || form.has_def))
    return corrupt("a chunk has levels without a stream, or a stream without levels", chunk);
  out.num_levels[chunk] = num_levels;
  int64_t field = 1;
  if (form.has_rep && !cursor.take(load<uint16_t>(bytes, field++), &out.rep_starts[chunk], &out.rep_sizes[chunk]))
    return corrupt("a chunk's repetition levels leave the chunk", chunk);
  if (form.has_def && !cursor.take(load<uint16_t>(bytes, field++), &out.def_starts[chunk], &out.def_sizes[chunk]))
    return corrupt("a chunk's definition levels leave the chunk", chunk);
  for (int64_t buffer = 0; buffer < form.num_buffers; ++buffer) {
    const int64_t wanted = form.large ? load<uint32_t>(buffer_sizes, buffer) : load<uint16_t>(buffer_sizes, buffer);
    const int64_t place = buffer * num_chunks + chunk;
    if (!cursor.take(wanted, &out.starts[place], &out.sizes[place]))
      return corrupt("a value buffer leaves its chunk", chunk);
  }
  if (cursor.position != size) return corrupt("a chunk is longer than its buffers", chunk);
  return success();
}

Outcome parse_chunk_headers(const uint8_t* data, int64_t data_bytes, const int64_t* chunk_starts,
                            const int64_t* chunk_stops, int64_t num_chunks, const HeaderForm& form,
                            const HeaderOut& out) {
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    const int64_t start = chunk_starts[chunk];
    const int64_t stop = chunk_stops[chunk];
    if (start < 0 || stop < start || stop > data_bytes) return misuse("a chunk lies outside the data", chunk);
    const Outcome outcome = parse_header(data, start, stop - start, chunk, num_chunks, form, out);
    if (outcome.message != nullptr) return outcome;
  }
  return success();
}

}  // namespace lance_arrow::engine
