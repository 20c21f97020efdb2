// Values cut apart and put together again: byte streams to values, packed rows to fields (spec 5.9, 5.10).
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "engine/common/parts.hpp"

namespace lance_arrow::kernels {

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

#if defined(__SSE2__)
// Puts 16 values together: neighbours are interleaved as bytes, pairs of those as words, and so on.
template <int kWidth>
void join_sixteen(const uint8_t* streams, int64_t count, uint8_t* values) {
  __m128i now[kWidth], next[kWidth];
  for (int stream = 0; stream < kWidth; ++stream)
    now[stream] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(streams + stream * count));
  // Registers hold `parts` bytes of each value; those of one group of streams lie side by side.
  for (int parts = 1; parts < kWidth; parts *= 2) {
    for (int group = 0; group < kWidth; group += 2 * parts) {
      for (int one = 0; one < parts; ++one) {
        const __m128i left = now[group + one], right = now[group + parts + one];
        __m128i *low = &next[group + 2 * one], *high = low + 1;
        if (parts == 1) {
          *low = _mm_unpacklo_epi8(left, right), *high = _mm_unpackhi_epi8(left, right);
        } else if (parts == 2) {
          *low = _mm_unpacklo_epi16(left, right), *high = _mm_unpackhi_epi16(left, right);
        } else {
          *low = _mm_unpacklo_epi32(left, right), *high = _mm_unpackhi_epi32(left, right);
        }
      }
    }
    for (int one = 0; one < kWidth; ++one) now[one] = next[one];
  }
  for (int part = 0; part < kWidth; ++part) _mm_storeu_si128(reinterpret_cast<__m128i*>(values) + part, now[part]);
}
#endif

// Puts `count` values together; their bytes are `count` apart.
template <int kWidth>
void join_streams(const uint8_t* __restrict streams, int64_t count, int64_t width, uint8_t* __restrict values) {
  int64_t value = 0;
#if defined(__SSE2__)
  if constexpr (kWidth == 2 || kWidth == 4 || kWidth == 8)
    for (; value + 16 <= count; value += 16) join_sixteen<kWidth>(streams + value, count, values + value * kWidth);
#endif
  const int64_t num_streams = kWidth != 0 ? kWidth : width;
  for (; value < count; ++value)
    for (int64_t stream = 0; stream < num_streams; ++stream)
      values[value * num_streams + stream] = streams[stream * count + value];
}

// Stream b of a chunk holds byte b of every value.
inline Outcome gather_streams(const Chunks& chunks, int64_t width, uint8_t* out, int64_t out_bytes) {
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

// Values of 4 or 8 bytes are shifted apart in words, which vectorises; others go byte by byte.
template <class T>
void scatter_words(const uint8_t* __restrict values, int64_t count, uint8_t* __restrict out) {
  for (size_t stream = 0; stream < sizeof(T); ++stream) {
    uint8_t* bytes = out + static_cast<int64_t>(stream) * count;
    for (int64_t value = 0; value < count; ++value)
      bytes[value] = static_cast<uint8_t>(load<T>(values, value) >> (8 * stream));
  }
}

// The other way round: byte b of every value of a part to the part's stream b.
inline Outcome scatter_streams(const Parts& parts, int64_t width, uint8_t* out, int64_t out_bytes) {
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

// One field of packed rows: where it lies in a row and where its values go.
struct PackedField {
  int64_t first_byte;
  int64_t num_bytes;
  uint8_t* out;
  int64_t out_bytes;
};

// Rows lie back to back in a chunk; each field's values go to memory of its own.
inline Outcome split_rows(const Chunks& chunks, const PackedField* fields, int64_t num_fields, int64_t row_bytes) {
  if (row_bytes < 1) return misuse("packed rows have no bytes");
  int64_t room = INT64_MAX;
  for (int64_t field = 0; field < num_fields; ++field) {
    if (fields[field].num_bytes < 1) return misuse("a packed field has no bytes", field);
    const int64_t values = fields[field].out_bytes / fields[field].num_bytes;
    room = values < room ? values : room;
  }
  return for_each_chunk(chunks, room, [&](const Chunk& chunk) {
    if (chunk.size / row_bytes < chunk.num_values) return corrupt("a chunk is shorter than its packed rows", chunk.index);
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

// Rows that do not lie back to back, whose fields may carry their lengths: field_bytes[f] > 0 is a fixed width, -4 and
// -8 say how many bytes the length before the bytes has. out_starts and out_sizes are field-major. Rows of size 0 are
// null: their fields repeat the places of the row before them (or after, at the beginning), variable ones are empty.
inline Outcome locate_fields(const uint8_t* data, int64_t data_bytes, const int64_t* starts, const int64_t* sizes,
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

}  // namespace lance_arrow::kernels
