// What pages and the engine say to each other: ranges to read, and a part of a leaf that opened rows are appended to.
#pragma once

#include <memory>
#include <vector>

#include "engine/plan/buffer.hpp"
#include "engine/plan/item_codes.hpp"
#include "engine/plan/judged_items.hpp"
#include "engine/plan/select_rows.hpp"
#include "engine/plan/selection_bitmap.hpp"
#include "engine/plan/value_views.hpp"
#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::engine {

// Bytes within a range that mean something of their own: values, or (chunk >= 0) the header of a chunk.
struct Piece {
  size_t range;
  int64_t offset;
  int64_t size;
  int64_t chunk;
};

// Byte ranges of a page's data buffer, ascending and disjoint; neighbours are one range. Those from number `second` on
// lie in the page's second buffer, those from number `third` on in its third.
struct Ranges {
  static constexpr size_t kNone = static_cast<size_t>(-1);
  std::vector<int64_t> starts, stops;
  size_t second = kNone, third = kNone;
  std::vector<Piece> pieces;  // where a page wants to find them again
  bool has_headers = false;

  void clear() {
    starts.clear();
    stops.clear();
    pieces.clear();
    has_headers = false;
    second = third = kNone;
  }
  void begin_second() { second = starts.size(); }
  void begin_third() { third = starts.size(); }
  // Whether a range is the first of a buffer, so that none before it is its neighbour.
  bool begins_buffer(size_t range) const { return range == 0 || range == second || range == third; }
  void add_piece(int64_t start, int64_t stop, int64_t chunk) {
    add(start, stop);
    pieces.push_back({starts.size() - 1, start - starts.back(), stop - start, chunk});
    has_headers |= chunk >= 0;
  }
  void add(int64_t start, int64_t stop) {
    if (!begins_buffer(starts.size()) && stops.back() == start) {
      stops.back() = stop;
    } else {
      starts.push_back(start);
      stops.push_back(stop);
    }
  }
  // Adds a range that may begin within the one before.
  void add_shared(int64_t start, int64_t stop) {
    if (!begins_buffer(starts.size()) && start < stops.back()) {
      stops.back() = std::max(stops.back(), stop);
    } else {
      add(start, stop);
    }
  }
  // Whether there is one range, or they have so many bytes on average.
  bool are_large(int64_t bytes) const {
    int64_t wanted = 0;
    for (size_t range = 0; range < starts.size(); ++range) wanted += stops[range] - starts[range];
    return wanted >= bytes * static_cast<int64_t>(starts.size()) || starts.size() == 1;
  }
};

// Rows of a leaf: where levels lie, per page since each page has layers of its own, and all values together.
struct LevelPart {
  const std::vector<uint8_t>* layers;  // of the page, inner-most first
  int64_t num_entries;
  int64_t rep_at, def_at;  // -1: the page stores no such stream
  int64_t page_row;  // first row of the page
  bool is_shared;  // as `Page::has_shared_levels`
};

// Values of one page. Where they are indices into its items, and it has none, none of them is valid.
struct ItemSpan {
  const Items* items;
  int64_t num_values;
  int64_t page_row;  // first row of the page
};

// Who lends the memory where values of variable width belong in the end, once it can be told how much they need.
struct Lender {
  int64_t num_values = 0;  // of all that will be appended
  uint8_t* (*lend)(void* host, int64_t num_bytes) = nullptr;  // null where there is no such memory
  void* host = nullptr;
};

struct LeafPart {
  int64_t limit = 0;
  Lender lender;
  std::vector<LevelPart> levels;
  std::vector<uint16_t> rep, def;
  int64_t num_values = 0;
  Buffer values;  // fixed width: at num_values * bits; variable width: bytes
  int64_t bit_offset = 0;  // of the first value, where values are bits
  std::vector<int64_t> ends;  // variable width
  int64_t num_bytes = 0;  // variable width
  std::unique_ptr<ItemCodes> coded;  // where values are wanted as codes into one dictionary
  std::unique_ptr<ValueViews> viewed;  // where they are wanted as views, whose bytes end at `num_bytes` in `values`
  std::unique_ptr<JudgedItems> judged;  // where it is wanted whether they satisfy a condition
  int64_t num_formed = 0;  // values that have a code, a view or a mark; later ones lie in `values` and `ends`
  int64_t def_formed = 0;  // levels of these, where they are marked
  int64_t num_forgotten = 0;  // values that have a mark: `values` and `ends` begin behind them
  int64_t end_formed = 0;  // where the bytes that views point to end
  std::vector<ItemSpan> spans;  // of pages that keep their items, in order
  std::vector<int64_t> item_starts, item_stops;  // of lists: their items in another column, ascending and disjoint
  int64_t first_item = 0;  // of that column, where the items of the page begin that is being opened

