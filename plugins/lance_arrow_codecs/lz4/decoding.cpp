#include "lance_arrow_codecs/lz4/decoding.hpp"

namespace lance_arrow::codecs {

namespace {

// Adds the continuation bytes of a length of 15 (each 255 is followed by another); false at the end of the block.
bool extend_length(const uint8_t* block, int64_t size, int64_t* position, int64_t* length) {
  uint8_t byte = 255;
  while (byte == 255) {
    if (*position >= size) return false;
    byte = block[(*position)++];
    *length += byte;
  }
  return true;
}

// Repeats what begins `offset` bytes before `to`. A match may overlap what it makes: each copy doubles the pattern.
void copy_match(uint8_t* to, int64_t offset, int64_t count) {
  const uint8_t* from = to - offset;
  if (offset == 1) {
    std::memset(to, *from, static_cast<size_t>(count));
    return;
  }
  int64_t known = offset;
  for (; count > known; known *= 2) {
    std::memcpy(to, from, static_cast<size_t>(known));
    to += known;
    count -= known;
  }
  std::memcpy(to, from, static_cast<size_t>(count));
}

template <bool kIsPrefix>
bool decode(const uint8_t* block, int64_t size, uint8_t* out, int64_t room, int64_t wanted) {
  constexpr int64_t step = 16;
  int64_t position = 0, produced = 0;
  while (position < size) {
    if (kIsPrefix && produced >= wanted) return true;
    const uint8_t token = block[position++];
    int64_t literals = token >> 4;
    if (literals == 15 && !extend_length(block, size, &position, &literals)) return false;
    if (literals > size - position || literals > room - produced) return false;
    // Short ones are copied whole, with what lies behind them, where that is inside both.
    if (literals <= step && size - position >= step && room - produced >= step)
      std::memcpy(out + produced, block + position, step);
    else copy_bytes(out + produced, block + position, literals);
    position += literals;
    produced += literals;
    if (position == size) return produced == room;  // the last sequence has no match
    if (size - position < 2) return false;
    const int64_t offset = load<uint16_t>(block + position, 0);
    position += 2;
    if (offset == 0 || offset > produced) return false;
    int64_t match = token & 15;
    if (match == 15 && !extend_length(block, size, &position, &match)) return false;
    match += 4;
    if (match > room - produced) return false;
    if (match <= step && offset >= step && room - produced >= step)
      std::memcpy(out + produced, out + produced - offset, step);
    else copy_match(out + produced, offset, match);
    produced += match;
  }
  return false;  // empty, or a match came last
}

}  // namespace

bool decode_lz4_block(const uint8_t* block, int64_t size, uint8_t* out, int64_t room) {
  return decode<false>(block, size, out, room, room);
}

bool decode_lz4_prefix(const uint8_t* block, int64_t size, uint8_t* out, int64_t room, int64_t wanted) {
  return decode<true>(block, size, out, room, wanted);
}

Outcome decode_lz4_blocks(const uint8_t* data, int64_t data_bytes, const int64_t* starts, const int64_t* sizes,
                          int64_t num_blocks, uint8_t* out, int64_t out_bytes, const int64_t* out_starts) {
  for (int64_t block = 0; block < num_blocks; ++block) {
    const int64_t room = out_starts[block + 1] - out_starts[block];
    if (!inside(out_starts[block], room, out_bytes)) return misuse("a block has no room in the output", block);
    if (!inside(starts[block], sizes[block], data_bytes)) return corrupt("a frame lies outside its page", block);
    if (!decode_lz4_block(data + starts[block], sizes[block], out + out_starts[block], room))
      return corrupt("an LZ4 block is malformed, or has another size than its frame declares", block);
  }
  return success();
}

}  // namespace lance_arrow::codecs
