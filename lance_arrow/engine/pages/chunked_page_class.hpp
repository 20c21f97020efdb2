// Mini-block pages in the engine: which chunks hold the rows, and selected rows of opened chunks.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "engine/bind/called_codecs.hpp"
#include "engine/pages/chunked_page.hpp"
#include "engine/tables/chunk_tables.hpp"
#include "lance_arrow/prefetch.hpp"
#include "lance_arrow/text_ranges.hpp"

namespace lance_arrow::engine {

class ChunkedPage : public Page {
 public:
  ChunkedPage(const ChunkForm& form, const ChunkIndexForm& index)
      : form_(form), called_(CalledChunks::of(form.values)), marks_(CalledChunks::marks_of(form.values)) {
    own_.form = index;
    const bool by_value = form.values->plain_bytes > 0 && form.rep == nullptr && form.def == nullptr && !form.has_items;
    is_plain = by_value;
    plain_bytes_ = by_value ? form.values->plain_bytes : 0;
    const int64_t header = 2 + form.values->num_buffers * (form.large ? 4 : 2);
    plain_header_ = (header + 7) & ~int64_t{7};
    value_bits = expands() ? form.items.bits : form.values->bits;
  }

  bool is_indexed() const override { return is_indexed_.load(std::memory_order_acquire); }
  Outcome load_index(const PageBuffers& buffers, Fetcher* fetcher) const override;
  int64_t index_bytes() const override;

  int64_t even_chunk_bytes(const PageBuffers& buffers) const override;

  int64_t batch_stop(int64_t row) const override {
    const int64_t count = places_.num_chunks + 1;
    const int64_t* borders = places_.rows_started == nullptr ? places_.value_starts : places_.rows_finished;
    const int64_t first = find(places_.rows_started == nullptr ? borders : places_.rows_started, count, row);
    int64_t chunk = find(places_.chunk_starts, count,
                         places_.chunk_starts[first] + (called_ == nullptr ? kBatchBytes : kCalledBytes));
    while (chunk < places_.num_chunks && borders[chunk] <= row) ++chunk;
    return chunk < places_.num_chunks ? borders[chunk] : num_rows;
  }

  int64_t close_stop(int64_t row) const override { return batch_stop(row); }

  bool has_few_items() const override {
    if (!expands()) return false;
    return own_.form.num_items <= num_rows / kRowsPerItem;
  }

  bool has_numbers() const override { return form_.rep == nullptr && !form_.has_items && form_.values->bits >= 8; }
  bool has_texts() const override { return form_.rep == nullptr && !form_.has_items && form_.values->bits == 0; }

  const Items* items() const override { return expands() ? &form_.items : nullptr; }
  const Items* kept_items() const override { return form_.keeps_items ? &form_.items : nullptr; }

  bool picks_selected(int64_t rows_per_wanted) const override {
    constexpr int64_t most_rows_per_wanted = 16;  // a chunk from which fewer are wanted is not decoded whole
    if (form_.rep != nullptr || form_.values->bits < 8) return false;
    return plain_bytes_ > 0 ? rows_per_wanted * plain_bytes_ <= kCloseBytes : rows_per_wanted <= most_rows_per_wanted;
  }

  Outcome plan_all(int64_t start, int64_t stop, Ranges* out) const override {
    out->clear();
    const auto [first, last] = chunks_of(start, stop);
    out->add(places_.chunk_starts[first], places_.chunk_starts[last]);
    return success();
  }

  Outcome plan(const LaRuns& rows, Ranges* out) const override {
    out->clear();
    int64_t next = 0;  // chunks before it are in the plan, or their headers are
    int64_t before = 0;
    for (int64_t run = 0; run < rows.num_runs; ++run) {
      const auto [first, stop] = chunks_of(rows.starts[run], rows.stops[run], before);
      before = first;
      if (plain_bytes_ > 0) {
        const Outcome outcome = plan_plain_values(rows.starts[run], rows.stops[run], first, stop, &next, out);
        if (outcome.message != nullptr) return outcome;
        continue;
      }
      const int64_t from = std::max(first, next);
      if (from < stop) out->add(places_.chunk_starts[from], places_.chunk_starts[stop]);
      next = std::max(next, stop);
    }
    return success();
  }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    if (plain_bytes_ > 0) return open_values(ranges, fetched, out);
    return form_.rep == nullptr ? open_flat(rows, ranges, fetched, out) : open_nested(rows, ranges, fetched, out);
  }