  bool takes_indices() const { return coded != nullptr || viewed != nullptr || judged != nullptr; }

  // Replaces the values that were appended since the last call by their codes, views or marks. The last levels may be
  // those of values that follow.
  Outcome form_values(int64_t num_later_levels = 0) {
    if (!takes_indices() || num_formed == num_values) return success();
    const int64_t* new_ends = ends.data() + (num_formed - num_forgotten);
    const int64_t count = num_values - num_formed;
    num_formed = num_values;
    if (judged != nullptr) return mark_last(count, num_later_levels);
    if (viewed != nullptr) {
      const Outcome outcome = viewed->add_values(new_ends, count, &values, &end_formed);
      num_bytes = end_formed;
      return outcome;
    }
    num_bytes = 0;
    return coded->add_values(values.data(), new_ends, count, limit);
  }

  Outcome add_indices(const ItemIndices& wanted, int64_t index_bytes, const Items& items) {
    Outcome outcome = form_values();
    if (outcome.message != nullptr) return outcome;
    if (judged != nullptr) {
      outcome = judged->add_indices(wanted, index_bytes, items);
    } else if (viewed != nullptr) {
      outcome = viewed->add_indices(wanted, index_bytes, items, limit, &values, &end_formed);
      num_bytes = end_formed;
    } else {
      outcome = coded->add_indices(wanted, index_bytes, items, limit);
    }
    num_values += wanted.count;
    num_formed = num_values;
    def_formed = static_cast<int64_t>(def.size());
    if (judged != nullptr) num_forgotten = num_values;
    return outcome;
  }

  // Marks the last values, which are forgotten then: the next ones take their place, in the cache.
  Outcome mark_last(int64_t count, int64_t num_later_levels) {
    const int64_t num_levels = static_cast<int64_t>(def.size()) - def_formed - num_later_levels;
    if (num_levels != 0 && num_levels != count) return misuse("levels and values differ in number");
    const uint16_t* levels = num_levels == 0 ? nullptr : def.data() + def_formed;
    const Outcome outcome = judged->texts() != nullptr ? judged->add_texts(values.data(), 0, ends.data(), count, levels)
                                                       : judged->add_numbers(values.data(), count, levels);
    def_formed += num_levels;
    num_forgotten = num_values;
    num_bytes = 0;
    return outcome;
  }

  // Appends the marks of values that are not decoded. `write(marks)` returns LA_LEFT where they must be.
  template <class Write>
  LaRefusal append_marks(int64_t count, const uint16_t* def, Write&& write) {
    const LaRefusal refusal = write(judged->place_marks(count));
    if (refusal != kDone) return refusal;
    judged->took_marks(count, def);
    num_values += count;
    num_formed = num_forgotten = num_values;
    def_formed = static_cast<int64_t>(this->def.size());
    return kDone;
  }

  // Appends the items that indices name: as codes, views or flags where these are asked for, else their values.
  Outcome append_items(const ItemIndices& wanted, int64_t index_bytes, const Items& items) {
    if (takes_indices()) return add_indices(wanted, index_bytes, items);
    LaValues to = place(wanted.count, items.bits);
    if (to.values == nullptr) return above_limit();
    const Outcome outcome = items.expand(wanted, index_bytes, &to);
    if (outcome.message == nullptr) took(wanted.count, to);
    return outcome;
  }

  static uint8_t* reserve(void* self, int64_t end, int64_t num_bytes) {
    auto* part = static_cast<LeafPart*>(self);
    return part->values.reserve(end, num_bytes, part->limit);
  }

