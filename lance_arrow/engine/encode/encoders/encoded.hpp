// What encoders write to: buffers that grow, the chunks in them, and the message that describes them.
#pragma once

#include <string>
#include <vector>

#include "lance_arrow/outcome.hpp"
#include "lance_arrow_native.h"

namespace lance_arrow::engine {

using ByteVector = std::vector<uint8_t>;

// Used again from leaf to leaf, so that memory is allocated once.
class Encoded {
 public:
  static constexpr int64_t kMaxBuffers = 8;

  std::vector<ByteVector> buffers;
  std::vector<std::vector<int64_t>> sizes;  // of each buffer, by chunk
  std::vector<int64_t> counts;  // values of each chunk
  ByteVector description;

  void clear();
  LaEncoded face();

  // Whether the sizes of chunks are those of the buffers, and their values are `num_values`.
  bool is_whole(int64_t num_values) const;

 private:
  static uint8_t* room(void* host, int64_t buffer, int64_t num_bytes);
  static LaRefusal chunk(void* host, int64_t num_values, const int64_t* sizes, int64_t num_buffers);
  static LaRefusal describe(void* host, const uint8_t* message, int64_t num_bytes);

  Encoded* grown(int64_t num_buffers);
};

}  // namespace lance_arrow::engine
