// Leaves of a record batch to pages: nulls to levels, bounds of values, the choice of codecs, and the bytes of a file.
//
//     ArrowArray ──► values, levels, facts ──► layout with the smallest score ──► codecs ──► buffers ──► ColumnRecords
//                └──► bounds of zones
//
// A leaf whose choice only Python knows is left to it ("asked"); only its bounds are made here.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/encode/encoders/encoded.hpp"
#include "engine/encode/encoders/encoder_choice.hpp"
#include "engine/encode/leaves/leaf_bounds.hpp"
#include "engine/tables/block_sums.hpp"
#include "engine/tables/column_records.hpp"

namespace lance_arrow::engine {

// What may be chosen for a leaf, each in the order of names, which decides between equal scores.
struct EncoderSet {
  struct Layout {
    const LaPageEncoder* encoder;
    std::string type_url;
  };
  std::vector<Layout> layouts;
  ChunkChoice chunks;
  BlocksChoice blocks;
};

// A leaf with structs above it at most.
struct LeafForm {
  std::vector<PathStep> path;
  int64_t column;
  int64_t bits;  // 0: byte strings
  int64_t offset_bits;
  int64_t encoders;
  ZoneForm zones;
};

// Sets `is_refused` if a null is not allowed, or offsets go back; `levels` is memory that is used again.
Outcome check_leaf(const LeafForm& form, const ArrowArray& batch, LeafLevels* levels, bool* is_refused);

// Bytes of all byte strings of a leaf, their offsets included; 0 for values of one width.
Outcome count_string_bytes(const LeafForm& form, const ArrowArray& batch, int64_t* num_bytes);

// Pages of one file, placed one after another.
class LeafPages {
 public:
  static constexpr int64_t kAlignmentBytes = 64;

  LeafPages(ColumnRecords* records, BlockSums* sums) : records_(records), sums_(sums) {}

  // Begins a piece of the file at an aligned position; the one before is dropped.
  void begin(int64_t position);

  const std::string& piece() const { return piece_; }

  // Encodes all rows as one page. Sets `is_asked` where Python must do so; nothing was written then.
  Outcome add(const LeafForm& form, const EncoderSet& encoders, const ArrowArray& batch, int64_t num_rows,
              int64_t first_row, LeafBounds* bounds, bool* is_asked);

  // Bytes of the buffers of the page that was added last.
  int64_t page_bytes() const { return page_bytes_; }

 private:
  bool encode(const EncoderSet& encoders, const LaPage& page, std::string* description);
  Outcome place(const LeafForm& form, const std::string& description, int64_t num_rows, int64_t first_row);
  int64_t put(const ByteVector& bytes);

  ColumnRecords* records_;
  BlockSums* sums_;
  int64_t position_ = 0;
  int64_t page_bytes_ = 0;
  std::string piece_;
  // Equal buffers of few bytes are stored once: most pages of a batch have the same table of chunks.
  std::unordered_map<std::string, int64_t> small_;

  LeafValues values_;
  Encoded page_;
};

}  // namespace lance_arrow::engine
