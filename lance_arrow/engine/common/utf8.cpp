#include "engine/common/utf8.hpp"

#include <algorithm>

namespace lance_arrow::engine {

namespace {

// Bytes of the character at `text`, or 0 when there is no valid character within `room` (>= 1) bytes.
int64_t character_size(const uint8_t* text, int64_t room) {
  const auto continues = [&](int64_t position) { return (text[position] & 0xC0) == 0x80; };
  const uint8_t lead = text[0];
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;  // a continuation, or an overlong form
  if (lead < 0xE0) return room >= 2 && continues(1) ? 2 : 0;
  if (lead < 0xF0) {
    if (room < 3 || !continues(1) || !continues(2)) return 0;
    const bool overlong = lead == 0xE0 && text[1] < 0xA0;
    const bool surrogate = lead == 0xED && text[1] >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead > 0xF4 || room < 4 || !continues(1) || !continues(2) || !continues(3)) return 0;
  const bool overlong = lead == 0xF0 && text[1] < 0x90;
  const bool too_large = lead == 0xF4 && text[1] >= 0x90;
  return overlong || too_large ? 0 : 4;
}

// Whether there are no other characters. Without an early end within a block, it is a loop of vectors.
bool is_ascii(const uint8_t* text, int64_t size) {
  constexpr int64_t block = 4096;
  for (int64_t first = 0; first < size; first += block) {
    const int64_t stop = std::min(size, first + block);
    uint8_t any = 0;
    for (int64_t position = first; position < stop; ++position) any |= text[position];
    if (any >= 0x80) return false;
  }
  return true;
}

// Length of the ASCII prefix, to a multiple of 32 bytes or to the end.
int64_t ascii_prefix(const uint8_t* text, int64_t size) {
  constexpr uint64_t high_bits = 0x8080808080808080u;
  int64_t position = 0;
  for (; position + 32 <= size; position += 32) {
    const uint64_t any = load<uint64_t>(text + position, 0) | load<uint64_t>(text + position, 1) |
                         load<uint64_t>(text + position, 2) | load<uint64_t>(text + position, 3);
    if (any & high_bits) return position;
  }
  for (; position + 8 <= size; position += 8)
    if (load<uint64_t>(text + position, 0) & high_bits) return position;
  while (position < size && text[position] < 0x80) ++position;
  return position;
}

}  // namespace

bool valid_utf8(const uint8_t* text, int64_t size) {
  int64_t position = 0;
  while (position < size) {
    if (text[position] < 0x80) {
      position += ascii_prefix(text + position, size - position);
      // A short prefix of a mixed word: step to the character that ended it.
      while (position < size && text[position] < 0x80) ++position;
      continue;
    }
    const int64_t character = character_size(text + position, size - position);
    if (character == 0) return false;
    position += character;
  }
  return true;
}

namespace {

template <class Offset>
Outcome first_invalid_value(const uint8_t* offsets, int64_t num_values, const uint8_t* data) {
  for (int64_t value = 0; value < num_values; ++value) {
    const int64_t start = static_cast<int64_t>(load<Offset>(offsets, value));
    const int64_t stop = static_cast<int64_t>(load<Offset>(offsets, value + 1));
    if (!valid_utf8(data + start, stop - start)) return corrupt("a string is not valid UTF-8", value);
  }
  return success();
}

}  // namespace

Outcome check_utf8(const StoredOffsets& stored, const uint8_t* data, int64_t data_bytes) {
  return with_offset_type(stored.bits, [&]<class Offset>() {
    const uint8_t* offsets = stored.bytes;
    const int64_t num_values = stored.num_bytes / static_cast<int64_t>(sizeof(Offset)) - 1;
    if (num_values <= 0) return success();
    const uint64_t end = static_cast<uint64_t>(data_bytes);
    Offset descends = 0;  // as wide as offsets, so that it is a loop of vectors
    for (int64_t value = 0; value < num_values; ++value)
      descends |= load<Offset>(offsets, value) > load<Offset>(offsets, value + 1) ? Offset{1} : Offset{0};
    const uint64_t last = load<Offset>(offsets, num_values);
    if (descends != 0 || last > end) {
      for (int64_t value = 0; value < num_values; ++value) {
        const uint64_t stop = load<Offset>(offsets, value + 1);
        if (load<Offset>(offsets, value) > stop || stop > end)
          return corrupt("the offsets of strings are wrong", value);
      }
    }
    const int64_t first = static_cast<int64_t>(load<Offset>(offsets, 0)), size = static_cast<int64_t>(last) - first;
    if (is_ascii(data + first, size)) return success();
    // A border inside a character shows as a continuation byte at the border; the end of all data is no border.
    bool splits = false;
    for (int64_t value = 0; value < num_values; ++value) {
      const uint64_t start = load<Offset>(offsets, value);
      if (start < end) splits |= (data[start] & 0xC0) == 0x80;
    }
    if (!splits && valid_utf8(data + first, size)) return success();
    return first_invalid_value<Offset>(offsets, num_values, data);
  });
}

}  // namespace lance_arrow::engine
