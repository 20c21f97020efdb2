#include "engine/pages/binary_pages.hpp"

#include <atomic>
#include <limits>
#include <mutex>

#include "engine/pages/page_buffers.hpp"

namespace lance_arrow::engine {

namespace {

// Strings: the second buffer says where each of them ends, a null's end has the adjustment added.
class BinaryPage : public Page {
 public:
  explicit BinaryPage(const BinaryForm& form)
      : end_bytes_(form.end_bytes), adjustment_(form.null_adjustment), codes_(form.codes) {
    in_two_steps = true;
  }

  int64_t batch_stop(int64_t row) const override { return std::min(num_rows, row + kBatchBytes / end_bytes_); }

  // The ends of the wanted rows, and of the row before each run of them.
  Outcome plan(const LaRuns& rows, Ranges* out) const override {
    out->clear();
    out->begin_second();
    for (int64_t run = 0; run < rows.num_runs; ++run)
      out->add_shared(std::max<int64_t>(0, rows.starts[run] - 1) * end_bytes_, rows.stops[run] * end_bytes_);
    return success();
  }

  Outcome plan_values(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, Ranges* values,
                      LeafPart* out) const override {
    values->clear();
    size_t range = 0;
    int64_t behind = 0;  // the end of what was planned so far
    for (int64_t run = 0; run < rows.num_runs; ++run) {
      const int64_t start = rows.starts[run], stop = rows.stops[run];
      while (ranges.stops[range] < stop * end_bytes_) ++range;
      const uint8_t* ends = fetched.data + fetched.places[range];
      const int64_t before = ranges.starts[range] / end_bytes_;  // rows whose ends lie before those
      bool is_null = false;
      const int64_t first = start == 0 ? 0 : end_of(ends, start - 1 - before, &is_null);
      if (first < behind) return corrupt("a string ends before it begins", start);
      const auto at = static_cast<size_t>(out->num_values);
      out->ends.resize(at + static_cast<size_t>(stop - start));
      const size_t level = out->def.size();
      out->def.resize(level + static_cast<size_t>(stop - start));
      uint16_t* levels = out->def.data() + level;
      const int64_t shift = out->num_bytes - first;
      int64_t* to = out->ends.data() + at;
      const uint8_t* from = ends + (start - before) * end_bytes_;
      const int64_t last = end_bytes_ == 8 ? copy_ends<uint64_t>(from, stop - start, first, shift, to, levels)
                                           : copy_ends<uint32_t>(from, stop - start, first, shift, to, levels);
      if (last < 0) return corrupt("a string ends before it begins", start);
      if (last > first) values->add(first, last);
      out->num_bytes += last - first;
      out->num_values += stop - start;
      behind = last;
    }
    return success();
  }

  Outcome open(const LaRuns&, const Ranges&, const Fetched&, LeafPart*) const override {
    return misuse("strings are opened in two steps");
  }

  // Decodes what was read, if it is codes.
  Outcome close_values(int64_t first_value, int64_t first_byte, LeafPart* out) const override {
    const int64_t num_bytes = out->num_bytes - first_byte, count = out->num_values - first_value;
    if (codes_ == nullptr || count == 0) return success();
    const Leased<std::vector<uint8_t>> leased[1];
    const Leased<std::vector<int64_t>> places[2];
    std::vector<uint8_t>& codes = *leased[0];
    std::vector<int64_t>&starts = *places[0], &sizes = *places[1];
    codes.resize(static_cast<size_t>(num_bytes));
    copy_bytes(codes.data(), out->values.data() + first_byte, num_bytes);
    starts.resize(static_cast<size_t>(count));
    sizes.resize(static_cast<size_t>(count));
    int64_t* ends = out->ends.data() + first_value;
    for (int64_t value = 0, start = first_byte; value < count; start = ends[value++]) {
      starts[static_cast<size_t>(value)] = start - first_byte;
      sizes[static_cast<size_t>(value)] = ends[value] - start;
    }
    LaValues place{out->values.reserve(first_byte, 0, out->limit), 0, ends, first_byte, &LeafPart::reserve, out};
    const Outcome outcome =
        refused(codes_->expand(codes_->self, codes.data(), starts.data(), sizes.data(), count, &place));
    out->num_bytes = place.end;
    return outcome;
  }

