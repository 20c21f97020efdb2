// Blobs that lie in the file itself: laid out end to end as Arrow wants them, then read where they belong.
#pragma once

#include "native_fetch.hpp"

namespace lance_arrow::kernels::native {

struct BlobPlaces {
  const uint64_t* positions;
  const uint64_t* sizes;
  const uint8_t* kinds;     // null: all lie in the file; else those of kind 0 do
  const uint8_t* validity;  // null: none is null
  int64_t count;
};

// Writes (count + 1) offsets of `Offset` and tells the bytes of all blobs. Nothing is added before it is known to be
// within the values of the file, which end at data_stop, and within the limit.
template <class Offset>
Outcome lay_out_blobs(const BlobPlaces& places, int64_t data_stop, int64_t limit, uint8_t* offsets, int64_t* num_bytes) {
  const auto stop = static_cast<uint64_t>(data_stop);
  int64_t end = 0;
  store<Offset>(offsets, 0, 0);
  for (int64_t blob = 0; blob < places.count; ++blob) {
    if (places.validity == nullptr || (places.validity[blob / 8] >> (blob % 8) & 1) != 0) {
      const uint64_t position = places.positions[blob], size = places.sizes[blob];
      if (places.kinds != nullptr && places.kinds[blob] != 0) return misuse("a blob lies in another file", blob);
      if (size > 0 && (position > stop || size > stop - position)) return corrupt("a blob leaves the file", blob);
      if (size > static_cast<uint64_t>(limit - end)) return misuse("the blobs are above their limit of bytes", blob);
      end += static_cast<int64_t>(size);
    }
    store<Offset>(offsets, blob + 1, static_cast<Offset>(end));
  }
  *num_bytes = end;
  return success();
}

// Reads blobs first .. last, laid out by `offsets`, into `values`; neighbours in the file are one request.
template <class Offset>
Outcome read_laid_out(const BlobPlaces& places, const uint8_t* offsets, int64_t first, int64_t last, Fetcher* fetcher,
                      uint8_t* values) {
  for (int64_t blob = first; blob < last;) {
    const auto start = static_cast<int64_t>(load<Offset>(offsets, blob));
    auto size = static_cast<int64_t>(load<Offset>(offsets, blob + 1)) - start;
    const auto position = static_cast<int64_t>(places.positions[blob++]);
    if (size == 0) continue;
    ++fetcher->count().ranges;
    for (; blob < last; ++blob) {
      const auto more = static_cast<int64_t>(load<Offset>(offsets, blob + 1)) - (start + size);
      if (more > 0 && static_cast<int64_t>(places.positions[blob]) != position + size) break;
      fetcher->count().ranges += more > 0;
      size += more;
    }
    fetcher->count().bytes_wanted += size;
    const Outcome outcome = fetcher->fetch(position, size, values + start);
    if (outcome.message != nullptr) return outcome;
  }
  return success();
}

}  // namespace lance_arrow::kernels::native
