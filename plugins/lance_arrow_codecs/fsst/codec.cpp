#include "lance_arrow_codecs/fsst/codec.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>

#include "lance_arrow/text_ranges.hpp"
#include "lance_arrow_codecs/fsst/symbols.hpp"

namespace lance_arrow::codecs {
namespace {

constexpr LaRefusal kWrongCode = "an FSST value has a code without a symbol, or ends in an escape";

LaRefusal append_symbols(const SymbolTable& table, const uint8_t* codes, int64_t size, int64_t value, LaValues* out) {
  // A code stands for at most 8 bytes; 8 more let every symbol be written whole.
  return append(out, value, 8 * size + 8, kWrongCode,
                [&](uint8_t* to, int64_t room) { return table.expand(codes, size, to, room); });
}

// Codes of chunks or blocks.
struct Symbols {
  const LaChunkCodec* child;
  SymbolTable table;
  uint64_t number = ++last_number;  // no other has it, unlike the address

  static inline std::atomic<uint64_t> last_number{0};

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const Symbols*>(self);
    const Leased<Intermediate> leased;  // the child may be FSST too, or hold it
    Intermediate& codes = *leased;
    const int64_t count = num_selected(*runs);
    if (const LaRefusal refusal = form.find_codes(chunk, runs, count, &codes)) return refusal;
    const int64_t* ends = codes.ends.data();
    int64_t start = 0, alone = 0;  // values below `alone` are taken one by one
    for (int64_t value = 0; value < count;) {
      const uint8_t* bytes = codes.bytes.data() + start;
      if (value >= alone && count - value > 1 && form.table.is_compressed() && ends[value] - start < kLongValue) {
        const int64_t stop = stream_stop(codes.bytes.data(), ends, value, count, start);
        if (stop > value && append_stream(form.table, bytes, start, ends, value, stop, out)) {
          start = ends[stop - 1];
          value = stop;
          continue;
        }
        alone = std::max(stop, value + 1);
      }
      if (const LaRefusal failed = append_symbols(form.table, bytes, ends[value] - start, value, out)) return failed;
      start = ends[value++];
    }
    return kDone;
  }

  LaRefusal find_codes(const LaChunk* chunk, const LaRuns* runs, int64_t count, Intermediate* codes) const {
    codes->ends.resize(static_cast<size_t>(count));
    LaValues place{nullptr, 0, codes->ends.data(), 0, &Intermediate::reserve, codes};
    return child->select(child->self, chunk, runs, &place);
  }

  // Codes are compared symbol by symbol: most values differ in the first ones.
  static LaRefusal select_texts(const void* self, const LaChunk* chunk, const LaRuns* runs, const LaTextRanges* ranges,
                                uint8_t* marks) {
    const auto& form = *static_cast<const Symbols*>(self);
    const Leased<Intermediate> leased;
    Intermediate& codes = *leased;
    const int64_t count = num_selected(*runs);
    if (const LaRefusal refusal = form.find_codes(chunk, runs, count, &codes)) return refusal;
    const uint8_t* bytes = codes.bytes.data();
    const bool are_known = form.table.all_known(bytes, count == 0 ? 0 : codes.ends[static_cast<size_t>(count - 1)]);
    const int64_t* ends = codes.ends.data();
    if (!are_known && !form.are_right(bytes, ends, count)) return kWrongCode;
    form.mark_first(bytes, ends, count, *ranges, marks);
    for (int64_t value = 0; value < count; ++value) {
      if (marks[value] != RangeHead::kUndecided) {
        const void* next = std::memchr(marks + value, RangeHead::kUndecided, static_cast<size_t>(count - value));
        if (next == nullptr) break;
        value = static_cast<const uint8_t*>(next) - marks;
      }
      const int64_t start = value == 0 ? 0 : ends[value - 1], size = ends[value] - start;
      marks[value] = is_in_ranges(
          *ranges, [&](const LaTextBound& bound) { return form.table.compare(bytes + start, size, bound); });
    }
    return kDone;
  }

  bool are_right(const uint8_t* codes, const int64_t* ends, int64_t count) const {
    int64_t start = 0;
    for (int64_t value = 0; value < count; start = ends[value++])
      if (table.measure(codes + start, ends[value] - start) < 0) return false;
    return true;
  }

