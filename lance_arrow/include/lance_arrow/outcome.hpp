// What a kernel reports, and the walk over chunks that every chunked kernel shares.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace lance_arrow {

static_assert(std::endian::native == std::endian::little, "the format and these kernels are little-endian");

enum Blame : int {
  kNobody = 0,
  kBytes = 1,  // bytes contradict their description
  kCaller = 2,  // so do arguments; or something is not read here
  kShort = 3,  // a source has fewer bytes; `index` is where they end
  kSystem = 4,  // the system reports an error, which is `index`
  kChecksum = 5,  // a block, which is `index`, contradicts its checksum
  kLimit = 6,  // a limit of bytes, or no memory
  kOffsets = 7,  // rows have more bytes or items than their offsets count
  kUnsupported = 8,  // nothing says what the bytes mean
};

// What a limit is of; a refusal has it as its index.
enum Limited : int64_t { kBatch = 0, kDictionary = 1 };

// message == nullptr means success. `index` is the chunk or value the message speaks of.
struct Outcome {
  const char* message;
  int64_t index;
  int blame;
  // Where, as far as it is known: number of the leaf; column of lists above it, outer-most first; first row of the page
  // in its column.
  int32_t leaf = -1, list = -1;
  int64_t page_row = -1;

  Outcome in_leaf(size_t number) const {
    Outcome placed = *this;
    if (message != nullptr) placed.leaf = static_cast<int32_t>(number);
    return placed;
  }
  Outcome in_list(size_t number) const {
    Outcome placed = *this;
    if (message != nullptr) placed.list = static_cast<int32_t>(number);
    return placed;
  }
  Outcome in_page(int64_t first_row) const {
    Outcome placed = *this;
    if (message != nullptr && page_row < 0) placed.page_row = first_row;
    return placed;
  }
};

inline Outcome success() { return {nullptr, -1, kNobody}; }
inline Outcome corrupt(const char* message, int64_t index) { return {message, index, kBytes}; }
inline Outcome misuse(const char* message, int64_t index = -1) { return {message, index, kCaller}; }
inline Outcome unsupported(const char* message, int64_t index = -1) { return {message, index, kUnsupported}; }
inline Outcome above_limit(Limited limited = kBatch) {
  return {"more bytes are wanted than a limit allows", limited, kLimit};
}
inline Outcome beyond_offsets() { return {"rows have more bytes or items than their offsets count", -1, kOffsets}; }

// File bytes have no alignment: memcpy compiles to one unaligned move.
template <class T>
inline T load(const uint8_t* base, int64_t item) {
  T value;
  std::memcpy(&value, base + item * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
inline void store(uint8_t* base, int64_t item, T value) {
  std::memcpy(base + item * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// One of several arguments may be an empty array, whose address can be null: memcpy forbids that even for 0 bytes.
inline void copy_bytes(uint8_t* to, const uint8_t* from, int64_t num_bytes) {
  if (num_bytes > 0) std::memcpy(to, from, static_cast<size_t>(num_bytes));
}

inline bool inside(int64_t start, int64_t size, int64_t total) {
  return start >= 0 && size >= 0 && size <= total && start <= total - size;
}

struct Chunks {
  const uint8_t* data;
  int64_t data_bytes;
  const int64_t* starts;
  const int64_t* sizes;
  const int64_t* value_starts;
  int64_t num_chunks;  // -1: the three arrays have contradicting lengths
};

struct Chunk {
  int64_t index;
  const uint8_t* bytes;
  int64_t size;
  int64_t first_value;
  int64_t num_values;
};

// Calls visit(Chunk) for each chunk, after its bytes are known to be inside `data` and its values inside the output.
template <class Visit>
Outcome for_each_chunk(const Chunks& chunks, int64_t out_values, Visit&& visit) {
  if (chunks.num_chunks < 0) return misuse("starts, sizes and value_starts have contradicting lengths");
  for (int64_t index = 0; index < chunks.num_chunks; ++index) {
    const int64_t first = chunks.value_starts[index];
    const int64_t stop = chunks.value_starts[index + 1];
    if (first < 0 || stop < first || stop > out_values) return misuse("value_starts leave the output", index);
    const int64_t start = chunks.starts[index];
    const int64_t size = chunks.sizes[index];
    if (!inside(start, size, chunks.data_bytes)) return corrupt("a chunk lies outside its page", index);
    const Outcome outcome = visit(Chunk{index, chunks.data + start, size, first, stop - first});
    if (outcome.message != nullptr) return outcome;
  }
  return success();
}

}  // namespace lance_arrow
