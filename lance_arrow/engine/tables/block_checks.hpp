// State of the blocks of a file (checked or not), and the comparison with their checksums; shared by reader threads.
//
// Buffers are disjoint and ascending; each is cut into blocks from its own start, the last one short. Bytes between
// buffers have no checksum and are never read. A block is marked after its check succeeded, so two threads may check
// the same block. No thread returns bytes of an unchecked block.
//
// The checksums of a large file are read when blocks are, in groups. Where they lie in the file is all that is known of
// them before.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "engine/tables/checksums.hpp"

namespace lance_arrow::engine {

class BlockChecks {
 public:
  static constexpr int64_t kGroup = 1024;  // blocks whose checksums are read together

  // With no `crcs`, these are at `place` in the file.
  BlockChecks(const int64_t* starts, const int64_t* sizes, int64_t num_buffers, const uint32_t* crcs,
              int64_t num_blocks, int64_t block_bytes, int64_t place = -1)
      : starts_(starts, starts + num_buffers),
        sizes_(sizes, sizes + num_buffers),
        block_bytes_(block_bytes),
        num_blocks_(num_blocks),
        place_(crcs == nullptr ? place : -1),
        num_groups_(crcs == nullptr ? num_blocks / kGroup + 1 : 0),
        groups_(crcs == nullptr ? new std::atomic<uint32_t*>[static_cast<size_t>(num_groups_)]() : nullptr),
        checked_(new std::atomic<uint8_t>[static_cast<size_t>(num_blocks) + 1]),
        num_pending_(num_blocks) {
    first_blocks_.reserve(static_cast<size_t>(num_buffers));
    int64_t first = 0;
    for (const int64_t size : sizes_) {
      first_blocks_.push_back(first);
      first += blocks_in(size, block_bytes);
    }
    for (int64_t block = 0; block <= num_blocks; ++block) checked_[block].store(0, std::memory_order_relaxed);
    if (crcs != nullptr) crcs_.assign(crcs, crcs + num_blocks);
  }

  ~BlockChecks() {
    for (int64_t group = 0; group < num_groups_; ++group) delete[] groups_[group].load(std::memory_order_relaxed);
  }

  BlockChecks(const BlockChecks&) = delete;
  BlockChecks& operator=(const BlockChecks&) = delete;

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

  // Whether checksums of blocks must be here before `check` compares these: see `each_absent`.
  bool is_late() const { return groups_ != nullptr; }

  // Calls visit(start, stop) for the places in the file of checksums that are not here, of groups of blocks with bytes
  // of a range, ascending; until it returns false.
  template <class Visit>
  bool each_absent(int64_t start, int64_t stop, Visit&& visit) const {
    if (!is_late()) return true;
    const auto [first, last] = blocks_with(start, stop);
    if (first >= last) return true;
    for (int64_t group = first / kGroup; group * kGroup < last; ++group) {
      if (groups_[group].load(std::memory_order_acquire) != nullptr) continue;
      const int64_t from = group * kGroup, to = std::min(from + kGroup, num_blocks_);
      if (!visit(place_ + 4 * from, place_ + 4 * to)) return false;
    }
    return true;
  }

  // Takes bytes from a place of the file that begins with a group of checksums; those of a part of a group are left.
  // Two threads may take the same group: the first one's is kept, and no thread waits for another.
  void take(int64_t start, int64_t size, const uint8_t* bytes) {
    for (int64_t from = (start - place_) / 4; from < num_blocks_; from += kGroup) {
      const int64_t count = std::min(kGroup, num_blocks_ - from), at = place_ + 4 * from - start;
      if (from < 0 || from % kGroup != 0 || at + 4 * count > size) return;
      std::unique_ptr<uint32_t[]> sums(new uint32_t[static_cast<size_t>(kGroup)]);
      copy_bytes(reinterpret_cast<uint8_t*>(sums.get()), bytes + at, 4 * count);
      uint32_t* none = nullptr;
      if (groups_[from / kGroup].compare_exchange_strong(none, sums.get(), std::memory_order_acq_rel)) sums.release();
    }
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

  // Checks the unchecked blocks that lie whole in [start, stop), whose bytes are given; the first wrong one, or -1. One
  // whose checksum is not here counts as wrong.
  int64_t check(int64_t start, int64_t stop, const uint8_t* bytes) {
    int64_t wrong = -1;
    each(start, stop, [&](int64_t block, int64_t block_start, int64_t block_stop) {
      if (block_start < start || block_stop > stop || checked_[block].load(std::memory_order_relaxed) != 0) return true;
      const uint32_t* sum = sum_of(block);
      if (sum == nullptr || crc32c(0, bytes + (block_start - start), block_stop - block_start) != *sum) {
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
  // The checksum of a block; null if it is not here.
  const uint32_t* sum_of(int64_t block) const {
    if (!is_late()) return &crcs_[static_cast<size_t>(block)];
    const uint32_t* group = groups_[block / kGroup].load(std::memory_order_acquire);
    return group == nullptr ? nullptr : group + block % kGroup;
  }

  // The first block with bytes of a range, and the first one behind those.
  std::pair<int64_t, int64_t> blocks_with(int64_t start, int64_t stop) const {
    if (start >= stop) return {0, 0};
    const auto count_of = [&](auto found) { return static_cast<size_t>(found - starts_.begin()); };
    const size_t after = count_of(std::upper_bound(starts_.begin(), starts_.end(), start));
    int64_t first = after < starts_.size() ? first_blocks_[after] : num_blocks_;
    if (after > 0 && start - starts_[after - 1] < sizes_[after - 1])
      first = first_blocks_[after - 1] + (start - starts_[after - 1]) / block_bytes_;
    const size_t before = count_of(std::lower_bound(starts_.begin(), starts_.end(), stop));
    if (before == 0) return {0, 0};
    const int64_t own = std::min(stop - starts_[before - 1], sizes_[before - 1]);
    return {first, first_blocks_[before - 1] + blocks_in(own, block_bytes_)};
  }

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
  std::vector<uint32_t> crcs_;  // none where they are late
  int64_t block_bytes_, num_blocks_, place_, num_groups_;
  std::unique_ptr<std::atomic<uint32_t*>[]> groups_;  // late checksums, kGroup each; null before they are read
  std::unique_ptr<std::atomic<uint8_t>[]> checked_;
  std::atomic<int64_t> num_pending_;
};

// Places in the file of checksums that some ranges need, and that are not here.
struct AbsentSums {
  std::vector<std::pair<int64_t, int64_t>> places;

  void find(const BlockChecks& checks, int64_t start, int64_t stop) {
    checks.each_absent(start, stop, [&](int64_t from, int64_t to) {
      places.emplace_back(from, to);
      return true;
    });
  }

  // Afterwards, each place is there once, ascending, and neighbours are one.
  void join() {
    std::sort(places.begin(), places.end());
    size_t count = 0;
    for (const auto& one : places) {
      if (count > 0 && one.first <= places[count - 1].second) places[count - 1].second = one.second;
      else places[count++] = one;
    }
    places.resize(count);
  }
};

}  // namespace lance_arrow::engine
