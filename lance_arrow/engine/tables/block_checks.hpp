// State of the blocks of a file (checked or not), and the comparison with their checksums; shared by reader threads.
//
// Buffers are disjoint and ascending; each is cut into blocks from its own start, the last one short. Bytes between
// buffers have no checksum and are never read. A block is marked after its check succeeded, so two threads may check
// the same block. No thread returns bytes of an unchecked block.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "engine/tables/checksums.hpp"

namespace lance_arrow::engine {

class BlockChecks {
 public:
  BlockChecks(const int64_t* starts, const int64_t* sizes, int64_t num_buffers, const uint32_t* crcs,
              int64_t num_blocks, int64_t block_bytes)
      : starts_(starts, starts + num_buffers),
        sizes_(sizes, sizes + num_buffers),
        crcs_(crcs, crcs + num_blocks),
        block_bytes_(block_bytes),
        checked_(new std::atomic<uint8_t>[static_cast<size_t>(num_blocks) + 1]),
        num_pending_(num_blocks) {
    first_blocks_.reserve(static_cast<size_t>(num_buffers));
    int64_t first = 0;
    for (const int64_t size : sizes_) {
      first_blocks_.push_back(first);
      first += blocks_in(size, block_bytes);
    }
    for (int64_t block = 0; block <= num_blocks; ++block) checked_[block].store(0, std::memory_order_relaxed);
  }

  static int64_t blocks_in(int64_t size, int64_t block_bytes) { return size / block_bytes + (size % block_bytes != 0); }

  // What the constructor relies on.
  static Outcome validate(const int64_t* starts, const int64_t* sizes, int64_t num_buffers, int64_t num_blocks,
                          int64_t block_bytes) {
    if (block_bytes < 1) return misuse("blocks must have at least one byte");
    int64_t stop = 0, blocks = 0;
    for (int64_t buffer = 0; buffer < num_buffers; ++buffer) {
      if (starts[buffer] < stop || sizes[buffer] < 1) return misuse("buffers overlap, or are empty", buffer);
      if (sizes[buffer] > INT64_MAX - starts[buffer]) return misuse("a buffer ends beyond 2**63", buffer);
      stop = starts[buffer] + sizes[buffer];
      blocks += blocks_in(sizes[buffer], block_bytes);
    }
    return blocks == num_blocks ? success() : misuse("there must be one checksum per block");
  }

  int64_t num_pending() const { return num_pending_.load(std::memory_order_relaxed); }

  // Widens a range to the borders of the unchecked blocks it begins and ends in; false when nothing in it is unchecked.
  bool widen(int64_t* start, int64_t* stop) const {
    bool pending = false;
    int64_t first = *start, last = *stop;
    each(*start, *stop, [&](int64_t block, int64_t block_start, int64_t block_stop) {
      if (checked_[block].load(std::memory_order_relaxed) == 0) {
        pending = true;
        first = std::min(first, block_start);
        last = std::max(last, block_stop);
      }
      return true;
    });
    *start = first;
    *stop = last;
    return pending;
  }

  // Checks the unchecked blocks that lie whole in [start, stop), whose bytes are given; the first wrong one, or -1.
  int64_t check(int64_t start, int64_t stop, const uint8_t* bytes) {
    int64_t wrong = -1;
    each(start, stop, [&](int64_t block, int64_t block_start, int64_t block_stop) {
      if (block_start < start || block_stop > stop || checked_[block].load(std::memory_order_relaxed) != 0) return true;
      if (crc32c(0, bytes + (block_start - start), block_stop - block_start) != crcs_[static_cast<size_t>(block)]) {
        wrong = block;
        return false;
      }
      if (checked_[block].exchange(1, std::memory_order_relaxed) == 0)
        num_pending_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    });
    return wrong;
  }

  // Bytes of the file that a block has.
  void place(int64_t block, int64_t* start, int64_t* stop) const {
    const auto after = std::upper_bound(first_blocks_.begin(), first_blocks_.end(), block);
    const auto buffer = static_cast<size_t>(after - first_blocks_.begin()) - 1;
    *start = starts_[buffer] + (block - first_blocks_[buffer]) * block_bytes_;
    *stop = std::min(starts_[buffer] + sizes_[buffer], *start + block_bytes_);
  }

 private:
  // Calls visit(block, start, stop) for each block with bytes of the range, ascending, until it returns false.
  template <class Visit>
  void each(int64_t start, int64_t stop, Visit&& visit) const {
    if (start >= stop) return;
    auto buffer = static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), start) - starts_.begin());
    if (buffer > 0) --buffer;
    for (; buffer < starts_.size() && starts_[buffer] < stop; ++buffer) {
      const int64_t base = starts_[buffer], end = base + sizes_[buffer];
      if (end <= start) continue;
      int64_t block_start = base + (std::max(start, base) - base) / block_bytes_ * block_bytes_;
      int64_t block = first_blocks_[buffer] + (block_start - base) / block_bytes_;
      for (; block_start < std::min(stop, end); block_start += block_bytes_, ++block)
        if (!visit(block, block_start, std::min(end - block_start, block_bytes_) + block_start)) return;
    }
  }

  std::vector<int64_t> starts_, sizes_, first_blocks_;
  std::vector<uint32_t> crcs_;
  int64_t block_bytes_;
  std::unique_ptr<std::atomic<uint8_t>[]> checked_;
  std::atomic<int64_t> num_pending_;
};

}  // namespace lance_arrow::engine
