// What the metadata of a column say: its buffers, and its pages as flat arrays. Source: lance.file.v2.ColumnMetadata.
//
// A message is read as protobuf reads it: unknown fields are passed over, and of a field that comes again the last
// holds.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/tables/wire.hpp"

namespace lance_arrow::engine {

// Why metadata are refused.
struct MetadataFault {
  enum Kind : int { kNone, kMalformed, kUnpaired, kOutside, kMisaligned, kTooManyRows, kNoDescription };

  int kind = kNone;
  int64_t page = -1;  // -1: the column as a whole
  // kMalformed: the byte. kUnpaired: numbers of places and of sizes. kOutside and kMisaligned: which buffer, where it
  // lies and its bytes. kTooManyRows: how many. kNoDescription: the field that is set instead, or 0.
  uint64_t first = 0, second = 0, third = 0;
};

// A google.protobuf.Any.
struct AnyMessage {
  Bytes type_url, value;

  bool read(Bytes message);
};

// Where a description is. Source: lance.file.v2.Encoding.
struct DescriptionField {
  static constexpr uint64_t kNowhere = 0, kApart = 1, kHere = 2, kNone = 3;

  uint64_t where = kNowhere;
  Bytes here;  // a google.protobuf.Any
  uint64_t start = 0, size = 0;  // of one that lies apart

  bool read(Bytes message);
  bool is_there() const { return where == kApart || where == kHere; }
};

// Pages one after the other: those of a column of one file, or of many.
class PageTable {
 public:
  std::vector<int64_t> row_starts{0};  // first row of each page, and the rows of all
  std::vector<int64_t> borders{0};  // first buffer of each page, and the buffers of all
  std::vector<int64_t> starts, sizes;  // of buffers
  std::vector<DescriptionField> descriptions;  // equal ones once
  std::vector<int64_t> description_of;  // of each page

  int64_t num_pages() const { return static_cast<int64_t>(description_of.size()); }
  int64_t number_of(const DescriptionField& description);

 private:
  std::unordered_map<Bytes, int64_t> numbers_;
};

// Everything but the pages.
struct ColumnMetadata {
  DescriptionField description;
  std::vector<uint64_t> starts, sizes;  // of the buffers of the column as a whole
  MetadataFault fault, pages_fault;

  // Reads a message; after a fault, no other member is valid. Places of pages are multiples of `alignment`. They count
  // from `base` in the table to which they are added (nullptr: pages are skipped). Its descriptions point into the
  // message.
  void read(Bytes message, uint64_t file_size, uint64_t alignment, int64_t base, PageTable* pages);
};

}  // namespace lance_arrow::engine
