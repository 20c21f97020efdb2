// Bytes of a file as they lie in memory, and a walk over protobuf's wire format that reads what it is asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace lance_arrow {

using Bytes = std::string_view;

// Little-endian number at the beginning of what is known to be long enough.
template <typename T>
T Load(const char* place) {
  T value;
  std::memcpy(&value, place, sizeof(T));
  return value;
}

// The end of a file, as one read brought it.
struct Tail {
  Bytes bytes;
  uint64_t file_size;
  uint64_t wanted_bytes = 0;  // from what was asked for first in the file, to its end

  // Bytes of the file, where they lie in its tail.
  std::optional<Bytes> At(uint64_t position, uint64_t size) {
    const uint64_t first = file_size - bytes.size();
    if (position > file_size || size > file_size - position) return std::nullopt;
    wanted_bytes = std::max(wanted_bytes, file_size - position);
    if (position < first) return std::nullopt;
    return bytes.substr(position - first, size);
  }
};

// Fields of one message, in order. What cannot be walked ends it with `is_sound` false.
class Fields {
 public:
  explicit Fields(Bytes message) : rest_(message) {}

  uint64_t number = 0;
  int type = 0;
  uint64_t value = 0;  // of a varint
  Bytes content;  // of what has a length
  bool is_sound = true;

  static constexpr int kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5;

  bool Next() {
    if (rest_.empty()) return false;
    uint64_t tag = 0;
    if (!TakeVarint(&tag)) return Fail();
    number = tag >> 3;
    type = static_cast<int>(tag & 7);
    if (number == 0) return Fail();
    switch (type) {
      case kVarint: return TakeVarint(&value) || Fail();
      case kFixed64: return Take(8) || Fail();
      case kFixed32: return Take(4) || Fail();
      case kDelimited: {
        uint64_t size = 0;
        return (TakeVarint(&size) && Take(size)) || Fail();
      }
      default: return Fail();
    }
  }

  // The numbers of a repeated field, packed or one by one.
  bool AppendTo(std::vector<uint64_t>* numbers) const {
    if (type == kVarint) {
      numbers->push_back(value);
      return true;
    }
    if (type != kDelimited) return false;
    Fields packed(content);
    uint64_t one = 0;
    while (!packed.rest_.empty()) {
      if (!packed.TakeVarint(&one)) return false;
      numbers->push_back(one);
    }
    return true;
  }

 private:
  bool Fail() {
    is_sound = false;
    return false;
  }

  bool Take(uint64_t size) {
    if (size > rest_.size()) return false;
    content = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  bool TakeVarint(uint64_t* out) {
    uint64_t found = 0;
    for (int shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) return false;
      found |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        *out = found;
        return true;
      }
    }
    return false;
  }

  Bytes rest_;
};

}  // namespace lance_arrow
