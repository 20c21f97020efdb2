// Pages of byte strings of 2.0: where each of them ends, and their bytes, in buffers of their own.
#pragma once

#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

struct BinaryForm {
  int64_t end_bytes;  // of an end
  uint64_t null_adjustment;  // added to the ends of nulls; 0 where none is null
  const LaValueCodec* codes;  // of which each string is a value, of variable width; null where they are stored plainly
};

// The bytes of all strings as one frame.
struct FrameForm {
  size_t buffer;  // its number
  const LaFrameCodec* frames;
  int64_t most_bytes;  // of its content
};

// Bytes in the first buffer, ends in the second. The caller owns it.
Page* new_binary_page(const BinaryForm& form);

// Ends in the first buffer. The caller owns it.
Page* new_framed_binary_page(const BinaryForm& form, const FrameForm& frame);

}  // namespace lance_arrow::engine
