#include "engine/plan/leaf_reader.hpp"

#include "engine/plan/fetch.hpp"
#include "engine/plan/local_runs.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kBatchRuns = 256;
constexpr int64_t kMaxGap = 4 << 10;  // a request costs about what copying this much costs
constexpr int64_t kMaxSpan = 1 << 20;
// Plain rows of this size are read where they belong: a request for each range costs no more than reading them together
// and copying them apart.
constexpr int64_t kDirectBytes = 2 << 10;
constexpr int64_t kMostArena = 4 << 20;  // batches above it are followed by smaller ones

class LeafReader {
 public:
  // `selection` has the rows that will be read; null, or without any, where they do not lie close together.
  LeafReader(const std::vector<PageRef>& pages, const Reader& reader, const SelectionBitmap* selection)
      : pages_(pages), fetcher_(reader), selection_(selection) {}

  // Appends rows (of the column, within the pages given) to `out`.
  Outcome run(const LaRuns& rows, LeafPart* out) { return walk(rows, Run{this, out}); }

  // Lists what `run` will read and what was not fetched. Pages whose index is missing list that, and all of their bytes
  // where all rows are wanted; their rows are planned by a later call. Indices that are there are loaded.
  Outcome want(const LaRuns& rows, bool indices_only, int64_t limit, Wanted* out) {
    LeafPart part;
    part.limit = limit;
    return walk(rows, Want{this, indices_only, &part, out});
  }

  const ReadCount& count() const { return fetcher_.count(); }

 private:
  // Visits the pages that hold rows, and batches of their rows, in order.
  template <class Visitor>
  Outcome walk(const LaRuns& rows, Visitor visit) {
    int64_t run = 0;
    for (const PageRef& ref : pages_) {
      const int64_t first = ref.first_row, stop = first + ref.page->num_rows;
      if (run >= rows.num_runs) break;
      // Pages without wanted rows are left as they are.
      if (rows.starts[run] >= stop) continue;
      const Outcome outcome = visit_page(ref, rows, &run, visit);
      if (outcome.message != nullptr) return outcome.in_page(first);
    }
    return run == rows.num_runs ? success() : misuse("rows lie outside the pages");
  }

  // Visits one page, with rows from run number `at` on; the first run behind it becomes that number.
  template <class Visitor>
  Outcome visit_page(const PageRef& ref, const LaRuns& rows, int64_t* at, Visitor& visit) {
    const int64_t first = ref.first_row, stop = first + ref.page->num_rows;
    int64_t run = *at;
    bool is_open = true;
    Outcome outcome = visit.enter(ref, rows, run, &is_open);
    if (outcome.message != nullptr) return outcome;
    const bool is_picked = is_open && selection_ != nullptr && selection_->any() &&
                           ref.page->picks_selected(selection_->rows_per_wanted());
    if (is_picked) outcome = each_selected(ref, visit);
    if (outcome.message != nullptr) return outcome;
    if (!is_open || is_picked) {
      *at = std::upper_bound(rows.stops + run, rows.stops + rows.num_runs, stop) - rows.stops;
      return success();
    }
    for (int64_t from = first; run < rows.num_runs && std::max(from, rows.starts[run]) < stop;) {
      from = std::max(from, rows.starts[run]);
      const int64_t border = first + ref.page->batch_stop(from - first);
      const bool is_long = border < std::min(stop, rows.stops[run]);
      const int64_t close = first + ref.page->close_stop(from - first);
      const bool is_close = run + max_runs_ < rows.num_runs && rows.stops[run + max_runs_ - 1] <= close;
      const int64_t num_runs = is_long ? run + 1 : is_close ? rows.num_runs : std::min(rows.num_runs, run + max_runs_);
      const int64_t end = is_long ? border : is_close ? close : stop;
      const int64_t first_run = run;
      local_.cut(rows.starts, rows.stops, num_runs, from, end, first, &run);
      if (local_.count == 0) break;
      outcome = visit.batch(ref, local_.view());
      if (outcome.message != nullptr) return outcome;
      if (arena_bytes_ > kMostArena) max_runs_ = std::max<int64_t>(1, (run - first_run) / 4);
      if (run < rows.num_runs && rows.stops[run] > end) from = end;  // goes on in the next batch, or page
    }
    visit.leave();
    *at = run;
    return success();
  }