  // A place for `count` more values of `bits` each (0: variable); `values` is null when a limit forbids it.
  LaValues place(int64_t count, int64_t bits) {
    LaValues out{nullptr, 0, nullptr, num_bytes, &LeafPart::reserve, this};
    if (bits == 0) {
      if (lender.lend != nullptr) move_to_loan();
      ends.resize(static_cast<size_t>(num_values - num_forgotten + count));
      out.ends = ends.data() + (num_values - num_forgotten);
      out.values = values.reserve(num_bytes, 0, limit);
    } else if (bits == 1) {
      const int64_t start = bit_offset + num_values;
      out.values = values.reserve(0, (start + count + 7) / 8, limit);
      out.bit_offset = start;
    } else if (num_values + count <= limit / (bits / 8)) {
      out.values = values.reserve((num_values - num_forgotten) * (bits / 8), count * (bits / 8), limit);
    }
    return out;
  }

  // The first batch tells how much all values need: they are moved once, and the others are decoded where they belong.
  void move_to_loan() {
    constexpr int64_t least_bytes = 64 << 10;  // less is copied in the end
    if (num_bytes < least_bytes) return;
    const double expected = static_cast<double>(num_bytes) / static_cast<double>(num_values) *
                            static_cast<double>(lender.num_values) * 17 / 16;
    uint8_t* const lent = expected < static_cast<double>(limit)
                              ? lender.lend(lender.host, std::max(static_cast<int64_t>(expected), num_bytes))
                              : nullptr;
    if (lent != nullptr) {
      copy_bytes(lent, values.data(), num_bytes);
      values.lend(lent, std::max(static_cast<int64_t>(expected), num_bytes), true);
    }
    lender = {};
  }

  void took(int64_t count, const LaValues& out) {
    num_values += count;
    num_bytes = out.end;
  }

  // Forgets what was read, and keeps the memory.
  void clear() {
    values.end_loan();
    lender = {};
    levels.clear();
    rep.clear();
    def.clear();
    ends.clear();
    spans.clear();
    item_starts.clear();
    item_stops.clear();
    num_values = bit_offset = num_bytes = num_formed = end_formed = def_formed = num_forgotten = 0;
    coded.reset();
    viewed.reset();
    judged.reset();
  }
};

inline int64_t kept_bytes(const LeafPart& part) {
  return kept_bytes(part.values) + lance_arrow::kept_bytes(part.rep) + lance_arrow::kept_bytes(part.def) +
         lance_arrow::kept_bytes(part.ends);
}

// A thread that reads leaf after leaf fills the same memory again: fresh pages cost more than what is written to them.
inline std::unique_ptr<LeafPart> borrow_part() { return Spare<LeafPart>::take(); }

inline void give_back_part(std::unique_ptr<LeafPart> part) {
  part->clear();
  Spare<LeafPart>::give_back(std::move(part));
}

// A long run is read and opened in batches of about this many bytes, which stay in a core's cache.
constexpr int64_t kBatchBytes = 256 << 10;
// The same where Python decodes: each call waits for the interpreter's lock.
constexpr int64_t kCalledBytes = 4 << 20;

// Plain values of rows that begin so many bytes from each other are read with all that lies between them.
constexpr int64_t kCloseBytes = 1 << 10;

// Items are few, compared with rows, where each is named so often.
constexpr int64_t kRowsPerItem = 8;

// Bytes that were read: range i lies at data + places[i].
struct Fetched {
  const uint8_t* data;
  const int64_t* places;
};

// Where a row that is one value lies in the page's data buffer, were its value stored as it is.
struct StoredRow {
  int64_t start;
  int64_t head_bytes;  // levels, length and the codec's own head
  int64_t value_bytes;
};

constexpr int64_t kMostHead = 64;

// Where the buffers of a page lie in the file, as many as an index is made of.
struct PageBuffers {
  static constexpr size_t kMost = 6;
  int64_t starts[kMost], sizes[kMost];
  size_t count = 0;
};

class Fetcher;

// Bits of a value where a leaf has none: nulls, and structs without fields.
constexpr int64_t kNoValues = -1;

