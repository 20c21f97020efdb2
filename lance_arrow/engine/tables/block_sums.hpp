// Checksums of the buffers of a written file, block by block, in the order of the file.
#pragma once

#include <vector>

#include "engine/tables/checksums.hpp"

namespace lance_arrow::engine {

class BlockSums {
 public:
  explicit BlockSums(int64_t block_bytes) : block_bytes(block_bytes) {}

  const int64_t block_bytes;
  std::vector<int64_t> starts, sizes;
  std::vector<uint32_t> columns, kinds, crcs;

  int64_t stop() const { return starts.empty() ? 0 : starts.back() + sizes.back(); }

  // False if the buffer begins before the last one ends. Empty ones are passed over.
  bool cover(uint32_t kind, uint32_t column, int64_t position, const uint8_t* data, int64_t num_bytes) {
    if (num_bytes == 0) return true;
    if (position < stop()) return false;
    const int64_t num_blocks = (num_bytes + block_bytes - 1) / block_bytes;
    const size_t first = crcs.size();
    crcs.resize(first + static_cast<size_t>(num_blocks));
    if (crc32c_blocks(data, num_bytes, block_bytes, crcs.data() + first, num_blocks).message != nullptr) return false;
    starts.push_back(position);
    sizes.push_back(num_bytes);
    columns.push_back(column);
    kinds.push_back(kind);
    return true;
  }
};

}  // namespace lance_arrow::engine