  // Rows that are selected, out of all from the first of them to the last.
  template <class Visitor>
  Outcome each_selected(const PageRef& ref, Visitor& visit) {
    const int64_t first = ref.first_row, last = std::min(first + ref.page->num_rows, selection_->stop_row());
    int64_t end = 0;
    for (int64_t from = std::max(first, selection_->first_row()); from < last; from = end) {
      end = std::min(last, first + ref.page->close_stop(from - first));
      if (end <= from) return misuse("a page opens no row");
      const int64_t count = selection_->count(from, end);
      if (count == 0) continue;
      Outcome outcome = ref.page->plan_all(from - first, end - first, &ranges_);
      if (outcome.message == nullptr) outcome = visit.selected(ref, from - first, end - first, count);
      if (outcome.message != nullptr) return outcome;
    }
    visit.leave();
    return success();
  }

  // Reads and decodes.
  struct Run {
    LeafReader* reader;
    LeafPart* out;
    LevelPart part{};
    int64_t values_before = 0;
    const PageRef* entered = nullptr;

    Outcome enter(const PageRef& ref, const LaRuns& rows, int64_t run, bool* is_open) {
      entered = &ref;
      out->first_item = ref.first_item;
      part = {&ref.page->layers,
              0,
              static_cast<int64_t>(out->rep.size()),
              static_cast<int64_t>(out->def.size()),
              ref.first_row,
              ref.page->has_shared_levels};
      values_before = out->num_values;
      const Outcome outcome = ref.page->is_indexed() ? success() : ref.page->load_index(ref.buffers, &reader->fetcher_);
      if (outcome.message == nullptr && out->judged != nullptr) *is_open = !judge_whole(ref, rows, run);
      return outcome;
    }

    // Takes rows of a page of which the items tell that none, or every one, satisfies the condition; else false.
    bool judge_whole(const PageRef& ref, const LaRuns& rows, int64_t run) const {
      const JudgedItems::Verdict verdict = out->judged->verdict(ref.page->items());
      if (verdict == JudgedItems::Verdict::kSome) return false;
      const int64_t first = ref.first_row, stop = first + ref.page->num_rows;
      int64_t count = 0;
      for (; run < rows.num_runs && rows.starts[run] < stop; ++run)
        count += std::min(rows.stops[run], stop) - std::max(rows.starts[run], first);
      out->judged->add_rows(count, verdict);
      out->num_values += count;
      out->num_formed = out->num_forgotten = out->num_values;
      return true;
    }

    Outcome selected(const PageRef& ref, int64_t start, int64_t stop, int64_t count) {
      return formed(reader->read_selected(ref, start, stop, count, out));
    }

    Outcome batch(const PageRef& ref, const LaRuns& wanted) {
      return formed(ref.page->may_be_stored(wanted) ? reader->read_stored(ref, wanted, out)
                                                    : reader->batch(ref, wanted, out));
    }

    void leave() const {
      if (out->num_values > values_before || out->rep.size() > static_cast<size_t>(part.rep_at) ||
          out->def.size() > static_cast<size_t>(part.def_at))
        note_levels(part, values_before, out);
      if (out->num_values > values_before)
        out->spans.push_back({entered->page->kept_items(), out->num_values - values_before, entered->first_row});
    }

    Outcome formed(const Outcome& outcome) const { return outcome.message == nullptr ? out->form_values() : outcome; }
  };

  // Lists ranges that are missing.
  struct Want {
    LeafReader* reader;
    bool indices_only;
    LeafPart* part;
    Wanted* out;

