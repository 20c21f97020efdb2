// Metadata of a file of version 2: footer, tables, checksums, descriptor.
//
// Most files have all of it in the bytes of their end. Wide files have parts of it before them. These are listed, and
// read by the caller, who then tries again. It supports only files in the usual form of writers. `container` reads all
// others, and raises exact errors for damaged ones. No byte outside of the given ones is accessed.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/tables/wire.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

constexpr size_t kFooterBytes = 40, kEntryBytes = 16;
constexpr uint64_t kAlignment = 64;  // of buffers of pages and of files

// The end of a file, as one read brought it, and ranges before it that were read since.
struct Tail {
  struct Range {
    uint64_t start, stop;
  };
  struct Piece {
    uint64_t start;
    Bytes bytes;
  };

  Bytes bytes;
  uint64_t file_size;
  uint64_t wanted_bytes = 0;  // from what was asked for first in the file, to its end
  std::vector<Piece> pieces = {};
  std::vector<Range> absent = {};  // ranges inside of the file that were asked for and are not here

  // Bytes of the file, if they are here.
  std::optional<Bytes> at(uint64_t position, uint64_t size) {
    const uint64_t first = file_size - bytes.size();
    if (position > file_size || size > file_size - position) return std::nullopt;
    wanted_bytes = std::max(wanted_bytes, file_size - position);
    if (position >= first) return bytes.substr(position - first, size);
    for (const Piece& piece : pieces)
      if (position >= piece.start && position - piece.start <= piece.bytes.size() &&
          size <= piece.bytes.size() - (position - piece.start))
        return piece.bytes.substr(position - piece.start, size);
    absent.push_back({position, position + size});
    return std::nullopt;
  }
};

// The table of checksums. Source: container/checksums.py.
struct ChecksumBytes {
  static constexpr size_t kHeader = 64;

  Bytes table;  // where `is_late`, without the checksums of blocks, which are read when blocks are
  uint32_t block_bytes = 0, num_buffers = 0, num_columns = 0;
  uint64_t num_blocks = 0;
  bool is_late = false;

  // How many bytes of a table must be read before blocks are, by its header.
  static uint64_t bytes_at_first(Bytes header, uint64_t size);

  // Whether these bytes of a table of a size are right by its own checksum, and it is one of buffers that lie one
  // behind the other in the file.
  bool read(Bytes bytes, uint64_t size, uint64_t file_size);

  uint32_t footer() const { return load_at<uint32_t>(&table[36]); }
  uint32_t descriptor() const { return load_at<uint32_t>(&table[40]); }
  uint32_t column_table() const { return load_at<uint32_t>(&table[44]); }
  uint32_t buffer_table() const { return load_at<uint32_t>(&table[48]); }
  uint32_t column(uint32_t number) const { return load_at<uint32_t>(columns() + size_t{4} * number); }
  const char* starts() const { return table.data() + kHeader; }
  const char* sizes() const { return starts() + size_t{8} * num_buffers; }
  const char* columns() const { return starts() + size_t{24} * num_buffers; }
  const char* blocks() const { return columns() + size_t{4} * num_columns; }

  // Whether a buffer has the bytes that it had: it lies in covered bytes, whose blocks are in the tail. Not if
  // `is_late`.
  bool confirms(uint64_t start, uint64_t size, Tail* tail) const;
};

struct FileHead {
  uint16_t minor = 0;  // of version 2; 0 for either way of writing 2.0
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

  // Reads the end of a file; with `wants_sums` it is compared with its checksums, if it has any. If it is false because
  // bytes are not here, they are the absent ones of the tail. Files of 2.0, and large ones whose checksums of blocks
  // are read later, are read if `takes_all`.
  bool read(Tail* tail, bool wants_sums, bool takes_all = false);
  // The part of it that the descriptor tells.
  bool read_descriptor(Bytes message);

 private:
  enum class Sums { kNone, kAbsent, kThere };

  // Where the table of checksums may lie, those of its bytes that are read at first, and its size.
  Sums find_sums(Tail* tail, Bytes footer, Bytes* table, uint64_t* size) const;
  bool read_sums(Bytes table, uint64_t size, Bytes footer, uint64_t file_size);
};

uint32_t crc_of(Bytes bytes);

}  // namespace lance_arrow::engine
