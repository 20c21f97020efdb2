#include "engine/encode/summaries.hpp"

namespace lance_arrow::engine {

Outcome all_equal(const uint8_t* values, int64_t num_bytes, int64_t width, bool* equal) {
  if (width < 1) return misuse("bytes_per_value is not positive");
  if (num_bytes % width != 0) return misuse("the bytes are not a whole number of values");
  *equal = num_bytes <= width || std::memcmp(values, values + width, static_cast<size_t>(num_bytes - width)) == 0;
  return success();
}

}  // namespace lance_arrow::engine