    Outcome enter(const PageRef& ref, const LaRuns& rows, int64_t run, bool* is_open) {
      *is_open = !indices_only;
      if (ref.page->is_indexed()) return success();
      const size_t before = out->starts.size(), num_buffers = std::min(ref.buffers.count, PageBuffers::kMost);
      const int64_t first = ref.first_row, stop = first + ref.page->num_rows;
      const bool is_whole = !indices_only && rows.starts[run] <= first && rows.stops[run] >= stop;
      for (size_t buffer = 0; buffer < num_buffers; ++buffer)
        if (is_whole || ref.buffers.starts[buffer] != ref.data_start) {
          const Outcome outcome = add(ref.buffers.starts[buffer], ref.buffers.sizes[buffer]);
          if (outcome.message != nullptr) return outcome;
        }
      if (out->starts.size() == before) return ref.page->load_index(ref.buffers, &reader->fetcher_);
      *is_open = false;
      if (indices_only || is_whole || !out->guesses || ref.data_start < 0) return success();
      const int64_t chunk_bytes = ref.page->even_chunk_bytes(ref.buffers);
      const auto guessed = GuessedRows::of(rows, run, first, ref.page->num_rows, ref.data_bytes, chunk_bytes);
      for (size_t one = 0; one < guessed.count; ++one) {
        const Outcome outcome = add(ref.data_start + guessed.starts[one], guessed.stops[one] - guessed.starts[one]);
        if (outcome.message != nullptr) return outcome;
      }
      return success();
    }

    Outcome selected(const PageRef& ref, int64_t, int64_t, int64_t) { return add_all(ref, reader->ranges_); }

    Outcome batch(const PageRef& ref, const LaRuns& wanted) {
      Outcome outcome = ref.page->plan(wanted, &reader->ranges_);
      const size_t before = out->starts.size();
      if (outcome.message == nullptr) outcome = add_all(ref, reader->ranges_);
      if (outcome.message != nullptr || !ref.page->in_two_steps || out->starts.size() > before) return outcome;
      Buffer large;
      Fetched fetched;
      outcome = reader->gather(ref, reader->ranges_, part->limit, &large, &fetched);
      if (outcome.message == nullptr)
        outcome = ref.page->plan_values(wanted, reader->ranges_, fetched, &reader->values_, part);
      part->clear();
      return outcome.message != nullptr ? outcome : add_all(ref, reader->values_);
    }

    void leave() const {}

    Outcome add(int64_t start, int64_t size) {
      if (!reader->fetcher_.has(start, size)) return corrupt("a range lies outside the file", start);
      out->add(*reader->fetcher_.segments(), start, size);
      return success();
    }

    Outcome add_all(const PageRef& ref, const Ranges& ranges) {
      if (!ref.holds(ranges)) return corrupt("rows lie outside their page", 0);
      for (size_t range = 0; range < ranges.starts.size(); ++range) {
        const int64_t base = ref.base_of(ranges, range);
        const Outcome outcome = add(base + ranges.starts[range], ranges.stops[range] - ranges.starts[range]);
        if (outcome.message != nullptr) return outcome;
      }
      return success();
    }
  };

  static void note_levels(LevelPart part, int64_t values_before, LeafPart* out) {
    const auto rep = static_cast<int64_t>(out->rep.size()) - part.rep_at;
    const auto def = static_cast<int64_t>(out->def.size()) - part.def_at;
    part.num_entries = rep > 0 ? rep : def > 0 ? def : out->num_values - values_before;
    if (rep == 0) part.rep_at = -1;
    if (def == 0) part.def_at = -1;
    out->levels.push_back(part);
  }

  Outcome batch(const PageRef& ref, const LaRuns& rows, LeafPart* out) {
    Outcome outcome = ref.page->plan(rows, &ranges_);
    if (outcome.message != nullptr) return outcome;
    if (ref.page->is_plain && !ranges_.has_headers && !ranges_.starts.empty() && ranges_.are_large(kDirectBytes)) {
      if (!ref.holds(ranges_)) return corrupt("rows lie outside their page", 0);
      // What is to be compared with checksums is read in whole blocks, and copied.
      if (ranges_.starts.size() == 1 || !is_pending(ref, ranges_)) return read_direct(ref, out);
    }
    Buffer large;
    Fetched fetched;
    outcome = gather(ref, ranges_, out->limit, &large, &fetched);
    if (outcome.message != nullptr) return outcome;
    if (!ref.page->in_two_steps) return ref.page->open(rows, ranges_, fetched, out);
    const int64_t first_value = out->num_values, first_byte = out->num_bytes;
    outcome = ref.page->plan_values(rows, ranges_, fetched, &values_, out);
    if (outcome.message == nullptr) outcome = read_values(ref, first_byte, out);
    return outcome.message != nullptr ? outcome : ref.page->close_values(first_value, first_byte, out);
  }

