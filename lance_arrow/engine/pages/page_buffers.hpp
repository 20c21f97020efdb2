// Whole buffers of a page, for indices that pages read by themselves.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/plan/fetch.hpp"

namespace lance_arrow::engine {

inline Outcome read_buffer(const PageBuffers& buffers, size_t number, Fetcher* fetcher, std::vector<uint8_t>* out) {
  // Only so many are noted, however many a page has.
  if (number >= std::min(buffers.count, PageBuffers::kMost)) return misuse("a page has another number of buffers");
  const int64_t size = buffers.sizes[number];
  fetcher->count().ranges += 1;
  fetcher->count().bytes_wanted += size;
  // Of a size that lies in the file.
  if (!fetcher->has(buffers.starts[number], size)) return corrupt("a buffer lies outside the file", 0);
  out->resize(static_cast<size_t>(size));
  return size == 0 ? success() : fetcher->fetch(buffers.starts[number], size, out->data());
}

}  // namespace lance_arrow::engine
