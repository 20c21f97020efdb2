// Rows of leaves, from pages to the buffers of Arrow arrays: read, opened and laid out, leaf after leaf.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/arrays/leaf_arrays.hpp"
#include "engine/arrays/result_memory.hpp"
#include "engine/plan/leaf_reader.hpp"

namespace lance_arrow::engine {

// Values that are places of blobs, which are read in their stead.
struct BlobShape {
  int64_t data_stop;  // where the values of the file end
  int64_t most_bytes;  // of all blobs
  int64_t most_at_once;  // more of them are read by several threads, later
  int offset_bits;
};

// What the schema says of a leaf.
struct LeafShape {
  std::vector<int> offset_bits;  // per node of the path, inner-most first: the width of a list's offsets, or 0
  int64_t value_bits = 0;  // 0: variable width; kNoValues. Pages whose values are rows of parts tell their own
  int value_offset_bits = 0;  // of Arrow's offsets, for variable width
  std::vector<int64_t> field_bits;  // of a packed struct, all whole bytes
  bool is_coded = false;  // whether values of variable width become codes into one dictionary
  std::optional<BlobShape> blobs;
};

struct Region {
  uint8_t* bytes = nullptr;
  int64_t size = 0;
};

// What was laid out of a leaf.
struct LeafOut {
  int64_t num_values = 0;
  Region values, offsets;  // of codes: the codes
  std::vector<Region> fields;  // of a packed struct, or of lists with bitmaps, instead of values
  Region positions;  // of blobs that others read
  int64_t num_items = 0;  // of codes: their dictionary
  Region items, item_offsets;
  std::vector<NodeOut> nodes;  // inner-most first; validity is null where no slot is

  int64_t num_children(const LeafShape& shape, size_t node) const {
    return shape.offset_bits[node] != 0 && node > 0 ? nodes[node - 1].slots : 0;
  }
};

// Rows of a file, and how it is read.
struct Request {
  LaRuns rows;
  const SelectionBitmap* selection = nullptr;
  Reader reader;
  ReadCount count;
};

struct TakeLimits {
  int64_t bytes;  // of values, or of one read
  int64_t offset;  // largest that 32 bits of an offset hold
};

// Rows of one leaf in the making.
class LeafTaking {
 public:
  // `shape` and `pages` outlive it.
  LeafTaking(const LeafShape& shape, const std::vector<PageRef>& pages, const TakeLimits& limits)
      : shape_(&shape), pages_(&pages), limits_(limits) {}

  // Parts hold consecutive rows and may be read side by side. The only part is in memory that this thread used before.
  Outcome begin(std::span<const int64_t> part_rows, ResultMemory* memory);
  Outcome run(size_t part, Request* request);
  // Lays the rows of all parts out. `request` reads blobs; null where rows are in several parts.
  Outcome finish(Request* request, ResultMemory* memory, LeafOut* out);
  // All of it for rows in one part.
  Outcome take(int64_t num_rows, Request* request, ResultMemory* memory, LeafOut* out);

 private:
  Outcome lay_values(int64_t num_bytes, ResultMemory* memory, LeafOut* out);
  Outcome lay_codes(ResultMemory* memory, LeafOut* out);
  Outcome lay_fields(ResultMemory* memory, LeafOut* out);
  Outcome read_blobs(Request* request, ResultMemory* memory, LeafOut* out);
  Outcome lend_large(const LaRuns& rows, ResultMemory* memory);

  const LeafShape* shape_;
  const std::vector<PageRef>* pages_;
  TakeLimits limits_;
  Leaf leaf_;
  Region lent_;  // where values, or codes, are decoded as Arrow wants them
};

}  // namespace lance_arrow::engine
