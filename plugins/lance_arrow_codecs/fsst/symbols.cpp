#include "lance_arrow_codecs/fsst/symbols.hpp"

#include "lance_arrow/arithmetic.hpp"

namespace lance_arrow::codecs {

Outcome measure_symbols(const uint8_t* table_bytes, int64_t table_size, const CodedValues& values, int64_t* total) {
  SymbolTable table;
  const Outcome outcome = table.open(table_bytes, table_size);
  if (outcome.message != nullptr) return outcome;
  *total = 0;
  int64_t alone = 0;  // values below it are taken one by one
  for (int64_t value = 0; value < values.num_values;) {
    if (!values.holds(value)) return corrupt("a value lies outside its page", value);
    const uint8_t* codes = values.data + values.starts[value];
    int64_t stop = value + 1, size = -1;
    if (value >= alone) {
      const int64_t found = values.stream_stop(value, kMeasuredCodes);
      if (found > value) {
        const int64_t end = values.starts[found - 1] + values.sizes[found - 1];
        size = table.measure_stream(codes, end - values.starts[value]);
      }
      if (size >= 0) stop = found;
      else alone = found;
    }
    if (size < 0) size = table.measure(codes, values.sizes[value]);
    if (size < 0) return corrupt("a value uses codes without a symbol", value);
    if (!add_to(total, size)) return corrupt("too many bytes", value);
    value = stop;
  }
  return success();
}

Outcome expand_symbols(const uint8_t* table_bytes, int64_t table_size, const CodedValues& values,
                       const VariableOut& out) {
  return with_offset_type(out.offset_bits, [&]<class Out>() {
    SymbolTable table;
    Outcome begun = table.open(table_bytes, table_size);
    VariableWriter<Out> writer;
    if (begun.message == nullptr) begun = writer.open(out, 0);
    if (begun.message != nullptr) return begun;
    int64_t alone = 0;  // values below it are taken one by one
    for (int64_t value = 0; value < values.num_values;) {
      if (!values.holds(value)) return corrupt("a value lies outside its page", value);
      if (!writer.fits(1, 0)) return too_small(value);
      if (value >= alone && table.is_compressed() && values.sizes[value] < kLongValue) {
        const int64_t max_codes = std::min(kStreamCodes, writer.room / 8);
        const int64_t stop = std::min(values.stream_stop(value, max_codes), value + writer.num_values);
        if (stop > value && expand_stream(table, values, value, stop, &writer)) {
          value = stop;
          continue;
        }
        alone = std::max(stop, value + 1);
      }
      const uint8_t* codes = values.data + values.starts[value];
      const int64_t size = table.expand(codes, values.sizes[value], writer.data, writer.room);
      if (size < 0 && table.measure(codes, values.sizes[value]) >= 0) return too_small(value);
      if (size < 0) return corrupt("a value uses codes without a symbol", value);
      writer.finish_value(size);
      ++value;
    }
    return success();
  });
}

}  // namespace lance_arrow::codecs