class Page {
 public:
  virtual ~Page() = default;
  int64_t num_rows = 0;
  int64_t value_bits = 0;  // of decoded values; 0: variable width; kNoValues
  std::vector<int64_t> parts;  // where a value is a row of parts: bits of each, which has whole bytes of the row
  std::vector<uint8_t> layers;  // inner-most first
  // Of fixed-size lists of structs: whether only the first struct's entry begins the lists around them.
  bool has_shared_levels = false;
  std::vector<int64_t>
      dimensions;  // of such a page, as it tells them itself: inner-most first; empty without such lists
  // There are no levels, and the ranges of plan() are the values, back to back, unless they have headers too.
  bool is_plain = false;
  // plan() names what plan_values() needs, and that names the ranges that are the values, back to back.
  bool in_two_steps = false;

  // Whether the page knows where its rows are. Else it reads that, once, before anything that follows is asked.
  virtual bool is_indexed() const { return true; }
  virtual Outcome load_index(const PageBuffers&, Fetcher*) const { return misuse("a page has no index to read"); }
  // About how many bytes each chunk of a page has that is not indexed; 0 where that is not known, or sizes may differ.
  virtual int64_t even_chunk_bytes(const PageBuffers&) const { return 0; }
  // Memory of what was read of it to be kept.
  virtual int64_t index_bytes() const { return 0; }

  // End of the rows that are opened together for a long run of rows from `row` on. These are a few chunks at a time,
  // and no chunk twice. A page that counts its rows only when all are opened returns its end.
  virtual int64_t batch_stop(int64_t) const { return num_rows; }

  // Row up to which many short runs from `row` on are opened together, however many they are; 0: a few runs at a time.
  virtual int64_t close_stop(int64_t) const { return 0; }

  // Whether values are indices into few items, compared with the rows: as codes they take less than expanded.
  virtual bool has_few_items() const { return false; }
  // Whether values are numbers, or (`has_texts`) of any length, that are appended one for each row, so that they can be
  // marked batch by batch.
  virtual bool has_numbers() const { return false; }
  virtual bool has_texts() const { return false; }
  // The items, once the page is indexed; null where values are no indices.
  virtual const Items* items() const { return nullptr; }
  // The items, once the page is indexed, where values are indices into them and stay so; else null.
  virtual const Items* kept_items() const { return nullptr; }

  // Whether rows that are selected, one of about so many, are best picked out of all.
  virtual bool picks_selected(int64_t) const { return false; }
  // For such pages: ranges with rows start .. stop of the page; and the selected ones of them, `count` in all. The
  // bitmap counts rows of the column; `first_row` is the page's first one.
  virtual Outcome plan_all(int64_t, int64_t, Ranges*) const { return misuse("a page takes no selection"); }
  virtual Outcome open_selected(int64_t, int64_t, const SelectionBitmap&, int64_t, int64_t, const Ranges&,
                                const Fetched&, LeafPart*) const {
    return misuse("a page takes no selection");
  }

  // About how many bytes the values of rows have, none of them decoded; 0 where that is not known, or they are small.
  virtual int64_t expected_bytes(const LaRuns&) const { return 0; }

  // Whether values of rows may be stored as they are, one a row, and most are large.
  virtual bool may_be_stored(const LaRuns&) const { return false; }
  virtual bool stored_row(int64_t, StoredRow*) const { return false; }
  virtual bool has_def() const { return false; }  // whether such rows have a definition level, then 0
  // Whether the head that was read says so; the page remembers, and stops to hope where too few are.
  virtual bool is_stored(const uint8_t*, const StoredRow&) const { return false; }

  virtual Outcome plan(const LaRuns& rows, Ranges* out) const = 0;
  virtual Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const = 0;

  // Appends all of the rows to `out` but the bytes of their values, which lie in `values`.
  virtual Outcome plan_values(const LaRuns&, const Ranges&, const Fetched&, Ranges*, LeafPart*) const {
    return misuse("a page is opened in one step");
  }
  // Decodes those values, from number `first_value` on, once their bytes were read to `first_byte`.
  virtual Outcome close_values(int64_t, int64_t, LeafPart*) const { return success(); }
};

// What a codec says: of bytes, unless it is one of the sentences that are not.
inline Outcome refused(LaRefusal refusal, Limited limited = kBatch) {
  if (refusal == nullptr) return success();
  if (std::strcmp(refusal, LA_ABOVE_LIMIT) == 0) return above_limit(limited);
  return {refusal, -1, std::strcmp(refusal, LA_LEFT) == 0 ? kCaller : kBytes};
}

}  // namespace lance_arrow::engine
