#include "engine/decode/interleave.hpp"

namespace lance_arrow::engine {

namespace {

// Entries whose places an index tells: borders[i] .. borders[i + 1] must be exactly entry i. Unlike a walk, no entry
// waits for the length of the one before.
template <class Word, class Length>
bool unzip_rows_as(const uint8_t* data, const int64_t* borders, int64_t num_rows, int bits_def, const ZipRows& out) {
  constexpr int64_t kWord = [] {
    if constexpr (std::is_void_v<Word>) return int64_t{0};
    else return static_cast<int64_t>(sizeof(Word));
  }();
  constexpr int64_t kPrefix = sizeof(Length);
  bool agrees = true;
  for (int64_t row = 0; row < num_rows && agrees; ++row) {
    const int64_t start = borders[row], stop = borders[row + 1];
    uint32_t def = 0;
    if (stop - start < kWord) return false;
    if constexpr (kWord != 0) def = read_control<Word>(data + start);
    agrees = def >> bits_def == 0;
    int64_t size = 0, at = start + kWord;
    if (def == 0) {
      if (stop - at < kPrefix) return false;
      const uint64_t length = load<Length>(data + at, 0);
      at += kPrefix;
      size = stop - at;
      agrees &= length == static_cast<uint64_t>(size);
    } else {
      agrees &= at == stop;
    }
    if (out.def != nullptr) out.def[row] = static_cast<uint16_t>(def);
    out.value_starts[row] = at;
    out.value_sizes[row] = size;
  }
  return agrees;
}

}  // namespace

bool unzip_rows(const uint8_t* data, int64_t data_bytes, const int64_t* borders, int64_t num_rows, int bits_def,
                int bits_per_offset, const ZipRows& out) {
  if (borders[0] < 0 || borders[num_rows] > data_bytes) return false;
  for (int64_t row = 0; row < num_rows; ++row)
    if (borders[row] > borders[row + 1]) return false;
  const auto pick = [&]<class Length>() {
    if (bits_def == 0) return unzip_rows_as<void, Length>(data, borders, num_rows, bits_def, out);
    if (bits_def <= 8) return unzip_rows_as<uint8_t, Length>(data, borders, num_rows, bits_def, out);
    return unzip_rows_as<uint16_t, Length>(data, borders, num_rows, bits_def, out);
  };
  return bits_per_offset == 32 ? pick.template operator()<uint32_t>() : pick.template operator()<uint64_t>();
}

namespace {

template <class Word>
Outcome read_index(const uint8_t* index, int64_t num_offsets, uint64_t stream_bytes, int64_t* out) {
  uint64_t before = 0;
  for (int64_t row = 0; row < num_offsets; ++row) {
    const uint64_t offset = load<Word>(index, row);
    if (offset < before) return corrupt("the row index descends", row);
    if (row == 0 && offset != 0) return corrupt("the row index does not begin at 0", row);
    if (offset > stream_bytes) return corrupt("the row index leaves the stream", row);
    out[row] = static_cast<int64_t>(offset);
    before = offset;
  }
  return before == stream_bytes ? success() : corrupt("the row index does not end with the stream", num_offsets - 1);
}

}  // namespace

Outcome read_row_index(const uint8_t* index, int64_t index_bytes, int64_t num_rows, int64_t stream_bytes, int64_t* out,
                       int64_t num_out) {
  if (num_rows < 0 || stream_bytes < 0) return misuse("negative number of rows or bytes");
  if (num_out - 1 != num_rows) return misuse("the output has another length than the rows plus one");
  const int64_t width = index_bytes / num_out;
  const auto limit = static_cast<uint64_t>(stream_bytes);
  if (width * num_out == index_bytes) {
    if (width == 1) return read_index<uint8_t>(index, num_out, limit, out);
    if (width == 2) return read_index<uint16_t>(index, num_out, limit, out);
    if (width == 4) return read_index<uint32_t>(index, num_out, limit, out);
    if (width == 8) return read_index<uint64_t>(index, num_out, limit, out);
  }
  return corrupt("the row index does not have 1, 2, 4 or 8 bytes for each row and the end", -1);
}

}  // namespace lance_arrow::engine
