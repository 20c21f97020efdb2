#include "engine/decode/streams.hpp"

namespace lance_arrow::engine {

namespace {

// The width as a constant where it is a usual one: the inner copy is then one move.
template <class Visit>
void with_width(int64_t width, Visit&& visit) {
  switch (width) {
    case 1: return visit.template operator()<1>();
    case 2: return visit.template operator()<2>();
    case 4: return visit.template operator()<4>();
    case 8: return visit.template operator()<8>();
    case 16: return visit.template operator()<16>();
    default: return visit.template operator()<0>();
  }
}

}  // namespace

Outcome gather_streams(const Chunks& chunks, int64_t width, uint8_t* out, int64_t out_bytes) {
  if (width < 1) return misuse("bytes_per_value is not positive");
  return for_each_chunk(chunks, out_bytes / width, [&](const Chunk& chunk) {
    const int64_t count = chunk.num_values;
    if (chunk.size % width != 0 || chunk.size / width != count)
      return corrupt("byte streams have another size than their values", chunk.index);
    uint8_t* values = out + chunk.first_value * width;
    with_width(width, [&]<int kWidth>() { join_streams<kWidth>(chunk.bytes, count, width, values); });
    return success();
  });
}

namespace {

// Values of 4 or 8 bytes are shifted apart in words, which vectorises; others go byte by byte.
template <class T>
void scatter_words(const uint8_t* __restrict values, int64_t count, uint8_t* __restrict out) {
  for (size_t stream = 0; stream < sizeof(T); ++stream) {
    uint8_t* bytes = out + static_cast<int64_t>(stream) * count;
    for (int64_t value = 0; value < count; ++value)
      bytes[value] = static_cast<uint8_t>(load<T>(values, value) >> (8 * stream));
  }
}

}  // namespace

Outcome scatter_streams(const Parts& parts, int64_t width, uint8_t* out, int64_t out_bytes) {
  if (width < 1) return misuse("bytes_per_value is not positive");
  return for_each_part(parts, width, [&](const Part& part) {
    const int64_t start = part.first_value * width;
    const int64_t count = part.num_values;
    if (start + count * width > out_bytes) return misuse("the output is too small", part.index);
    const uint8_t* values = parts.values + start;
    if (width == 4) {
      scatter_words<uint32_t>(values, count, out + start);
    } else if (width == 8) {
      scatter_words<uint64_t>(values, count, out + start);
    } else {
      for (int64_t stream = 0; stream < width; ++stream)
        for (int64_t value = 0; value < count; ++value)
          out[start + stream * count + value] = values[value * width + stream];
    }
    return success();
  });
}

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

Outcome locate_fields(const uint8_t* data, int64_t data_bytes, const int64_t* starts, const int64_t* sizes,
                      int64_t num_rows, const int64_t* field_bytes, int64_t num_fields, int64_t* out_starts,
                      int64_t* out_sizes, int64_t* num_valid) {
  for (int64_t field = 0; field < num_fields; ++field)
    if (field_bytes[field] < 1 && field_bytes[field] != -4 && field_bytes[field] != -8)
      return misuse("a packed field has neither a width nor lengths of 4 or 8 bytes", field);
  int64_t last_valid = -1;
  *num_valid = 0;
  for (int64_t row = 0; row < num_rows; ++row) {
    const int64_t start = starts[row];
    const int64_t size = sizes[row];
    if (!inside(start, size, data_bytes)) return corrupt("a packed row lies outside its page", row);
    if (size == 0) {
      for (int64_t field = 0; field < num_fields; ++field) {
        const int64_t at = field * num_rows + row;
        const bool fixed = field_bytes[field] > 0;
        out_starts[at] = fixed && last_valid >= 0 ? out_starts[field * num_rows + last_valid] : 0;
        out_sizes[at] = fixed ? field_bytes[field] : 0;
      }
      continue;
    }
    int64_t position = start;
    const int64_t stop = start + size;
    for (int64_t field = 0; field < num_fields; ++field) {
      int64_t length = field_bytes[field];
      if (length < 0) {
        const int64_t prefix = -length;
        if (stop - position < prefix) return corrupt("a packed row ends inside a field", row);
        const uint64_t stored = prefix == 4 ? load<uint32_t>(data + position, 0) : load<uint64_t>(data + position, 0);
        position += prefix;
        if (stored > static_cast<uint64_t>(stop - position)) return corrupt("a packed row ends inside a field", row);
        length = static_cast<int64_t>(stored);
      }
      if (stop - position < length) return corrupt("a packed row ends inside a field", row);
      out_starts[field * num_rows + row] = position;
      out_sizes[field * num_rows + row] = length;
      position += length;
    }
    if (position != stop) return corrupt("a packed row is longer than its fields", row);
    if (last_valid < 0)
      for (int64_t field = 0; field < num_fields; ++field)
        if (field_bytes[field] > 0)
          for (int64_t before = 0; before < row; ++before)
            out_starts[field * num_rows + before] = out_starts[field * num_rows + row];
    last_valid = row;
    ++*num_valid;
  }
  return success();
}

}  // namespace lance_arrow::engine