  // Picks the rows that are selected out of start .. stop, which are planned.
  Outcome read_selected(const PageRef& ref, int64_t start, int64_t stop, int64_t count, LeafPart* out) {
    Buffer large;
    Fetched fetched;
    const Outcome outcome = gather(ref, ranges_, out->limit, &large, &fetched);
    if (outcome.message != nullptr) return outcome;
    return ref.page->open_selected(start, stop, *selection_, ref.first_row, count, ranges_, fetched, out);
  }

  bool is_pending(const PageRef& ref, const Ranges& ranges) const {
    return fetcher_.is_pending(ref.data_start + ranges.starts.front(), ranges.stops.back() - ranges.starts.front());
  }

  // Reads ranges into scratch memory, or into `large`; the next call overwrites them. Those of memory stay there.
  Outcome gather(const PageRef& ref, const Ranges& ranges, int64_t limit, Buffer* large, Fetched* fetched) {
    const size_t num_ranges = ranges.starts.size();
    if (!ref.holds(ranges)) return corrupt("rows lie outside their page", 0);
    places_.resize(num_ranges);
    if (fetcher_.is_memory()) return look_at(ref, ranges, fetched);
    if (fetcher_.segments() != nullptr && lie_together(ref, ranges, fetched)) return success();
    // What lies between ranges of a far file was perhaps not fetched.
    const int64_t max_gap = fetcher_.segments() == nullptr ? kMaxGap : 0;
    fetcher_.count().ranges += static_cast<int64_t>(num_ranges);
    int64_t arena_bytes = 0;
    spans_.clear();
    for (size_t range = 0; range < num_ranges;) {
      size_t end = range + 1;
      const int64_t start = ranges.starts[range];
      while (end < num_ranges && !ranges.begins_buffer(end) && ranges.starts[end] - ranges.stops[end - 1] <= max_gap &&
             ranges.stops[end] - start <= kMaxSpan)
        ++end;
      for (size_t one = range; one < end; ++one) {
        places_[one] = arena_bytes + ranges.starts[one] - start;
        fetcher_.count().bytes_wanted += ranges.stops[one] - ranges.starts[one];
      }
      const int64_t base = ref.base_of(ranges, range);
      spans_.push_back({base + start, ranges.stops[end - 1] - start, arena_bytes});
      // Spans begin at multiples of 8.
      arena_bytes += (ranges.stops[end - 1] - start + 15) & ~int64_t{7};
      range = end;
    }
    arena_bytes_ = arena_bytes;
    uint8_t* arena = (arena_bytes <= kKeptArena ? &*kept_ : large)->reserve(0, arena_bytes, limit);
    if (arena == nullptr) return above_limit();
    for (const Span& span : spans_) {
      const Outcome outcome = fetcher_.fetch(span.start, span.size, arena + span.place);
      if (outcome.message != nullptr) return outcome;
    }
    *fetched = {arena, places_.data()};
    return success();
  }

  Outcome look_at(const PageRef& ref, const Ranges& ranges, Fetched* fetched) {
    const auto num_ranges = static_cast<int64_t>(places_.size());
    fetcher_.count().requests += num_ranges > 0;
    fetcher_.count().ranges += num_ranges;
    for (size_t range = 0; range < places_.size(); ++range) {
      const int64_t size = ranges.stops[range] - ranges.starts[range];
      places_[range] = ref.base_of(ranges, range) + ranges.starts[range];
      fetcher_.count().bytes_wanted += size;
      const Outcome outcome = fetcher_.look_at(places_[range], size);
      if (outcome.message != nullptr) return outcome;
    }
    *fetched = {fetcher_.memory(), places_.data()};
    arena_bytes_ = 0;
    return success();
  }

