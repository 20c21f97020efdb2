// Messages in protobuf's wire format, field by field in the order of their numbers, as protobuf itself writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lance_arrow::engine {

inline void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

inline int64_t varint_bytes(uint64_t value) {
  int64_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

// Numbers and flags that are 0 are left out.
inline void put_number(std::string& out, uint32_t field, uint64_t value) {
  if (value == 0) return;
  put_varint(out, uint64_t{field} << 3);
  put_varint(out, value);
}

// Bytes, or a message that is there even if it is empty.
inline void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_varint(out, uint64_t{field} << 3 | 2);
  put_varint(out, bytes.size());
  out.append(bytes);
}

// A repeated number; left out where there is none.
template <class Numbers>
void put_packed(std::string& out, uint32_t field, const Numbers& numbers) {
  if (numbers.empty()) return;
  int64_t size = 0;
  for (const auto number : numbers) size += varint_bytes(static_cast<uint64_t>(number));
  put_varint(out, uint64_t{field} << 3 | 2);
  put_varint(out, static_cast<uint64_t>(size));
  for (const auto number : numbers) put_varint(out, static_cast<uint64_t>(number));
}

}  // namespace lance_arrow::engine
