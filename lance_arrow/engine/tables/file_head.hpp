// Metadata of a file of version 2.1 or later, from the bytes of its end: footer, tables, checksums, descriptor.
//
// It supports only files in the usual form of writers. `container` reads all others, and raises exact errors for
// damaged ones. No byte outside of the given ones is accessed.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/common/outcome.hpp"
#include "engine/tables/wire.hpp"

namespace lance_arrow::engine {

constexpr size_t kFooterBytes = 40, kEntryBytes = 16;
constexpr uint64_t kAlignment = 64;  // of buffers of pages and of files

// The end of a file, as one read brought it.
struct Tail {
  Bytes bytes;
  uint64_t file_size;
  uint64_t wanted_bytes = 0;  // from what was asked for first in the file, to its end

  // Bytes of the file, where they lie in its tail.
  std::optional<Bytes> at(uint64_t position, uint64_t size) {
    const uint64_t first = file_size - bytes.size();
    if (position > file_size || size > file_size - position) return std::nullopt;
    wanted_bytes = std::max(wanted_bytes, file_size - position);
    if (position < first) return std::nullopt;
    return bytes.substr(position - first, size);
  }
};

// The table of checksums. Source: container/checksums.py.
struct ChecksumBytes {
  static constexpr size_t kHeader = 64;

  Bytes table;
  uint32_t block_bytes = 0, num_buffers = 0, num_columns = 0;
  uint64_t num_blocks = 0;

  // Whether it is one, right by its own checksum, of buffers that lie one behind the other in the file.
  bool read(Bytes bytes, uint64_t file_size);

  uint32_t footer() const { return load_at<uint32_t>(&table[36]); }
  uint32_t descriptor() const { return load_at<uint32_t>(&table[40]); }
  uint32_t column_table() const { return load_at<uint32_t>(&table[44]); }
  uint32_t buffer_table() const { return load_at<uint32_t>(&table[48]); }
  uint32_t column(uint32_t number) const { return load_at<uint32_t>(columns() + size_t{4} * number); }
  const char* starts() const { return table.data() + kHeader; }
  const char* sizes() const { return starts() + size_t{8} * num_buffers; }
  const char* columns() const { return starts() + size_t{24} * num_buffers; }
  const char* blocks() const { return columns() + size_t{4} * num_columns; }

  // Whether a buffer has the bytes that it had: it lies in covered bytes, whose blocks are in the tail.
  bool confirms(uint64_t start, uint64_t size, Tail* tail) const;
};

struct FileHead {
  uint16_t minor = 0;  // of version 2
  uint32_t num_columns = 0, num_buffers = 0;
  Bytes column_table, buffer_table;  // position and size of each
  uint64_t first_column = 0;
  Bytes descriptor, schema;
  int64_t num_rows = 0;
  bool promises_sums = false, has_sums = false;
  ChecksumBytes sums;  // where has_sums

  std::pair<uint64_t, uint64_t> column_place(uint32_t number) const {
    const char* entry = &column_table[kEntryBytes * number];
    return {load_at<uint64_t>(entry), load_at<uint64_t>(entry + 8)};
  }

  // Reads the end of a file; with `wants_sums` it is compared with its checksums, if it has any.
  bool read(Tail* tail, bool wants_sums);
  // The part of it that the descriptor tells.
  bool read_descriptor(Bytes message);

 private:
  bool read_sums(Tail* tail, Bytes footer);
};

uint32_t crc_of(Bytes bytes);

}  // namespace lance_arrow::engine
