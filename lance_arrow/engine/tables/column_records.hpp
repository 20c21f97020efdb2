// Metadata of the columns of a written file: pages are added as they are placed, and serialized at once.
//
// Source: lance.file.v2.ColumnMetadata; bytes are those that protobuf writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lance_arrow::engine {

struct PlacedBuffers {
  std::vector<int64_t> positions, sizes;
};

class ColumnRecords {
 public:
  explicit ColumnRecords(int64_t num_columns) : columns_(static_cast<size_t>(num_columns)) {}

  int64_t num_columns() const { return static_cast<int64_t>(columns_.size()); }
  int64_t length(int64_t column) const { return of(column).length; }
  bool is_described(int64_t column) const { return of(column).is_described; }

  // `description` is a serialized google.protobuf.Any.
  void add_page(int64_t column, std::string_view description, const PlacedBuffers& buffers, int64_t length,
                int64_t priority);

  // The description of the whole column, and its own buffers.
  void describe(int64_t column, std::string_view description, const PlacedBuffers& buffers);

  // The first column that is not described, or whose pages have another length than expected (negative: any); -1.
  int64_t first_wrong(const int64_t* expected) const;

  // All messages one after another; `sizes` gets the bytes of each.
  std::string serialized(std::vector<int64_t>* sizes) const;

 private:
  struct Column {
    std::string pages;
    std::string description;
    PlacedBuffers buffers;
    int64_t length = 0;
    bool is_described = false;
  };

  const Column& of(int64_t column) const { return columns_[static_cast<size_t>(column)]; }

  std::vector<Column> columns_;
};

// A google.protobuf.Any.
std::string any_message(std::string_view type_url, std::string_view value);

}  // namespace lance_arrow::engine
