#include "lance_arrow_codecs/variable_packed_struct/codec.hpp"

#include <algorithm>
#include <memory>

#include "lance_arrow/located_fields.hpp"

namespace lance_arrow::codecs {
namespace {

struct PackedRows {
  const std::vector<const LaValueCodec*> codecs;  // of each field
  const std::vector<int64_t> stored_bytes;  // of each field, or minus those of the length before it
  const std::vector<int64_t> row_bytes;  // the same, of the rows that are made

  // Rows without any bytes are null, and stay so.
  static LaRefusal expand(const void* self, const uint8_t* data, const int64_t* starts, const int64_t* sizes,
                          int64_t num_values, LaValues* out) {
    const auto& form = *static_cast<const PackedRows*>(self);
    int64_t data_bytes = 0, num_valid = 0;
    for (int64_t row = 0; row < num_values; ++row) data_bytes = std::max(data_bytes, starts[row] + sizes[row]);
    const size_t num_fields = form.codecs.size(), num_places = num_fields * static_cast<size_t>(num_values);
    const Leased<std::vector<int64_t>> places;
    places->resize(2 * num_places + 1);
    int64_t *field_starts = places->data(), *field_sizes = field_starts + num_places;
    const Outcome located = locate_fields(data, data_bytes, starts, sizes, num_values, form.stored_bytes.data(),
                                          static_cast<int64_t>(num_fields), field_starts, field_sizes, &num_valid);
    if (located.message != nullptr) return located.message;
    std::vector<Field> fields(num_fields);
    for (size_t number = 0; number < num_fields && num_valid > 0; ++number) {
      const int64_t *from = field_starts + number * num_values, *size = field_sizes + number * num_values;
      const LaRefusal refusal = fields[number].open(*form.codecs[number], data, from, size, num_values);
      if (refusal != nullptr) return refusal;
    }
    return form.join(fields, sizes, num_values, out);
  }

 private:
  // Values of a field: as they are in the data, or decoded.
  struct Field {
    const uint8_t* data = nullptr;
    const int64_t *starts = nullptr, *sizes = nullptr;  // where they are as they are
    Intermediate decoded;
    int64_t width = 0;

    LaRefusal open(const LaValueCodec& codec, const uint8_t* all, const int64_t* from, const int64_t* size,
                   int64_t num_values) {
      if (codec.is_plain != 0) {
        data = all, starts = from, sizes = size;
        return kDone;
      }
      width = codec.bits / 8;
      if (width > 0) decoded.bytes.resize(static_cast<size_t>(num_values * width));
      else decoded.ends.resize(static_cast<size_t>(num_values));
      LaValues place{decoded.bytes.data(), 0, decoded.ends.data(), 0, &Intermediate::reserve, &decoded};
      if (width == 0) place.values = Intermediate::reserve(&decoded, 0, 0);
      return codec.expand(codec.self, all, from, size, num_values, &place);
    }

    int64_t size(int64_t row) const {
      if (starts != nullptr) return sizes[row];
      if (width > 0) return width;
      return decoded.ends[static_cast<size_t>(row)] - (row == 0 ? 0 : decoded.ends[static_cast<size_t>(row) - 1]);
    }

    const uint8_t* value(int64_t row) const {
      if (starts != nullptr) return data + starts[row];
      const int64_t start = width > 0 ? row * width : row == 0 ? 0 : decoded.ends[static_cast<size_t>(row) - 1];
      return decoded.bytes.data() + start;
    }
  };

  LaRefusal join(const std::vector<Field>& fields, const int64_t* sizes, int64_t num_values, LaValues* out) const {
    int64_t end = out->end;
    for (int64_t row = 0; row < num_values; ++row) {
      for (size_t number = 0; number < fields.size() && sizes[row] > 0; ++number) {
        const int64_t size = fields[number].size(row), width = row_bytes[number];
        if (width > 0 ? size != width : width == -4 && size >> 32 != 0)
          return "a packed field has another size than its description";
        end += size + std::max<int64_t>(-width, 0);
      }
      out->ends[row] = end;
    }
    uint8_t* to = out->reserve(out->host, out->end, end - out->end);
    if (to == nullptr) return LA_ABOVE_LIMIT;
    for (int64_t row = 0; row < num_values; ++row) {
      for (size_t number = 0; number < fields.size() && sizes[row] > 0; ++number) {
        const int64_t size = fields[number].size(row), width = row_bytes[number];
        if (width == -4) store<uint32_t>(to, 0, static_cast<uint32_t>(size));
        else if (width == -8) store<int64_t>(to, 0, size);
        to += std::max<int64_t>(-width, 0);
        copy_bytes(to, fields[number].value(row), size);
        to += size;
      }
    }
    out->end = end;
    return kDone;
  }
};

}  // namespace

HeldValueCodec* hold_packed_rows(const std::vector<const LaValueCodec*>& codecs,
                                 const std::vector<int64_t>& stored_bytes, const std::vector<int64_t>& row_bytes) {
  auto form = std::make_shared<PackedRows>(PackedRows{codecs, stored_bytes, row_bytes});
  return hold_values(form, 0, false);
}

}  // namespace lance_arrow::codecs
