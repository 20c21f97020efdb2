#include "engine/encode/rows.hpp"

namespace lance_arrow::engine {

namespace {

Outcome check_field(const RowField& field, int64_t index, int64_t num_rows) {
  if (field.num_bytes > 0)
    return field.data_bytes / field.num_bytes >= num_rows ? success() : misuse("a field has too few values", index);
  if (field.offsets == nullptr || (field.num_bytes != -4 && field.num_bytes != -8))
    return misuse("a packed field has neither a width nor lengths of 4 or 8 bytes", index);
  int64_t before = field.offsets[0];
  if (before < 0) return misuse("offsets of a field leave its data", index);
  for (int64_t row = 0; row < num_rows; ++row) {
    const int64_t after = field.offsets[row + 1];
    if (after < before) return misuse("offsets of a field descend", index);
    if (field.num_bytes == -4 && after - before > UINT32_MAX)
      return misuse("a value is too long for its length", index);
    before = after;
  }
  return before <= field.data_bytes ? success() : misuse("offsets of a field leave its data", index);
}

// Moves values of one width to rows; widths known to the compiler become single moves.
template <int kWidth>
void place_values(const uint8_t* from, int64_t width, int64_t num_rows, uint8_t* to, int64_t row_bytes) {
  const size_t size = static_cast<size_t>(kWidth != 0 ? kWidth : width);
  for (int64_t row = 0; row < num_rows; ++row) std::memcpy(to + row * row_bytes, from + row * size, size);
}

}  // namespace

Outcome join_rows(const RowField* fields, int64_t num_fields, int64_t num_rows, uint8_t* out, int64_t out_bytes) {
  // Few enough rows at a time that their bytes stay near while each field adds its own.
  constexpr int64_t kStripBytes = 16 << 10;
  int64_t row_bytes = 0;
  if (num_rows < 0) return misuse("a negative number of rows");
  for (int64_t field = 0; field < num_fields; ++field) {
    if (fields[field].num_bytes < 1) return misuse("a packed field has no bytes", field);
    const Outcome outcome = check_field(fields[field], field, num_rows);
    if (outcome.message != nullptr) return outcome;
    row_bytes += fields[field].num_bytes;
  }
  if (row_bytes < 1) return misuse("packed rows have no bytes");
  if (out_bytes / row_bytes < num_rows) return misuse("the output is too small");
  const int64_t strip = kStripBytes / row_bytes + 1;
  for (int64_t first = 0; first < num_rows; first += strip) {
    const int64_t rows = strip < num_rows - first ? strip : num_rows - first;
    uint8_t* to = out + first * row_bytes;
    for (int64_t field = 0; field < num_fields; ++field) {
      const int64_t width = fields[field].num_bytes;
      const uint8_t* from = fields[field].data + first * width;
      switch (width) {
        case 1: place_values<1>(from, width, rows, to, row_bytes); break;
        case 2: place_values<2>(from, width, rows, to, row_bytes); break;
        case 4: place_values<4>(from, width, rows, to, row_bytes); break;
        case 8: place_values<8>(from, width, rows, to, row_bytes); break;
        case 16: place_values<16>(from, width, rows, to, row_bytes); break;
        default: place_values<0>(from, width, rows, to, row_bytes);
      }
      to += width;
    }
  }
  return success();
}

Outcome join_fields(const RowField* fields, int64_t num_fields, int64_t num_rows, int64_t* row_offsets, uint8_t* out,
                    int64_t out_bytes) {
  if (num_rows < 0) return misuse("a negative number of rows");
  for (int64_t field = 0; field < num_fields; ++field) {
    const Outcome outcome = check_field(fields[field], field, num_rows);
    if (outcome.message != nullptr) return outcome;
  }
  uint8_t* to = out;
  int64_t room = out_bytes;
  for (int64_t row = 0; row < num_rows; ++row) {
    row_offsets[row] = to - out;
    for (int64_t field = 0; field < num_fields; ++field) {
      const RowField& one = fields[field];
      int64_t size = one.num_bytes;
      const uint8_t* from;
      if (size > 0) {
        from = one.data + row * size;
      } else {
        const int64_t width = -size;
        from = one.data + one.offsets[row];
        size = one.offsets[row + 1] - one.offsets[row];
        if (room < width) return misuse("the output is too small", row);
        if (width == 4) store<uint32_t>(to, 0, static_cast<uint32_t>(size));
        else store<uint64_t>(to, 0, static_cast<uint64_t>(size));
        to += width;
        room -= width;
      }
      if (room < size) return misuse("the output is too small", row);
      copy_bytes(to, from, size);
      to += size;
      room -= size;
    }
  }
  row_offsets[num_rows] = to - out;
  return success();
}

Outcome spread_bits(const uint8_t* bits, int64_t bits_bytes, int64_t bit_offset, int64_t num_bits, int64_t bits_per_run,
                    uint8_t* out, int64_t out_bytes) {
  if (bits_per_run < 1) return misuse("a run has no bits");
  if (bit_offset < 0 || num_bits < 0 || num_bits > bits_bytes * 8 - bit_offset)
    return misuse("bits leave their memory");
  const int64_t runs = num_bits / bits_per_run, rest = num_bits % bits_per_run;
  const int64_t run_bytes = bits_per_run / 8 + (bits_per_run % 8 != 0), rest_bytes = (rest + 7) / 8;
  if (out_bytes < rest_bytes || (out_bytes - rest_bytes) / run_bytes < runs) return misuse("the output is too small");
  const auto copy = [&](int64_t from, int64_t count, uint8_t* to) {
    const uint8_t* source = bits + from / 8;
    const int shift = static_cast<int>(from % 8);
    const int64_t num_bytes = (count + 7) / 8;
    const int64_t available = bits_bytes - from / 8;
    for (int64_t byte = 0; byte < num_bytes; ++byte) {
      const unsigned low = source[byte], high = shift != 0 && byte + 1 < available ? source[byte + 1] : 0u;
      to[byte] = static_cast<uint8_t>(low >> shift | high << (8 - shift));
    }
    if (count % 8 != 0) to[num_bytes - 1] &= static_cast<uint8_t>((1u << (count % 8)) - 1);
  };
  if (bits_per_run % 8 == 0) {
    if (num_bits > 0) copy(bit_offset, num_bits, out);
    return success();
  }
  for (int64_t run = 0; run < runs; ++run) copy(bit_offset + run * bits_per_run, bits_per_run, out + run * run_bytes);
  if (rest > 0) copy(bit_offset + runs * bits_per_run, rest, out + runs * run_bytes);
  return success();
}

}  // namespace lance_arrow::engine