  Outcome open_selected(int64_t start, int64_t stop, const SelectionBitmap& selection, int64_t first_row, int64_t count,
                        const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override;

 private:
  // Of an entry of the chunk table.
  int64_t word_bytes() const { return form_.large ? 4 : 2; }
  // Whether values are items in place of the indices that chunks hold.
  bool expands() const { return form_.has_items && !form_.keeps_items; }

  struct Opened {
    LaChunk chunk;
    const uint8_t* buffers[8];
    int64_t sizes[8];
    int64_t num_levels;
    const uint8_t* rep;
    const uint8_t* def;
    int64_t rep_size, def_size;
    const DecodedChunks* decoded = nullptr;  // where Python decoded the chunk together with others
    int64_t first_decoded = 0;

    Opened() = default;
    Opened(const Opened& other) { *this = other; }
    Opened& operator=(const Opened& other) {
      if (this == &other) return *this;
      std::memcpy(buffers, other.buffers, sizeof(buffers));
      std::memcpy(sizes, other.sizes, sizeof(sizes));
      chunk = {buffers, sizes, other.chunk.num_buffers, other.chunk.num_values};
      num_levels = other.num_levels;
      rep = other.rep, def = other.def;
      rep_size = other.rep_size, def_size = other.def_size;
      decoded = other.decoded, first_decoded = other.first_decoded;
      return *this;
    }
  };

  // Chunks that Python decodes in one call.
  struct CalledScratch {
    std::vector<Opened> chunks;
    DecodedChunks decoded;
  };

  struct NestedScratch;

  // The last start <= wanted; it is found soon if it is not far behind `from`.
  static int64_t find(const int64_t* starts, int64_t count, int64_t wanted, int64_t from = 0) {
    if (starts[from] > wanted) from = 0;
    int64_t step = 1;
    for (; from + step < count && starts[from + step] <= wanted; step *= 2) from += step;
    return std::upper_bound(starts + from + 1, starts + std::min(from + step, count), wanted) - starts - 1;
  }

  // Chunks that hold rows; they are found soon if the first is not far behind `from`.
  std::pair<int64_t, int64_t> chunks_of(int64_t start, int64_t stop, int64_t from = 0) const {
    const int64_t count = places_.num_chunks + 1;
    if (places_.rows_started == nullptr) {
      const int64_t first = find(places_.value_starts, count, start, from);
      if (stop <= places_.value_starts[first + 1]) return {first, first + 1};
      return {first, std::lower_bound(places_.value_starts + first + 1, places_.value_starts + count, stop) -
                         places_.value_starts};
    }
    return {find(places_.rows_started, count, start, from),
            std::lower_bound(places_.rows_finished, places_.rows_finished + count, stop) - places_.rows_finished};
  }

  // Single values of chunks without levels: the header's form, and so the place of a value, is the same in each. Each
  // header is read along once, by the first read of its chunk.
  Outcome plan_plain_values(int64_t start, int64_t stop, int64_t first, int64_t last, int64_t* next,
                            Ranges* out) const {
    for (int64_t chunk = first; chunk < last; ++chunk) {
      const int64_t begin = std::max(start, places_.value_starts[chunk]) - places_.value_starts[chunk];
      const int64_t end = std::min(stop, places_.value_starts[chunk + 1]) - places_.value_starts[chunk];
      const int64_t chunk_start = places_.chunk_starts[chunk], bytes = chunk_start + plain_header_;
      if (bytes + end * plain_bytes_ > places_.chunk_starts[chunk + 1])
        return corrupt("a chunk is shorter than its values", chunk);
      if (chunk >= *next && !headers_[static_cast<size_t>(chunk)].load(std::memory_order_relaxed))
        out->add_piece(chunk_start, bytes, chunk);
      *next = std::max(*next, chunk + 1);
      out->add_piece(bytes + begin * plain_bytes_, bytes + end * plain_bytes_, -1);
    }
    return success();
  }

  Outcome open_values(const Ranges& ranges, const Fetched& fetched, LeafPart* out) const {
    int64_t num_bytes = 0;
    for (const Piece& piece : ranges.pieces) {
      if (piece.chunk < 0) {
        num_bytes += piece.size;
        continue;
      }
      const Outcome outcome = check_header(piece.chunk, fetched.data + fetched.places[piece.range] + piece.offset);
      if (outcome.message != nullptr) return outcome;
    }
    const int64_t count = num_bytes / plain_bytes_;
    if (out->judged != nullptr) return mark_values(ranges, fetched, count, out);
    const LaValues place = out->place(count, 8 * plain_bytes_);
    if (place.values == nullptr) return above_limit();
    uint8_t* to = place.values;
    for (const Piece& piece : ranges.pieces) {
      if (piece.chunk >= 0) continue;
      const uint8_t* from = fetched.data + fetched.places[piece.range] + piece.offset;
      if (piece.size == 8) std::memcpy(to, from, 8);
      else copy_bytes(to, from, piece.size);
      to += piece.size;
    }
    out->took(count, place);
    return success();
  }

  // The same, compared where they were read.
  Outcome mark_values(const Ranges& ranges, const Fetched& fetched, int64_t count, LeafPart* out) const {
    const Outcome outcome = out->form_values();
    if (outcome.message != nullptr) return outcome;
    const int64_t width = plain_bytes_;
    const NumberCondition& wanted = *out->judged->numbers();
    return refused(out->append_marks(count, nullptr, [&](uint8_t* marks) {
      for (const Piece& piece : ranges.pieces) {
        if (piece.chunk >= 0) continue;
        wanted.mark(fetched.data + fetched.places[piece.range] + piece.offset, piece.size / width, marks);
        marks += piece.size / width;
      }
      return kDone;
    }));
  }

  // `header` holds plain_header_ bytes: parse_header looks at no others, and compares sizes with the chunk's.
  Outcome check_header(int64_t chunk, const uint8_t* header) const {
    int64_t num_levels, unused[4], starts[8], sizes[8];
    const HeaderForm form{false, false, form_.values->num_buffers, form_.large};
    const HeaderOut out{&num_levels, &unused[0], &unused[1], &unused[2], &unused[3], starts, sizes};
    const int64_t size = places_.chunk_starts[chunk + 1] - places_.chunk_starts[chunk];
    const Outcome outcome = parse_header(header, 0, size, 0, 1, form, out);
    if (outcome.message != nullptr) return {outcome.message, chunk, outcome.blame};
    if (sizes[0] < (places_.value_starts[chunk + 1] - places_.value_starts[chunk]) * plain_bytes_)
      return corrupt("a chunk is shorter than its values", chunk);
    headers_[static_cast<size_t>(chunk)].store(true, std::memory_order_relaxed);
    return success();
  }

  Outcome open_chunk(int64_t chunk, const uint8_t* data, int64_t size, Opened* opened) const {
    int64_t places[4] = {}, starts[8], sizes[8];
    const HeaderForm header{form_.rep != nullptr, form_.def != nullptr, form_.values->num_buffers, form_.large};
    const HeaderOut out{&opened->num_levels, &places[0], &places[1], &places[2], &places[3], starts, sizes};
    const Outcome outcome = parse_header(data, 0, size, 0, 1, header, out);
    if (outcome.message != nullptr) return {outcome.message, chunk, outcome.blame};
    opened->rep = data + places[0];
    opened->rep_size = places[1];
    opened->def = data + places[2];
    opened->def_size = places[3];
    for (int64_t buffer = 0; buffer < form_.values->num_buffers; ++buffer) {
      opened->buffers[buffer] = data + starts[buffer];
      opened->sizes[buffer] = sizes[buffer];
    }
    const int64_t num_values = places_.value_starts[chunk + 1] - places_.value_starts[chunk];
    opened->chunk = {opened->buffers, opened->sizes, form_.values->num_buffers, num_values};
    return success();
  }

  // Calls visit(chunk, its bytes, its size) for each chunk in the ranges.
  template <class Visit>
  Outcome for_each(const Ranges& ranges, const Fetched& fetched, Visit&& visit) const {
    const int64_t* starts = places_.chunk_starts;
    int64_t chunk = 0;
    for (size_t range = 0; range < ranges.starts.size(); ++range) {
      chunk = find(starts, places_.num_chunks + 1, ranges.starts[range], std::max<int64_t>(chunk - 1, 0));
      for (; chunk < places_.num_chunks && starts[chunk] < ranges.stops[range]; ++chunk) {
        const uint8_t* bytes = fetched.data + fetched.places[range] + (starts[chunk] - ranges.starts[range]);
        // The header of the next chunk is waited for otherwise: memory of a mapped file is seldom in a cache.
        if (starts[chunk + 1] < ranges.stops[range]) prefetch(bytes + (starts[chunk + 1] - starts[chunk]));
        const Outcome outcome = visit(chunk, bytes, starts[chunk + 1] - starts[chunk]);
        if (outcome.message != nullptr) return outcome;
      }
    }
    return success();
  }

  static Outcome decode_levels(const LaChunkCodec& codec, const uint8_t* bytes, int64_t size, int64_t count,
                               uint16_t* out) {
    const LaChunk block{&bytes, &size, 1, count};
    const int64_t start = 0;
    const LaRuns all{&start, &count, count > 0 ? 1 : 0};
    LaValues place{reinterpret_cast<uint8_t*>(out), 0, nullptr, 0, nullptr, nullptr};
    return refused(codec.select(codec.self, &block, &all, &place));
  }

  LaRefusal select_values(const Opened& opened, const LaRuns& runs, LaValues* out) const {
    const LaChunkCodec& codec = *form_.values;
    if (opened.decoded == nullptr) return codec.select(codec.self, &opened.chunk, &runs, out);
    return CalledChunks::pick(codec.bits, *opened.decoded, opened.first_decoded, opened.chunk.num_values, runs, out);
  }

  // Values (or dictionary items) of some runs of a chunk; def, when there is one, has a level per selected value.
  Outcome append_values(const Opened& opened, const LaRuns& runs, int64_t count, const uint16_t* def,
                        LeafPart* out) const {
    if (expands()) return append_items(opened, runs, count, def, out);
    if (out->judged != nullptr && count > 0 && opened.decoded == nullptr &&
        (marks_ != nullptr || form_.values->plain_bytes > 0)) {
      bool is_marked = false;
      const Outcome outcome = append_marks(opened, runs, count, def, out, &is_marked);
      if (is_marked || outcome.message != nullptr) return outcome;
    }
    LaValues place = out->place(count, form_.values->bits);
    if (place.values == nullptr) return above_limit();
    const LaRefusal refusal = select_values(opened, runs, &place);
    if (refusal != nullptr) return refused(refusal);
    if (form_.keeps_items) {
      const Outcome outcome = form_.items.settle(place.values, form_.values->bits / 8, def, count);
      if (outcome.message != nullptr) return outcome;
    }
    out->took(count, place);
    return success();
  }

  // Marks of values that are compared without being decoded, if the codec can.
  Outcome append_marks(const Opened& opened, const LaRuns& runs, int64_t count, const uint16_t* def, LeafPart* out,
                       bool* is_marked) const {
    const Outcome outcome = out->form_values(def == nullptr ? 0 : count);
    if (outcome.message != nullptr) return outcome;
    const LaRefusal refusal = out->append_marks(count, def, [&](uint8_t* marks) -> LaRefusal {
      if (const TextCondition* texts = out->judged->texts()) {
        if (!texts->has_few() || !marks_texts(*marks_)) return LA_LEFT;
        return marks_->select_texts(marks_->self, &opened.chunk, &runs, &texts->ranges(), marks);
      }
      const NumberCondition& numbers = *out->judged->numbers();
      if (form_.values->plain_bytes > 0) return mark_plain(opened.chunk, runs, numbers, marks);
      const LaNumberRanges wanted = numbers.ranges();
      const LaRefusal summary = summarise(opened.chunk, count, numbers, marks);
      if (summary == kDone || marks_->select_where == nullptr || !asks_python(summary)) return summary;
      if (!numbers.has_few()) return LA_LEFT;
      return marks_->select_where(marks_->self, &opened.chunk, &runs, &wanted, marks);
    });
    *is_marked = !asks_python(refusal);
    return *is_marked ? refused(refusal) : success();
  }

  LaRefusal mark_plain(const LaChunk& chunk, const LaRuns& runs, const NumberCondition& wanted, uint8_t* marks) const {
    const int64_t width = form_.values->plain_bytes;
    if (!runs_fit(runs, chunk.num_values) || chunk.sizes[0] / width < chunk.num_values)
      return "a chunk is shorter than its values";
    for (int64_t run = 0; run < runs.num_runs; ++run) {
      const int64_t num_values = runs.stops[run] - runs.starts[run];
      wanted.mark(chunk.buffers[0] + runs.starts[run] * width, num_values, marks);
      marks += num_values;
    }
    return kDone;
  }

  // Marks that bounds of the chunk tell; LA_LEFT where they do not.
  LaRefusal summarise(const LaChunk& chunk, int64_t count, const NumberCondition& wanted, uint8_t* marks) const {
    if (marks_->summarise == nullptr || wanted.kind == NumberKind::kFloat) return LA_LEFT;
    uint64_t least = 0, greatest = 0;
    const LaRefusal refusal = marks_->summarise(marks_->self, &chunk, wanted.ranges().kind, &least, &greatest);
    if (refusal != kDone) return refusal;
    const MarkedNumbers found = wanted.between(least, greatest);
    if (found == MarkedNumbers::kSome) return LA_LEFT;
    std::memset(marks, found == MarkedNumbers::kAll ? 1 : 0, static_cast<size_t>(count));
    return kDone;
  }

  Outcome append_items(const Opened& opened, const LaRuns& runs, int64_t count, const uint16_t* def,
                       LeafPart* out) const {
    const Leased<std::vector<uint8_t>> leased;
    std::vector<uint8_t>& indices = *leased;
    const int64_t width = form_.values->bits / 8;
    indices.resize(static_cast<size_t>(count * width));
    LaValues picked{indices.data(), 0, nullptr, 0, nullptr, nullptr};
    const LaRefusal refusal = select_values(opened, runs, &picked);
    if (refusal != nullptr) return refused(refusal);
    return out->append_items({indices.data(), def, count}, width, form_.items);
  }

  Outcome decode_called(std::vector<Opened>* chunks, DecodedChunks* decoded) const;
  Outcome open_called(const Ranges& ranges, const Fetched& fetched, CalledScratch* calls) const;
  Outcome whole_chunk(const Opened& opened, int64_t limit, std::vector<uint8_t>* decoded, const uint8_t** values) const;
  Outcome flat_levels(const Opened& opened, int64_t chunk, std::vector<uint16_t>* levels) const;
  Outcome open_flat(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const;
  Outcome open_nested(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const;

  // Tables of (num_chunks + 1) entries; the last three are null without lists.
  struct ChunkPlaces {
    const int64_t* chunk_starts = nullptr;
    const int64_t* value_starts = nullptr;
    const int64_t* rows_started = nullptr;
    const int64_t* rows_finished = nullptr;
    const int64_t* rows_left = nullptr;  // level entries of an unfinished row before each chunk
    int64_t num_chunks = 0;
  };

  // What a page read to find its chunks: written once, by one thread, before `is_indexed_`.
  struct OwnIndex {
    ChunkIndexForm form;
    std::mutex lock;
    std::vector<int64_t> chunk_starts, value_starts, rows_started, rows_finished, rows_left;
    LeafPart items;
    std::vector<int64_t> item_offsets;
  };

  void note_chunks() const {
    if (is_plain) headers_ = std::make_unique<std::atomic<bool>[]>(static_cast<size_t>(places_.num_chunks));
  }
  Outcome load_items(const std::vector<uint8_t>& stored) const;

  mutable ChunkForm form_;
  mutable ChunkPlaces places_;
  const CalledChunks* called_;  // the codec of values, if Python decodes them
  const LaChunkMarks* marks_;  // what it says of numbers that are not decoded; null where nothing
  int64_t plain_bytes_ = 0;
  int64_t plain_header_ = 0;
  mutable std::unique_ptr<std::atomic<bool>[]> headers_;  // which chunks' headers were found right
  mutable OwnIndex own_;
  mutable std::atomic<bool> is_indexed_ = false;
};

}  // namespace lance_arrow::engine
