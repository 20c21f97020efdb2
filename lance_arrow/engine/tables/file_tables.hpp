// Metadata of files side by side, which are in memory completely, or from some byte on: many files per call.
//
// It supports only files in the usual form of writers. The flags of all others are cleared. `container` reads these
// separately, and raises exact errors for damaged ones. No byte outside of a file is accessed.
#pragma once

#include <utility>
#include <vector>

#include "engine/tables/column_metadata.hpp"
#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

// What is known of an open file; places count from the start of the memory that holds all files.
struct FileFacts {
  int64_t minor;  // of version 2
  int64_t num_columns;
  int64_t column_table;
  int64_t schema_start, schema_bytes;
  int64_t num_rows;
  int64_t sums;  // the table of checksums, or -1
  int64_t sum_buffers, sum_blocks, block_bytes;
};

constexpr int64_t kFacts = sizeof(FileFacts) / sizeof(int64_t);

// Opens the files whose flag is set; clears the flags of those that are left to `container`. A file is in memory from a
// byte of it on. If metadata lies before that, the flag is cleared, and the byte becomes the one that metadata, as far
// as it is known, begins with.
void open_small_files(const uint8_t* data, const int64_t* starts, const int64_t* sizes, int64_t num_files,
                      bool wants_sums, int64_t* begins, int64_t* facts, uint8_t* flags);

// Copies what the tables of checksums cover, with places in the memory of all files.
void copy_sums(const uint8_t* data, const int64_t* starts, const int64_t* facts, int64_t num_files, int64_t* out_starts,
               int64_t* out_sizes, uint32_t* out_crcs);

// One column of many files.
struct ColumnOfFiles {
  PageTable pages;
  std::vector<int64_t> page_counts;  // of each file
  std::vector<std::pair<Bytes, int64_t>> wrappers;  // descriptions of the column as a whole, with how many buffers

  // Reads its metadata in all files; the number of the first that is left to `container`, or -1.
  int64_t read(const uint8_t* data, const int64_t* starts, const int64_t* sizes, const int64_t* facts,
               int64_t num_files, int64_t column);
};

}  // namespace lance_arrow::engine
