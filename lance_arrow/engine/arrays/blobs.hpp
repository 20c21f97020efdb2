// Blobs that lie in the file itself: laid out end to end as Arrow wants them, then read where they belong.
#pragma once

#include "engine/plan/fetch.hpp"

namespace lance_arrow::engine {

struct BlobPlaces {
  const uint8_t* positions;  // 64 bits each
  const uint8_t* sizes;  // 64 bits each
  int64_t stride;  // bytes from one to the next
  const uint8_t* kinds;  // null: all lie in the file; else those of kind 0 do
  const uint8_t* validity;  // null: none is null
  int64_t count;

  uint64_t position(int64_t blob) const { return load<uint64_t>(positions + blob * stride, 0); }
  uint64_t size(int64_t blob) const { return load<uint64_t>(sizes + blob * stride, 0); }
  bool is_valid(int64_t blob) const { return validity == nullptr || (validity[blob / 8] >> (blob % 8) & 1) != 0; }
};

// Rows of position and size.
inline BlobPlaces places_of_rows(const uint8_t* rows, int64_t count) {
  return {rows, rows + sizeof(uint64_t), 2 * sizeof(uint64_t), nullptr, nullptr, count};
}

inline void copy_positions(const BlobPlaces& places, uint8_t* out) {
  for (int64_t blob = 0; blob < places.count; ++blob) store<uint64_t>(out, blob, places.position(blob));
}

template <class Offset>
Outcome lay_out(const BlobPlaces& places, int64_t data_stop, int64_t limit, uint8_t* offsets, int64_t* num_bytes) {
  const auto stop = static_cast<uint64_t>(data_stop);
  int64_t end = 0;
  store<Offset>(offsets, 0, 0);
  for (int64_t blob = 0; blob < places.count; ++blob) {
    if (places.is_valid(blob)) {
      const uint64_t position = places.position(blob), size = places.size(blob);
      if (places.kinds != nullptr && places.kinds[blob] != 0) return misuse("a blob lies in another file", blob);
      if (size > 0 && (position > stop || size > stop - position)) return corrupt("a blob leaves the file", blob);
      if (size > static_cast<uint64_t>(limit - end)) return above_limit();
      end += static_cast<int64_t>(size);
    }
    store<Offset>(offsets, blob + 1, static_cast<Offset>(end));
  }
  *num_bytes = end;
  return success();
}

// Writes (count + 1) offsets and the bytes of all blobs. Each blob is checked before it is added: it must be inside the
// values of the file, which end at data_stop. The sum must be within the limit, which offsets of that width can count.
inline Outcome lay_out_blobs(const BlobPlaces& places, int64_t data_stop, int64_t limit, int offset_bits,
                             uint8_t* offsets, int64_t* num_bytes) {
  if (data_stop < 0 || limit < 0 || (offset_bits == 32 && limit > INT32_MAX))
    return misuse("a limit is negative or above what offsets count");
  return offset_bits == 32 ? lay_out<int32_t>(places, data_stop, limit, offsets, num_bytes)
                           : lay_out<int64_t>(places, data_stop, limit, offsets, num_bytes);
}

template <class Offset>
Outcome read_places(const BlobPlaces& places, const uint8_t* offsets, int64_t first, int64_t last, Fetcher* fetcher,
                    uint8_t* values) {
  for (int64_t blob = first; blob < last;) {
    const auto start = static_cast<int64_t>(load<Offset>(offsets, blob));
    auto size = static_cast<int64_t>(load<Offset>(offsets, blob + 1)) - start;
    const auto position = static_cast<int64_t>(places.position(blob++));
    if (size == 0) continue;
    ++fetcher->count().ranges;
    for (; blob < last; ++blob) {
      const auto more = static_cast<int64_t>(load<Offset>(offsets, blob + 1)) - (start + size);
      if (more > 0 && static_cast<int64_t>(places.position(blob)) != position + size) break;
      fetcher->count().ranges += more > 0;
      size += more;
    }
    fetcher->count().bytes_wanted += size;
    const Outcome outcome = fetcher->fetch(position, size, values + start);
    if (outcome.message != nullptr) return outcome;
  }
  return success();
}

// Reads blobs first .. last, as they were laid out, into `values`, and adds what that cost to `count`; neighbours in
// the file are one request.
inline Outcome read_laid_out(const BlobPlaces& places, int offset_bits, const uint8_t* offsets, int64_t first,
                             int64_t last, const Reader& reader, uint8_t* values, ReadCount* count) {
  Fetcher fetcher(reader);
  const Outcome outcome = offset_bits == 32 ? read_places<int32_t>(places, offsets, first, last, &fetcher, values)
                                            : read_places<int64_t>(places, offsets, first, last, &fetcher, values);
  count->add(fetcher.count());
  return outcome;
}

}  // namespace lance_arrow::engine
