// Arithmetic that the language has no portable word for.
#pragma once

#include <cstdint>
#include <limits>

namespace lance_arrow {

// Adds what is not negative to a sum that is not; false, and the sum stays as it is, where it would not fit.
inline bool add_to(int64_t* sum, int64_t value) {
  if (value > std::numeric_limits<int64_t>::max() - *sum) return false;
  *sum += value;
  return true;
}

// The same bytes in the opposite order: one instruction, which compilers find in this.
inline uint64_t swap_bytes(uint64_t word) {
  word = (word & 0x00FF00FF00FF00FF) << 8 | (word >> 8 & 0x00FF00FF00FF00FF);
  word = (word & 0x0000FFFF0000FFFF) << 16 | (word >> 16 & 0x0000FFFF0000FFFF);
  return word << 32 | word >> 32;
}

// value * number / parts without a product of 128 bits, for 0 <= number <= parts < 2**31 and a value from 0 on.
inline int64_t share_of(int64_t value, int64_t number, int64_t parts) {
  return value / parts * number + value % parts * number / parts;
}

}  // namespace lance_arrow
