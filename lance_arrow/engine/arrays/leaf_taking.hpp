// Rows of leaves, from pages to the buffers of Arrow arrays: read, opened and laid out, leaf after leaf.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/arrays/leaf_arrays.hpp"
#include "engine/arrays/result_memory.hpp"
#include "engine/plan/list_levels.hpp"

namespace lance_arrow::engine {

// Values that are places of blobs, which are read in their stead.
struct BlobShape {
  int64_t data_stop;  // where the values of the file end
  int64_t most_bytes;  // of all blobs
  int64_t most_at_once;  // more of them are read by several threads, later
  int offset_bits;
};

// How values of variable width come. `kStored` and `kJudged` are for pages of which most have a dictionary of few
// items: others come as they are. Where not all of them have one, what is to be judged comes as codes. Numbers are
// judged without one, too.
enum class Form {
  kPlain,  // as they are
  kCodes,  // as codes into one dictionary
  kViews,  // as views
  kTextViews,  // as views that were checked as UTF-8
  kStored,  // as codes
  kJudged,  // as flags, whether the items, or numbers, satisfy a condition
  kKept,  // of a schema with dictionaries: as indices, and the items of each page
};

// What the schema says of the dictionaries of a leaf.
struct KeptShape {
  int64_t item_bits;  // 0: variable width
  int item_offset_bits;  // of Arrow's offsets, for variable width
  int64_t most_items;  // that the index type can count
};

// What the schema says of a leaf.
struct LeafShape {
  std::vector<int> offset_bits;  // per node of the path, inner-most first: the width of a list's offsets, or 0
  std::vector<int64_t> dimensions;  // the same of fixed-size lists of structs: structs of each; empty without any
  int64_t lengths_per_row = 1;  // rows that pages count for one row
  int64_t value_bits = 0;  // 0: variable width; kNoValues. Pages whose values are rows of parts tell their own
  int value_offset_bits = 0;  // of Arrow's offsets, for variable width
  bool is_text = false;  // whether values of variable width, or their items, are checked as UTF-8
  std::vector<int64_t> field_bits;  // of a packed struct, all whole bytes
  Form form = Form::kPlain;  // but for plain ones, rows are one part
  std::vector<int64_t> list_parts;  // of fixed-size lists: bits of each part, were there a bitmap of each layer
  std::optional<BlobShape> blobs;
  std::optional<KeptShape> kept;  // of the form kKept
  std::shared_ptr<const NumberCondition> numbers;  // of the form kJudged, where numbers can be judged without items
  std::shared_ptr<const TextCondition> texts;  // the same of values of any length
  bool keeps_codes = false;  // whether pages of few items give codes rather than flags
};

struct Region {
  uint8_t* bytes = nullptr;
  int64_t size = 0;
};

// The dictionary of neighbouring values.
struct DictionaryOut {
  int64_t num_values, num_items;
  Region items, offsets;
};

// What was laid out of a leaf.
struct LeafOut {
  int64_t num_values = 0;
  Form form = Form::kPlain;  // how values came
  Region values, offsets;  // codes, views or flags are values without offsets
  std::vector<Region> fields;  // of a packed struct, or of lists with bitmaps, instead of values
  Region positions;  // of blobs that others read
  int64_t num_items = 0;  // of codes: their dictionary
  Region items, item_offsets;  // of views: the bytes that they point to
  int64_t buffer_bytes = 0;  // of views: the bytes are shown as buffers that begin so far after each other
  std::vector<NodeOut> nodes;  // inner-most first; validity is null where no slot is
  std::vector<DictionaryOut> dictionaries;  // of kept ones
  int64_t num_flagged = 0;  // of judged values, where these are counted

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
  // `shape` and `pages` outlive it, and `lists`: columns of lists above the leaf, empty where pages tell of these.
  // `beside` is a leaf that is read before, or null: lists above both are read once.
  LeafTaking(const LeafShape& shape, const std::vector<PageRef>& pages, const ListPages& lists,
             const LeafTaking* beside, const TakeLimits& limits);

  bool is_below_lists() const { return !lists_->empty(); }

  // Whether its items are to be judged before it begins; without a verdict they come as they are.
  bool is_judged() const { return form_ == Form::kJudged; }
  void judge(std::unique_ptr<JudgedItems> verdict) {
    judged_ = std::move(verdict);
    if (judged_ == nullptr) form_ = Form::kPlain;
  }

  // Parts hold consecutive rows and may be read side by side. The only part is in memory that this thread used before.
  Outcome begin(std::span<const int64_t> part_rows, ResultMemory* memory);
  Outcome run(size_t part, Request* request);
  // Lays the rows of all parts out. `request` reads blobs; null where rows are in several parts.
  Outcome finish(Request* request, ResultMemory* memory, LeafOut* out);
  // All of it for rows in one part.
  Outcome take(int64_t num_rows, Request* request, ResultMemory* memory, LeafOut* out);

 private:
  bool is_viewed() const { return form_ == Form::kViews || form_ == Form::kTextViews; }
  Outcome lay_values(int64_t num_bytes, ResultMemory* memory, LeafOut* out);
  Outcome check_text(const LeafOut& out) const;
  Outcome lay_codes(ResultMemory* memory, LeafOut* out);
  Outcome lay_views(ResultMemory* memory, LeafOut* out);
  Outcome lay_flags(ResultMemory* memory, LeafOut* out);
  Outcome descend(size_t part, Request* request, LaRuns* values);
  Outcome make_room(ResultMemory* memory);
  Outcome lay_lists(ResultMemory* memory, LeafOut* out);
  Outcome lay_dictionaries(ResultMemory* memory, LeafOut* out);
  Outcome lay_fields(ResultMemory* memory, LeafOut* out);
  Outcome read_blobs(Request* request, ResultMemory* memory, LeafOut* out);
  Outcome lend_large(const LaRuns& rows, ResultMemory* memory);

  const LeafShape* shape_;
  const std::vector<PageRef>* pages_;
  const ListPages* lists_;
  const LeafTaking* beside_;
  TakeLimits limits_;
  Form form_;
  std::unique_ptr<JudgedItems> judged_;
  Leaf leaf_;
  std::vector<ListParts> list_parts_;  // of each part of the rows
  Region lent_;  // where values, codes or views are decoded as Arrow wants them
  ResultMemory* memory_ = nullptr;  // that more is lent of while rows are read
  Region lent_bytes_;  // where the bytes are that views point to
};

}  // namespace lance_arrow::engine
