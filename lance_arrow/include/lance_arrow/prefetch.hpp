// A hint to the processor.
#pragma once

#include <cstdint>

namespace lance_arrow {

// Asks for the line of memory that holds a byte; any address will do.
inline void prefetch([[maybe_unused]] const uint8_t* byte) {
#if defined(__GNUC__)
  __builtin_prefetch(byte);
#endif
}

}  // namespace lance_arrow
