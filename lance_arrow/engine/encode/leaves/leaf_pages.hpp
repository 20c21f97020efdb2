// Encoded pages of one file, placed one after another; metadata, checksums and bounds of its columns.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/encode/leaves/leaf_encoding.hpp"
#include "engine/tables/block_sums.hpp"
#include "engine/tables/column_records.hpp"

namespace lance_arrow::engine {

class LeafPages {
 public:
  static constexpr int64_t kAlignmentBytes = 64;

  LeafPages(ColumnRecords* records, BlockSums* sums) : records_(records), sums_(sums) {}

  // Begins a piece of the file at an aligned position; the one before is dropped.
  void begin(int64_t position);

  const std::string& piece() const { return piece_; }

  // Adds a page to the piece.
  Outcome place(const LeafForm& form, const PageRows& rows, const EncodedLeaf& page);

 private:
  int64_t put(const ByteVector& bytes);

  ColumnRecords* records_;
  BlockSums* sums_;
  int64_t position_ = 0;
  std::string piece_;
  // Equal buffers of few bytes are stored once: most pages of a batch have the same table of chunks.
  std::unordered_map<std::string, int64_t> small_;
};

}  // namespace lance_arrow::engine