  // Whether all ranges lie in one segment, where they are decoded.
  bool lie_together(const PageRef& ref, const Ranges& ranges, Fetched* fetched) {
    int64_t first = 0, behind = 0;
    for (size_t range = 0; range < places_.size(); ++range) {
      const int64_t start = ref.base_of(ranges, range) + ranges.starts[range];
      const int64_t size = ranges.stops[range] - ranges.starts[range];
      if (range == 0) {
        fetched->data = fetcher_.segments()->find(start, size, &behind);
        if (fetched->data == nullptr) return false;
        first = start;
      }
      // A second buffer may lie before the first one.
      if (start < first || size > behind - (start - first)) return false;
      places_[range] = start - first;
    }
    fetched->places = places_.data();
    arena_bytes_ = 0;
    return !places_.empty();
  }

  // Reads the values that the second step named to where `end` says; all else of them is there already.
  Outcome read_values(const PageRef& ref, int64_t end, LeafPart* out) {
    if (!ref.holds(values_)) return corrupt("rows lie outside their page", 0);
    uint8_t* to = out->values.reserve(end, out->num_bytes - end, out->limit);
    if (to == nullptr) return above_limit();
    const bool is_direct = values_.are_large(kDirectBytes);
    Buffer large;
    Fetched fetched{nullptr, nullptr};
    if (!is_direct) {
      const Outcome outcome = gather(ref, values_, out->limit, &large, &fetched);
      if (outcome.message != nullptr) return outcome;
    }
    for (size_t range = 0; range < values_.starts.size(); ++range) {
      const int64_t size = values_.stops[range] - values_.starts[range];
      if (is_direct) {
        fetcher_.count().ranges += 1;
        fetcher_.count().bytes_wanted += size;
        const Outcome outcome = fetcher_.fetch(ref.data_start + values_.starts[range], size, to);
        if (outcome.message != nullptr) return outcome;
      } else {
        copy_bytes(to, fetched.data + fetched.places[range], size);
      }
      to += size;
    }
    return success();
  }

  // Rows of one large value each: plainly stored values need no opening; all others are read again.
  Outcome read_stored(const PageRef& ref, const LaRuns& rows, LeafPart* out) {
    for (int64_t run = 0; run < rows.num_runs; ++run)
      for (int64_t row = rows.starts[run]; row < rows.stops[run]; ++row) {
        bool is_done = false;
        Outcome outcome = read_if_stored(ref, row, out, &is_done);
        const int64_t next = row + 1;
        if (outcome.message == nullptr && !is_done) outcome = batch(ref, {&row, &next, 1}, out);
        if (outcome.message != nullptr) return outcome;
      }
    return success();
  }

  Outcome read_if_stored(const PageRef& ref, int64_t row, LeafPart* out, bool* is_done) {
    StoredRow stored;
    if (!ref.page->stored_row(row, &stored)) return success();
    const int64_t row_bytes = stored.head_bytes + stored.value_bytes;
    if (stored.start < 0 || stored.start > ref.data_bytes - row_bytes) return corrupt("rows lie outside their page", 0);
    if (fetcher_.is_pending(ref.data_start + stored.start, row_bytes)) return success();
    LaValues place = out->place(1, 0);
    uint8_t* to = place.values == nullptr ? nullptr : place.reserve(place.host, place.end, stored.value_bytes);
    if (to == nullptr) return above_limit();
    uint8_t head[kMostHead];
    const Outcome outcome =
        fetcher_.fetch_behind_head(ref.data_start + stored.start, head, stored.head_bytes, to, stored.value_bytes);
    if (outcome.message != nullptr || !ref.page->is_stored(head, stored)) return outcome;
    ++fetcher_.count().ranges;
    fetcher_.count().bytes_wanted += row_bytes;
    place.end += stored.value_bytes;
    *place.ends = place.end;
    out->took(1, place);
    if (ref.page->has_def()) out->def.push_back(0);
    *is_done = true;
    return success();
  }

