#include "engine/decode/gather_variable.hpp"

#include <limits>

#include "lance_arrow/arithmetic.hpp"

namespace lance_arrow::engine {

namespace {

// Value `item` of stored offsets, which must exist. `data_bytes` bounds the values.
template <class Offset>
inline Span value_span(const uint8_t* offsets, int64_t item, int64_t data_bytes) {
  const Offset start = load<Offset>(offsets, item);
  const Offset stop = load<Offset>(offsets, item + 1);
  if (start > stop || static_cast<uint64_t>(stop) > static_cast<uint64_t>(data_bytes)) return {0, -1};
  return {static_cast<int64_t>(start), static_cast<int64_t>(stop - start)};
}

// Without data to bound them, offsets are bounded by the largest signed integer.
constexpr int64_t kNoData = std::numeric_limits<int64_t>::max();

// Calls visit(value, Span) for each index, after checking it and its offsets.
template <class Offset, class Index, class Visit>
Outcome for_each_index(const StoredOffsets& offsets, int64_t data_bytes, const uint8_t* indices, int64_t indices_bytes,
                       Visit&& visit) {
  const int64_t num_items = count_items<Offset>(offsets);
  const int64_t num_values = indices_bytes / static_cast<int64_t>(sizeof(Index));
  for (int64_t value = 0; value < num_values; ++value) {
    const uint64_t index = load<Index>(indices, value);
    if (index >= static_cast<uint64_t>(num_items)) return corrupt("an index lies outside the dictionary", value);
    const Span span = value_span<Offset>(offsets.bytes, static_cast<int64_t>(index), data_bytes);
    if (span.size < 0) return corrupt("the offsets of a dictionary item are wrong", value);
    const Outcome outcome = visit(value, span);
    if (outcome.message != nullptr) return outcome;
  }
  return success();
}

}  // namespace

Outcome measure_take_variable(const StoredOffsets& offsets, const uint8_t* indices, int64_t indices_bytes,
                              int index_bits, int64_t* total) {
  *total = 0;
  return with_offset_type(offsets.bits, [&]<class Offset>() {
    return with_index_type(index_bits, indices_bytes, [&]<class Index>() {
      return for_each_index<Offset, Index>(offsets, kNoData, indices, indices_bytes, [&](int64_t value, Span span) {
        if (!add_to(total, span.size)) return corrupt("too many bytes", value);
        return success();
      });
    });
  });
}

Outcome take_variable(const StoredOffsets& offsets, const uint8_t* data, int64_t data_bytes, const uint8_t* indices,
                      int64_t indices_bytes, int index_bits, const VariableOut& out) {
  return with_offset_type(out.offset_bits, [&]<class Out>() {
    return with_offset_type(offsets.bits, [&]<class Offset>() {
      return with_index_type(index_bits, indices_bytes, [&]<class Index>() {
        VariableWriter<Out> writer;
        const Outcome begun = writer.open(out, 0);
        if (begun.message != nullptr) return begun;
        return for_each_index<Offset, Index>(
            offsets, data_bytes, indices, indices_bytes, [&](int64_t value, Span span) {
              if (!writer.fits(1, span.size)) return too_small(value);
              copy_value(writer.data, writer.room, data + span.start, data_bytes - span.start, span.size);
              writer.finish_value(span.size);
              return success();
            });
      });
    });
  });
}

Outcome measure_take_runs_variable(const StoredOffsets& offsets, const int64_t* run_starts, const int64_t* run_stops,
                                   int64_t num_runs, int64_t* total) {
  *total = 0;
  return with_offset_type(offsets.bits, [&]<class Offset>() {
    return for_each_run<Offset>(offsets, kNoData, run_starts, run_stops, num_runs,
                                [&](int64_t run, const uint8_t*, int64_t, int64_t, int64_t num_bytes) {
                                  if (!add_to(total, num_bytes)) return corrupt("too many bytes", run);
                                  return success();
                                });
  });
}

Outcome take_runs_variable(const StoredOffsets& offsets, const uint8_t* data, int64_t data_bytes,
                           const int64_t* run_starts, const int64_t* run_stops, int64_t num_runs,
                           const VariableOut& out) {
  return with_offset_type(out.offset_bits, [&]<class Out>() {
    return with_offset_type(offsets.bits, [&]<class Offset>() {
      VariableWriter<Out> writer;
      const Outcome begun = writer.open(out, 0);
      if (begun.message != nullptr) return begun;
      return for_each_run<Offset>(
          offsets, data_bytes, run_starts, run_stops, num_runs,
          [&](int64_t run, const uint8_t* stored, int64_t count, int64_t first, int64_t num_bytes) {
            if (!writer.fits(count, num_bytes)) return too_small(run);
            copy_bytes(writer.data, data + first, num_bytes);
            writer.template finish_values<Offset>(stored, count);
            return success();
          });
    });
  });
}

}  // namespace lance_arrow::engine
