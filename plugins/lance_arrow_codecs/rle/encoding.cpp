#include "lance_arrow_codecs/rle/encoding.hpp"

#include "lance_arrow_codecs/rle/runs.hpp"

namespace lance_arrow::codecs {

namespace {

constexpr int64_t kLongestRun = 255;

template <class Value>
int64_t count_entries_of(const uint8_t* values, int64_t num_values) {
  int64_t entries = 0;
  for_each_run<Value>(values, num_values,
                      [&](Value, int64_t length) { entries += (length + kLongestRun - 1) / kLongestRun; });
  return entries;
}

}  // namespace

Outcome count_run_entries(const Parts& parts, int64_t width, int64_t* out_counts) {
  return with_value_type(width, [&]<class Value>() {
    return for_each_part(parts, width, [&](const Part& part) {
      out_counts[part.index] = count_entries_of<Value>(parts.values + part.first_value * width, part.num_values);
      return success();
    });
  });
}

namespace {

// Where the entries of a part go, and for how many there is room.
struct RunRoom {
  uint8_t* values;
  uint8_t* lengths;
  int64_t entries;
};

// Returns how many entries the part has, or -1 when they have no room.
template <class Value>
int64_t encode_part(const uint8_t* values, int64_t num_values, const RunRoom& room) {
  int64_t entry = 0;
  bool fits = true;
  for_each_run<Value>(values, num_values, [&](Value value, int64_t length) {
    for (; length > 0 && fits; length -= kLongestRun) {
      fits = entry < room.entries;
      if (fits) {
        store<Value>(room.values, entry, value);
        room.lengths[entry++] = static_cast<uint8_t>(length < kLongestRun ? length : kLongestRun);
      }
    }
  });
  return fits ? entry : -1;
}

}  // namespace

Outcome encode_runs(const Parts& parts, int64_t width, uint8_t* out_values, uint8_t* out_lengths, int64_t room,
                    int64_t* out_counts, int64_t* total) {
  *total = 0;
  return with_value_type(width, [&]<class Value>() {
    return for_each_part(parts, width, [&](const Part& part) {
      const RunRoom rest{out_values + *total * width, out_lengths + *total, room - *total};
      const int64_t entries = encode_part<Value>(parts.values + part.first_value * width, part.num_values, rest);
      if (entries < 0) return misuse("the output is too small", part.index);
      out_counts[part.index] = entries;
      *total += entries;
      return success();
    });
  });
}

Outcome encode_run_blocks(const Parts& parts, int64_t width, int64_t* out_sizes, uint8_t* out, int64_t out_bytes,
                          int64_t* total) {
  constexpr int64_t header = 8;
  *total = 0;
  return with_value_type(width, [&]<class Value>() {
    return for_each_part(parts, width, [&](const Part& part) {
      const uint8_t* values = parts.values + part.first_value * width;
      const int64_t entries = count_entries_of<Value>(values, part.num_values);
      const int64_t size = header + entries * (width + 1);
      if (size > out_bytes - *total) return misuse("the output is too small", part.index);
      uint8_t* block = out + *total;
      store<uint64_t>(block, 0, static_cast<uint64_t>(entries * width));
      encode_part<Value>(values, part.num_values, {block + header, block + header + entries * width, entries});
      out_sizes[part.index] = size;
      *total += size;
      return success();
    });
  });
}

}  // namespace lance_arrow::codecs
