// Memory of results, out of a table of C functions: an Arrow pool where the bridge filled the table, else malloc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace lance_arrow::engine {

struct Allocator {
  // Memory of so many bytes, which may be 0, aligned to 64; null where there is none.
  uint8_t* (*allocate)(void* context, int64_t size);
  void (*release)(void* context, uint8_t* bytes, int64_t size);  // from any thread, without the interpreter's lock
  void* context;
  bool shares_blocks = true;  // whether one of its blocks may hold several small pieces
};

// What tables add to a size: vector instructions of others may read whole words behind the end.
inline int64_t padded_bytes(int64_t size) { return (std::max(size, int64_t{1}) + 63) & ~int64_t{63}; }

inline Allocator plain_allocator() {
#ifdef _MSC_VER
  return {[](void*, int64_t size) {
            return static_cast<uint8_t*>(_aligned_malloc(static_cast<size_t>(padded_bytes(size)), 64));
          },
          [](void*, uint8_t* bytes, int64_t) { _aligned_free(bytes); }, nullptr};
#else
  return {[](void*, int64_t size) {
            return static_cast<uint8_t*>(std::aligned_alloc(64, static_cast<size_t>(padded_bytes(size))));
          },
          [](void*, uint8_t* bytes, int64_t) { std::free(bytes); }, nullptr};
#endif
}

// All memory of one result, which is released at once. Small pieces share blocks, which become larger with the result:
// rows of many columns are many pieces, and many of them would leave holes in the memory of the process.
class ResultMemory {
 public:
  ResultMemory(const Allocator& allocator, int64_t limit) : allocator_(allocator), limit_(limit) {}
  ~ResultMemory() {
    for (const Block& block : blocks_) allocator_.release(allocator_.context, block.bytes, block.size);
  }
  ResultMemory(const ResultMemory&) = delete;
  ResultMemory& operator=(const ResultMemory&) = delete;

  // Null above the limit, or where there is no memory.
  uint8_t* allocate(int64_t size) {
    if (size < 0 || size > limit_) return nullptr;
    const int64_t shared = std::clamp(num_bytes_, kLeastShared, kMostShared);
    if (!allocator_.shares_blocks || size > shared / kLeastPieces) return block(size);
    const int64_t room = padded_bytes(size);
    if (room > free_bytes_) {
      free_ = block(shared);
      free_bytes_ = free_ == nullptr ? 0 : shared;
      if (free_ == nullptr) return nullptr;
    }
    uint8_t* bytes = free_;
    free_ += room;
    free_bytes_ -= room;
    return bytes;
  }

 private:
  static constexpr int64_t kLeastShared = 2 << 10, kMostShared = 256 << 10, kLeastPieces = 8;

  struct Block {
    uint8_t* bytes;
    int64_t size;
  };

  uint8_t* block(int64_t size) {
    blocks_.push_back({nullptr, size});
    uint8_t* bytes = allocator_.allocate(allocator_.context, size);
    if (bytes == nullptr) blocks_.pop_back();
    else {
      blocks_.back().bytes = bytes;
      num_bytes_ += size;
    }
    return bytes;
  }

  Allocator allocator_;
  int64_t limit_;
  std::vector<Block> blocks_;
  uint8_t* free_ = nullptr;
  int64_t free_bytes_ = 0, num_bytes_ = 0;
};

}  // namespace lance_arrow::engine