  // What first codes tell of a range.
  struct FirstCodes {
    uint64_t number = 0;
    RangeHead head;
    bool may_decide = false;
    std::array<uint8_t, 256> sides;
  };

  // Marks values by the sides of a range that they lie on, as far as their first codes tell.
  void mark_first(const uint8_t* codes, const int64_t* ends, int64_t count, const LaTextRanges& ranges,
                  uint8_t* marks) const {
    // Chunks of a page are asked for the same range, one after another.
    thread_local FirstCodes known;
    if (const RangeHead head(ranges); known.number != number || known.head != head) {
      table.find_sides(head, known.sides.data());
      known.number = number;
      known.head = head;
      known.may_decide = table.is_compressed() && head.decides();
    }
    if (!known.may_decide) {
      std::fill_n(marks, count, uint8_t{RangeHead::kUndecided});
      return;
    }
    const auto sides = known.sides;  // a copy: compilers find thread-local data again for each value
    int64_t start = 0, undecided = 0;
    for (int64_t value = 0; value < count; ++value) {
      const int64_t end = ends[value];
      marks[value] = start < end ? sides[codes[start]] : uint8_t{RangeHead::kUndecided};
      undecided += marks[value] == RangeHead::kUndecided;
      start = end;
    }
    // Values that begin alike are compared with the bounds at once.
    known.may_decide = 8 * undecided <= 7 * count;
  }

  // First value that makes the stream of values value .. too long, or ends in an escape: see CodedValues::stream_stop.
  static int64_t stream_stop(const uint8_t* codes, const int64_t* ends, int64_t value, int64_t count, int64_t begin) {
    for (int64_t end = begin; value < count && ends[value] - begin <= kStreamCodes; end = ends[value++])
      if (ends[value] > end && codes[ends[value] - 1] == kEscape) break;
    return value;
  }

  // Appends values value .. stop, which are one stream; false when they must be taken one by one.
  static bool append_stream(const SymbolTable& table, const uint8_t* codes, int64_t begin, const int64_t* ends,
                            int64_t value, int64_t stop, LaValues* out) {
    uint32_t decoded[kStreamCodes + 1];
    const int64_t size = ends[stop - 1] - begin;
    uint8_t* to = out->reserve(out->host, out->end, 8 * size + 8);
    if (to == nullptr || !table.expand_stream(codes, size, to, decoded)) return false;
    for (; value < stop; ++value) out->ends[value] = out->end + decoded[ends[value] - begin];
    out->end += decoded[size];
    return true;
  }
};

// Zipped codes.
struct ZippedSymbols {
  SymbolTable table;

  static LaRefusal expand(const void* self, const uint8_t* data, const int64_t* starts, const int64_t* sizes,
                          int64_t num_values, LaValues* out) {
    const auto& form = *static_cast<const ZippedSymbols*>(self);
    for (int64_t value = 0; value < num_values; ++value) {
      const LaRefusal failed = append_symbols(form.table, data + starts[value], sizes[value], value, out);
      if (failed != nullptr) return failed;
    }
    return kDone;
  }
};

}  // namespace

HeldChunkCodec* hold_symbols(const LaChunkCodec* child, const uint8_t* table, int64_t table_bytes, Outcome* outcome) {
  *outcome = success();
  if (child->bits != 0) return nullptr;
  auto form = std::make_shared<Symbols>();
  form->child = child;
  *outcome = form->table.open(table, table_bytes);
  return outcome->message != nullptr ? nullptr : hold(form, 0, child->num_buffers, 0);
}

HeldChunkMarks* hold_symbol_marks(const LaChunkCodec* codec) {
  if (codec == nullptr || codec->select != &Symbols::select) return nullptr;
  return new HeldChunkMarks{{sizeof(LaChunkMarks), codec->self, nullptr, nullptr, &Symbols::select_texts}, nullptr};
}

HeldValueCodec* hold_zipped_symbols(const uint8_t* table, int64_t table_bytes, Outcome* outcome) {
  auto form = std::make_shared<ZippedSymbols>();
  *outcome = form->table.open(table, table_bytes);
  return outcome->message != nullptr ? nullptr : hold_values(form, 0, false);
}

}  // namespace lance_arrow::codecs
