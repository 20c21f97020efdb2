#include "engine/tables/column_records.hpp"

#include "engine/tables/wire_writing.hpp"

namespace lance_arrow::engine {

namespace {

// Source: lance.file.v2.Encoding.direct, DirectEncoding.encoding.
void put_encoding(std::string& out, uint32_t field, std::string_view description) {
  std::string direct, encoding;
  if (!description.empty()) put_bytes(direct, 1, description);
  put_bytes(encoding, 2, direct);
  put_bytes(out, field, encoding);
}

}  // namespace

std::string any_message(std::string_view type_url, std::string_view value) {
  std::string out;
  if (!type_url.empty()) put_bytes(out, 1, type_url);
  if (!value.empty()) put_bytes(out, 2, value);
  return out;
}

void ColumnRecords::add_page(int64_t column, std::string_view description, const PlacedBuffers& buffers, int64_t length,
                             int64_t priority) {
  std::string page;
  put_packed(page, 1, buffers.positions);
  put_packed(page, 2, buffers.sizes);
  put_number(page, 3, static_cast<uint64_t>(length));
  put_encoding(page, 4, description);
  put_number(page, 5, static_cast<uint64_t>(priority));
  Column& own = columns_[static_cast<size_t>(column)];
  put_bytes(own.pages, 2, page);
  own.length += length;
}

void ColumnRecords::describe(int64_t column, std::string_view description, const PlacedBuffers& buffers) {
  Column& own = columns_[static_cast<size_t>(column)];
  own.description = description;
  own.buffers = buffers;
  own.is_described = true;
}

int64_t ColumnRecords::first_wrong(const int64_t* expected) const {
  for (int64_t column = 0; column < num_columns(); ++column) {
    if (!is_described(column) || (expected[column] >= 0 && length(column) != expected[column])) return column;
  }
  return -1;
}

std::string ColumnRecords::serialized(std::vector<int64_t>* sizes) const {
  std::string out;
  sizes->clear();
  for (const Column& column : columns_) {
    const size_t start = out.size();
    put_encoding(out, 1, column.description);
    out += column.pages;
    put_packed(out, 3, column.buffers.positions);
    put_packed(out, 4, column.buffers.sizes);
    sizes->push_back(static_cast<int64_t>(out.size() - start));
  }
  return out;
}

}  // namespace lance_arrow::engine