  // Plain values need no opening: they are read where they belong.
  Outcome read_direct(const PageRef& ref, LeafPart* out) {
    const auto count = static_cast<int64_t>(ranges_.starts.size());
    places_.resize(ranges_.starts.size());
    int64_t num_bytes = 0;
    for (size_t range = 0; range < places_.size(); ++range) {
      places_[range] = num_bytes;
      num_bytes += ranges_.stops[range] - ranges_.starts[range];
    }
    const int64_t num_values = num_bytes / (ref.page->value_bits / 8);
    const LaValues place = out->place(num_values, ref.page->value_bits);
    if (place.values == nullptr) return above_limit();
    const Outcome outcome = fetcher_.fetch_scattered(
        {ref.data_start, ranges_.starts.data(), ranges_.stops.data(), places_.data(), count, place.values});
    if (outcome.message != nullptr) return outcome;
    fetcher_.count().ranges += count;
    fetcher_.count().bytes_wanted += num_bytes;
    out->took(num_values, place);
    return success();
  }

  struct Span {
    int64_t start, size, place;
  };

  const std::vector<PageRef>& pages_;
  Fetcher fetcher_;
  const SelectionBitmap* selection_;
  int64_t max_runs_ = kBatchRuns;
  int64_t arena_bytes_ = 0;
  LocalRuns local_;
  Ranges ranges_, values_;
  const Leased<Buffer> kept_;  // lives while pages are opened: codecs in Python may read other files meanwhile
  std::vector<int64_t> places_;
  std::vector<Span> spans_;
};

// Pages of 2.0 have a buffer of nothing but the bytes of their values.
int64_t expected_of(const PageRef& ref, const LaRuns& rows) {
  if (!ref.page->in_two_steps || ref.page->num_rows == 0) return ref.page->expected_bytes(rows);
  constexpr int64_t large = 64;
  const int64_t row_bytes = ref.data_bytes / ref.page->num_rows, count = num_selected(rows);
  if (row_bytes < large) return 0;
  return count == ref.page->num_rows ? ref.data_bytes : (row_bytes + 1) * count;
}

}  // namespace

Outcome load_indices(const std::vector<PageRef>& pages, const Reader& reader, ReadCount* count) {
  Fetcher fetcher(reader);
  for (const PageRef& ref : pages) {
    if (ref.page->is_indexed()) continue;
    const Outcome outcome = ref.page->load_index(ref.buffers, &fetcher);
    if (outcome.message != nullptr) return outcome.in_page(ref.first_row);
  }
  count->add(fetcher.count());
  return success();
}

int64_t expected_bytes(const std::vector<PageRef>& pages, const LaRuns& rows) {
  constexpr int64_t worth_it = 16 << 10;
  int64_t bytes = 0, run = 0;
  LocalRuns local;
  for (const PageRef& ref : pages) {
    const int64_t first = ref.first_row, stop = first + ref.page->num_rows;
    for (int64_t from = first; run < rows.num_runs && std::max(from, rows.starts[run]) < stop;) {
      from = std::max(from, rows.starts[run]);
      local.cut(rows.starts, rows.stops, rows.num_runs, from, stop, first, &run);
      if (local.count == 0) break;
      const int64_t expected = expected_of(ref, local.view());
      if (expected == 0) return 0;
      bytes += expected;
      if (run < rows.num_runs && rows.stops[run] > stop) break;  // goes on in the next page
    }
  }
  return bytes >= worth_it ? bytes : 0;
}

Outcome read_leaf(const std::vector<PageRef>& pages, const Reader& reader, const SelectionBitmap* selection,
                  const LaRuns& rows, LeafPart* out, ReadCount* count) {
  LeafReader leaf(pages, reader, selection);
  const Outcome outcome = leaf.run(rows, out);
  count->add(leaf.count());
  return outcome;
}

Outcome want_leaf(const std::vector<PageRef>& pages, const Reader& reader, const SelectionBitmap* selection,
                  const LaRuns& rows, bool indices_only, int64_t limit, Wanted* out) {
  return LeafReader(pages, reader, selection).want(rows, indices_only, limit, out);
}

}  // namespace lance_arrow::engine
