// Bytes that grow, or lie in memory that somebody lent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "lance_arrow/bits.hpp"

namespace lance_arrow::engine {

// Growing bytes that are never cleared, or a region lent by the caller: fixed, or left for own memory when it is full.
// Own memory is kept during a loan, for what comes after it.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { std::free(own_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void lend(uint8_t* bytes, int64_t size, bool may_outgrow = false) {
    bytes_ = bytes;
    room_ = size;
    lent_ = true;
    may_outgrow_ = may_outgrow;
  }

  // Memory from `end` on with room for num_bytes; null above the limit, or where lent memory ends.
  uint8_t* reserve(int64_t end, int64_t num_bytes, int64_t limit) {
    if (num_bytes < 0 || end < 0 || num_bytes > limit - end) return nullptr;
    if (end + num_bytes > room_ || bytes_ == nullptr) {
      if (lent_ && end + num_bytes > room_) {
        if (!may_outgrow_ || !leave(end, num_bytes)) return nullptr;
      } else if (!lent_) {
        if (!grow(std::max({end + num_bytes, 2 * room_, int64_t{1024}}))) return nullptr;
      }
    }
    return bytes_ + end;
  }

  const uint8_t* data() const { return bytes_; }
  uint8_t* data() { return bytes_; }
  int64_t room() const { return room_; }
  int64_t own_room() const { return own_room_; }
  bool is_lent() const { return lent_; }

  void end_loan() {
    bytes_ = own_;
    room_ = own_room_;
    lent_ = false;
  }

 private:
  bool grow(int64_t room) {
    auto* grown = static_cast<uint8_t*>(std::realloc(own_, static_cast<size_t>(room)));
    if (grown == nullptr) return false;
    own_ = grown;
    own_room_ = room;
    end_loan();
    return true;
  }

  bool leave(int64_t end, int64_t num_bytes) {
    const uint8_t* const lent = bytes_;
    const int64_t room = end + num_bytes + end / 2;
    if (room > own_room_) {
      // What lies in it is of no use, and would be copied.
      std::free(own_);
      own_ = nullptr;
      own_room_ = 0;
      if (!grow(room)) return false;
    }
    end_loan();
    copy_bytes(bytes_, lent, end);
    return true;
  }

  uint8_t *bytes_ = nullptr, *own_ = nullptr;
  int64_t room_ = 0, own_room_ = 0;
  bool lent_ = false, may_outgrow_ = false;
};

inline int64_t kept_bytes(const Buffer& buffer) { return buffer.own_room(); }

}  // namespace lance_arrow::engine
