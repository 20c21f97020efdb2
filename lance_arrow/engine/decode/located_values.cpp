#include "engine/decode/located_values.hpp"

namespace lance_arrow::engine {

Outcome measure_variable_values(const int64_t* sizes, int64_t num_values, int64_t* total) {
  *total = 0;
  for (int64_t value = 0; value < num_values; ++value) {
    if (sizes[value] < 0) return corrupt("a value has a negative size", value);
    if (!add_to(total, sizes[value])) return corrupt("too many bytes", value);
  }
  return success();
}

Outcome decode_variable_values(const uint8_t* data, int64_t data_bytes, const int64_t* starts, const int64_t* sizes,
                               int64_t num_values, const VariableOut& out) {
  return with_offset_type(out.offset_bits, [&]<class Out>() {
    VariableWriter<Out> writer;
    const Outcome begun = writer.open(out, 0);
    if (begun.message != nullptr) return begun;
    for (int64_t value = 0; value < num_values; ++value) {
      const int64_t start = starts[value];
      const int64_t size = sizes[value];
      if (!inside(start, size, data_bytes)) return corrupt("a value lies outside its page", value);
      if (!writer.fits(1, size)) return too_small(value);
      copy_value(writer.data, writer.room, data + start, data_bytes - start, size);
      writer.finish_value(size);
    }
    return success();
  });
}

}  // namespace lance_arrow::engine
