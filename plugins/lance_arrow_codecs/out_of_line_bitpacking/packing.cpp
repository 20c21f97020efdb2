#include "lance_arrow_codecs/out_of_line_bitpacking/packing.hpp"

namespace lance_arrow::codecs {

namespace {

template <class T>
Outcome pack_out_of_line_as(const Parts& blocks, int packed_bits, uint8_t* out, int64_t out_bytes) {
  constexpr int64_t width = sizeof(T);
  if (packed_bits < 0 || packed_bits > 8 * width) return misuse("packed_bits is outside 0..word_bits");
  const int64_t group_bytes = 128 * packed_bits;
  int64_t position = 0;
  const Outcome outcome = for_each_part(blocks, width, [&](const Part& block) {
    const int64_t num_groups = block.num_values / kBlockValues;
    const int64_t tail_bytes = block.num_values % kBlockValues * width;
    const bool packs_tail = group_bytes < tail_bytes;
    const int64_t size = num_groups * group_bytes + (packs_tail ? group_bytes : tail_bytes);
    if (size > out_bytes - position) return misuse("the output is too small", block.index);
    const uint8_t* values = blocks.values + block.first_value * width;
    uint8_t* packed = out + position;
    for (int64_t group = 0; group < num_groups + packs_tail; ++group) {
      const int64_t count = group < num_groups ? kBlockValues : tail_bytes / width;
      if (!pack_values<T>(values, count, packed_bits, packed))
        return misuse("a value is wider than its block", block.index);
      values += kBlockValues * width;
      packed += group_bytes;
    }
    if (!packs_tail) copy_bytes(packed, values, tail_bytes);
    position += size;
    return success();
  });
  if (outcome.message == nullptr && position != out_bytes) return misuse("the output is too large");
  return outcome;
}

}  // namespace

Outcome pack_out_of_line(const Parts& blocks, int word_bits, int packed_bits, uint8_t* out, int64_t out_bytes) {
  switch (word_bits) {
    case 8: return pack_out_of_line_as<uint8_t>(blocks, packed_bits, out, out_bytes);
    case 16: return pack_out_of_line_as<uint16_t>(blocks, packed_bits, out, out_bytes);
    case 32: return pack_out_of_line_as<uint32_t>(blocks, packed_bits, out, out_bytes);
    case 64: return pack_out_of_line_as<uint64_t>(blocks, packed_bits, out, out_bytes);
    default: return misuse("word_bits is none of 8, 16, 32, 64");
  }
}

}  // namespace lance_arrow::codecs
