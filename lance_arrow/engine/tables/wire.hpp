// Bytes of a file as they lie in memory, and a walk over protobuf's wire format that reads what it is asked for.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace lance_arrow::engine {

using Bytes = std::string_view;

// Little-endian number at the beginning of what is known to be long enough.
template <typename T>
T load_at(const char* place) {
  T value;
  std::memcpy(&value, place, sizeof(T));
  return value;
}

// Fields of one message, in order. What cannot be walked ends it with `is_sound` false.
class Fields {
 public:
  explicit Fields(Bytes message) : rest_(message), place_(message.data()) {}

  uint64_t number = 0;
  int type = 0;
  uint64_t value = 0;  // of a varint
  Bytes content;  // of what has a length
  bool is_sound = true;

  static constexpr int kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5;
  static constexpr uint64_t kMostNumber = (uint64_t{1} << 29) - 1;
  static constexpr int kMostTagBytes = 5;  // protobuf's parsers refuse longer ones

  // Where the field begins that was read last, or could not be.
  const char* place() const { return place_; }

  bool next() {
    if (rest_.empty()) return false;
    place_ = rest_.data();
    uint64_t tag = 0;
    const char* first = rest_.data();
    if (!take_varint(&tag) || rest_.data() - first > kMostTagBytes) return fail();
    number = tag >> 3;
    type = static_cast<int>(tag & 7);
    if (number == 0 || number > kMostNumber) return fail();
    switch (type) {
      case kVarint: return take_varint(&value) || fail();
      case kFixed64: return take(8) || fail();
      case kFixed32: return take(4) || fail();
      case kDelimited: {
        uint64_t size = 0;
        return (take_varint(&size) && take(size)) || fail();
      }
      default: return fail();
    }
  }

  // Where the field ends that was read last.
  const char* end() const { return rest_.data(); }

  // Calls visit(number) for the numbers of a repeated field, packed or one by one, until it returns false.
  template <class Visit>
  bool each_number(Visit&& visit) const {
    if (type == kVarint) return visit(value);
    if (type != kDelimited) return false;
    Fields packed(content);
    uint64_t one = 0;
    while (!packed.rest_.empty())
      if (!packed.take_varint(&one) || !visit(one)) return false;
    return true;
  }

  // What a message holds that has this one field, of a length, and nothing else.
  static bool only(Bytes message, uint64_t number, Bytes* content) {
    Fields fields(message);
    if (!fields.next() || fields.number != number || fields.type != kDelimited) return false;
    *content = fields.content;
    return !fields.next() && fields.is_sound;
  }

 private:
  bool fail() {
    is_sound = false;
    return false;
  }

  bool take(uint64_t size) {
    if (size > rest_.size()) return false;
    content = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  bool take_varint(uint64_t* out) {
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
  const char* place_;
};

}  // namespace lance_arrow::engine
