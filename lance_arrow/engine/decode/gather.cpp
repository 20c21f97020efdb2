#include "engine/decode/gather.hpp"

#include "lance_arrow/variable.hpp"

namespace lance_arrow::engine {

Outcome take_runs_fixed(const uint8_t* source, int64_t source_bytes, int64_t width, const int64_t* run_starts,
                        const int64_t* run_stops, int64_t num_runs, uint8_t* out, int64_t out_bytes) {
  if (width < 1) return misuse("bytes_per_value is below 1");
  const int64_t num_source = source_bytes / width;
  int64_t room = out_bytes / width;
  for (int64_t run = 0; run < num_runs; ++run) {
    const int64_t start = run_starts[run];
    const int64_t stop = run_stops[run];
    if (start < 0 || stop < start || stop > num_source) return misuse("a run leaves the source", run);
    if (stop - start > room) return misuse("the output is too small", run);
    copy_bytes(out, source + start * width, (stop - start) * width);
    out += (stop - start) * width;
    room -= stop - start;
  }
  return success();
}

namespace {

// A value of a common width, moved as one unit.
template <int width>
struct Unit {
  uint8_t bytes[width];
};

template <class Index>
Outcome check_indices(const uint8_t* indices, int64_t begin, int64_t end, int64_t num_items) {
  Index largest = 0;
  for (int64_t value = begin; value < end; ++value) {
    const Index index = load<Index>(indices, value);
    largest = index > largest ? index : largest;
  }
  if (begin == end || static_cast<uint64_t>(largest) < static_cast<uint64_t>(num_items)) return success();
  for (int64_t value = begin; value < end; ++value)
    if (static_cast<uint64_t>(load<Index>(indices, value)) >= static_cast<uint64_t>(num_items))
      return corrupt("an index lies outside the dictionary", value);
  return success();
}

template <class Index, int width>
void take_units(const uint8_t* source, const uint8_t* indices, int64_t begin, int64_t end, uint8_t* out) {
  using Value = Unit<width>;
  for (int64_t value = begin; value < end; ++value)
    store<Value>(out, value, load<Value>(source, static_cast<int64_t>(load<Index>(indices, value))));
}

template <class Index>
void take_bytes(const uint8_t* source, int64_t width, const uint8_t* indices, int64_t begin, int64_t end,
                uint8_t* out) {
  switch (width) {
    case 1: return take_units<Index, 1>(source, indices, begin, end, out);
    case 2: return take_units<Index, 2>(source, indices, begin, end, out);
    case 4: return take_units<Index, 4>(source, indices, begin, end, out);
    case 8: return take_units<Index, 8>(source, indices, begin, end, out);
    case 16: return take_units<Index, 16>(source, indices, begin, end, out);
    default:
      for (int64_t value = begin; value < end; ++value)
        copy_bytes(out + value * width, source + static_cast<int64_t>(load<Index>(indices, value)) * width, width);
  }
}

}  // namespace

Outcome take_fixed(const uint8_t* source, int64_t source_bytes, int64_t width, const uint8_t* indices,
                   int64_t indices_bytes, int index_bits, uint8_t* out, int64_t out_bytes) {
  if (width < 1) return misuse("bytes_per_value is below 1");
  return with_index_type(index_bits, indices_bytes, [&]<class Index>() {
    const int64_t num_values = indices_bytes / static_cast<int64_t>(sizeof(Index));
    if (num_values > out_bytes / width) return misuse("the output is too small");
    // Strips keep the indices in the first-level cache between the check and the copy.
    constexpr int64_t strip = 2048;
    for (int64_t begin = 0; begin < num_values; begin += strip) {
      const int64_t end = begin + strip < num_values ? begin + strip : num_values;
      const Outcome outcome = check_indices<Index>(indices, begin, end, source_bytes / width);
      if (outcome.message != nullptr) return outcome;
      take_bytes<Index>(source, width, indices, begin, end, out);
    }
    return success();
  });
}

Outcome clear_null_indices(uint8_t* indices, int64_t indices_bytes, int index_bits, int64_t num_items,
                           int64_t null_index, const uint16_t* def_levels, int64_t num_levels) {
  if (num_items < 0) return misuse("num_items is negative");
  if (null_index < 0 || null_index >> (index_bits < 63 ? index_bits : 63))
    return misuse("null_index does not fit the indices");
  return with_index_type(index_bits, indices_bytes, [&]<class Index>() {
    const int64_t num_values = indices_bytes / static_cast<int64_t>(sizeof(Index));
    if (def_levels == nullptr) return check_indices<Index>(indices, 0, num_values, num_items);
    if (num_levels != num_values) return misuse("def_levels and indices have different lengths");
    for (int64_t value = 0; value < num_values; ++value) {
      const Index index = load<Index>(indices, value);
      if (def_levels[value] > 0) store<Index>(indices, value, static_cast<Index>(null_index));
      else if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(num_items))
        return corrupt("an index lies outside the dictionary", value);
    }
    return success();
  });
}

Outcome copy_values(const uint8_t* data, int64_t data_bytes, const int64_t* starts, int64_t num_values, int64_t width,
                    uint8_t* out, int64_t out_bytes) {
  if (width < 1) return misuse("bytes_per_value is below 1");
  if (num_values > out_bytes / width) return misuse("the output is too small");
  const auto copy_all = [&](auto copy_one) {
    for (int64_t value = 0; value < num_values; ++value) {
      if (!inside(starts[value], width, data_bytes)) return corrupt("a value lies outside its page", value);
      copy_one(out + value * width, data + starts[value]);
    }
    return success();
  };
  switch (width) {
    case 4: return copy_all([](uint8_t* to, const uint8_t* from) { std::memcpy(to, from, 4); });
    case 8: return copy_all([](uint8_t* to, const uint8_t* from) { std::memcpy(to, from, 8); });
    case 16: return copy_all([](uint8_t* to, const uint8_t* from) { std::memcpy(to, from, 16); });
    default: return copy_all([&](uint8_t* to, const uint8_t* from) { copy_bytes(to, from, width); });
  }
}

}  // namespace lance_arrow::engine
