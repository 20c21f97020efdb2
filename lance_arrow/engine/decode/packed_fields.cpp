#include "engine/decode/packed_fields.hpp"

#include "lance_arrow/widths.hpp"

namespace lance_arrow::engine {

Outcome split_rows(const Chunks& chunks, const PackedField* fields, int64_t num_fields, int64_t row_bytes) {
  if (row_bytes < 1) return misuse("packed rows have no bytes");
  int64_t room = INT64_MAX;
  for (int64_t field = 0; field < num_fields; ++field) {
    if (fields[field].num_bytes < 1) return misuse("a packed field has no bytes", field);
    const int64_t values = fields[field].out_bytes / fields[field].num_bytes;
    room = values < room ? values : room;
  }
  return for_each_chunk(chunks, room, [&](const Chunk& chunk) {
    if (chunk.size / row_bytes < chunk.num_values)
      return corrupt("a chunk is shorter than its packed rows", chunk.index);
    for (int64_t field = 0; field < num_fields; ++field) {
      const PackedField& one = fields[field];
      const uint8_t* from = chunk.bytes + one.first_byte;
      uint8_t* to = one.out + chunk.first_value * one.num_bytes;
      with_width(one.num_bytes, [&]<int kWidth>() {
        const int64_t width = kWidth != 0 ? kWidth : one.num_bytes;
        for (int64_t row = 0; row < chunk.num_values; ++row)
          std::memcpy(to + row * width, from + row * row_bytes, static_cast<size_t>(width));
      });
    }
    return success();
  });
}

}  // namespace lance_arrow::engine
