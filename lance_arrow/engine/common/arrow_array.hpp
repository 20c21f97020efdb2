// Arrays as the Arrow C data interface has them.
#pragma once

#include <cstdint>

extern "C" {
// The struct that the interface prescribes; its field names and their order are part of the standard.
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
}

namespace lance_arrow::engine {

// nullptr if the array has no such buffer.
inline const uint8_t* buffer_of(const ArrowArray& array, int64_t number) {
  return static_cast<const uint8_t*>(array.n_buffers > number ? array.buffers[number] : nullptr);
}

}  // namespace lance_arrow::engine
