#include "engine/plan/selection_bitmap.hpp"

namespace lance_arrow::engine {

Outcome take_marked_fixed(const uint8_t* source, int64_t source_bytes, int64_t width, const uint8_t* bits,
                          int64_t bits_bytes, int64_t bit_offset, uint8_t* out, int64_t out_bytes) {
  if (width < 1) return misuse("bytes_per_value is below 1");
  const int64_t num_values = source_bytes / width;
  int64_t count = 0;
  const Outcome outcome = count_bits(bits, bits_bytes, bit_offset, num_values, &count);
  if (outcome.message != nullptr) return outcome;
  if (count > out_bytes / width) return misuse("the output is too small");
  pick_selected(width, source, bits, bit_offset, num_values, out);
  return success();
}

}  // namespace lance_arrow::engine