 private:
  // Copies ends of strings, the first of which begins at `last`, and notes which are null. Returns the last end, or -1
  // where they do not ascend.
  template <class End>
  int64_t copy_ends(const uint8_t* from, int64_t count, int64_t last, int64_t shift, int64_t* to,
                    uint16_t* levels) const {
    const uint64_t adjustment = adjustment_ != 0 ? adjustment_ : std::numeric_limits<uint64_t>::max();
    bool is_wrong = false;
    for (int64_t value = 0; value < count; ++value) {
      const uint64_t stored = load<End>(from, value);
      const bool is_null = stored >= adjustment;
      const auto end = static_cast<int64_t>(stored - (is_null ? adjustment : 0));
      is_wrong |= end < last || (is_null && adjustment_ == 0);
      // Ends that are wrong may be any number.
      to[value] = static_cast<int64_t>(static_cast<uint64_t>(shift) + static_cast<uint64_t>(end));
      levels[value] = is_null;
      last = end;
    }
    return is_wrong ? -1 : last;
  }

  // Negative where it is beyond 63 bits.
  int64_t end_of(const uint8_t* ends, int64_t item, bool* is_null) const {
    uint64_t end = end_bytes_ == 8 ? load<uint64_t>(ends, item) : load<uint32_t>(ends, item);
    *is_null = adjustment_ != 0 && end >= adjustment_;
    if (*is_null) end -= adjustment_;
    return end > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ? -1 : static_cast<int64_t>(end);
  }

  int64_t end_bytes_;
  uint64_t adjustment_;
  const LaValueCodec* codes_;
};

// Strings whose bytes are one frame, which is decompressed once; the first buffer says where each string ends.
class FramedBinaryPage : public BinaryPage {
 public:
  FramedBinaryPage(const BinaryForm& form, const FrameForm& frame) : BinaryPage(form), frame_(frame) {
    in_two_steps = false;
  }

  bool is_indexed() const override { return is_indexed_.load(std::memory_order_acquire); }
  int64_t index_bytes() const override { return is_indexed() ? kept_bytes(bytes_) : 0; }

  Outcome load_index(const PageBuffers& buffers, Fetcher* fetcher) const override {
    const std::lock_guard<std::mutex> guard(lock_);
    if (is_indexed()) return success();
    const Leased<std::vector<uint8_t>> leased;
    std::vector<uint8_t>& stored = *leased;
    Outcome outcome = read_buffer(buffers, frame_.buffer, fetcher, &stored);
    if (outcome.message != nullptr) return outcome;
    const LaFrameCodec& frames = *frame_.frames;
    const auto size = static_cast<int64_t>(stored.size());
    const int64_t plain_bytes = frames.plain_bytes(frames.self, stored.data(), size);
    outcome = refused(check_declared(plain_bytes, frame_.most_bytes));
    if (outcome.message != nullptr) return outcome;
    // Not cleared: of what a frame declares, only what it holds is written.
    uint8_t* to = bytes_.reserve(0, plain_bytes, frame_.most_bytes);
    if (to == nullptr) return above_limit();
    outcome = refused(frames.decompress(frames.self, stored.data(), size, to, plain_bytes));
    if (outcome.message != nullptr) return outcome;
    num_bytes_ = plain_bytes;
    is_indexed_.store(true, std::memory_order_release);
    return success();
  }

  Outcome plan(const LaRuns& rows, Ranges* out) const override {
    const Outcome outcome = BinaryPage::plan(rows, out);
    out->second = Ranges::kNone;
    return outcome;
  }

  Outcome open(const LaRuns& rows, const Ranges& ranges, const Fetched& fetched, LeafPart* out) const override {
    const int64_t first_value = out->num_values, first_byte = out->num_bytes;
    Ranges wanted;
    Outcome outcome = plan_values(rows, ranges, fetched, &wanted, out);
    if (outcome.message != nullptr) return outcome;
    uint8_t* to = out->values.reserve(first_byte, out->num_bytes - first_byte, out->limit);
    if (to == nullptr) return above_limit();
    for (size_t range = 0; range < wanted.starts.size(); ++range) {
      const int64_t start = wanted.starts[range], size = wanted.stops[range] - start;
      if (wanted.stops[range] > num_bytes_) return corrupt("a string ends behind the bytes of its frame", -1);
      copy_bytes(to, bytes_.data() + start, size);
      to += size;
    }
    return close_values(first_value, first_byte, out);
  }

 private:
  const FrameForm frame_;
  mutable std::mutex lock_;
  // Written by one thread, before `is_indexed_`.
  mutable Buffer bytes_;
  mutable int64_t num_bytes_ = 0;
  mutable std::atomic<bool> is_indexed_ = false;
};

}  // namespace

Page* new_binary_page(const BinaryForm& form) { return new BinaryPage(form); }

Page* new_framed_binary_page(const BinaryForm& form, const FrameForm& frame) {
  return new FramedBinaryPage(form, frame);
}

}  // namespace lance_arrow::engine
