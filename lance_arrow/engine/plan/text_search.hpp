// A byte string looked for in others, as in LIKE '%needle%'.
#pragma once

#include <cstdint>
#include <string>

namespace lance_arrow::engine {

// What strings are that have the needle, and the others: 0 or 1.
struct TextSearch {
  std::string needle;  // not empty
  uint8_t found = 1, missing = 0;

  // Whether each of `count` strings satisfies it. Each ends where the next one begins; the first begins at `begin`.
  void mark(const uint8_t* bytes, int64_t begin, const int64_t* ends, int64_t count, uint8_t* marks) const;
};

}  // namespace lance_arrow::engine
