#include "engine/pages/constant_page.hpp"

#include <atomic>
#include <mutex>

#include "engine/common/bitmaps.hpp"
#include "engine/pages/page_buffers.hpp"
#include "engine/plan/level_masks.hpp"

namespace lance_arrow::engine {

namespace {

using Levels = std::vector<uint16_t>;

class ConstantPage : public Page {
 public:
  ConstantPage(const ConstantForm& form, size_t num_buffers)
      : form_(form), num_buffers_(num_buffers), scalar_(form.scalar), has_scalar_(form.has_scalar) {
    value_bits = form.value_bits;
    is_all_null_ = form.is_null_without_levels && !has_scalar_;
    is_indexed_.store(num_buffers == 0 && form.max_rep == 0, std::memory_order_relaxed);
  }

  bool is_indexed() const override { return is_indexed_.load(std::memory_order_acquire); }

  Outcome load_index(const PageBuffers& buffers, Fetcher* fetcher) const override {
    const std::lock_guard<std::mutex> guard(lock_);
    if (is_indexed()) return success();
    if (buffers.count != num_buffers_ || num_buffers_ > 3) return misuse("a page has another number of buffers");
    const bool has_scalar = num_buffers_ % 2 == 1;
    const size_t first = has_scalar ? 1 : 0;
    std::vector<uint8_t> stored;
    Outcome outcome = success();
    if (has_scalar) {
      outcome = read_buffer(buffers, 0, fetcher, &stored);
      if (outcome.message == nullptr) outcome = open_scalar(stored);
      if (outcome.message != nullptr) return outcome;
    }
    bool has_rep = false, has_def = false;
    if (num_buffers_ >= 2) {
      outcome = read_buffer(buffers, first, fetcher, &stored);
      if (outcome.message == nullptr) outcome = open_levels(stored, form_.rep, form_.num_rep, &rep_, &has_rep);
      if (outcome.message == nullptr) outcome = read_buffer(buffers, first + 1, fetcher, &stored);
      if (outcome.message == nullptr) outcome = open_levels(stored, form_.def, form_.num_def, &def_, &has_def);
      if (outcome.message != nullptr) return outcome;
    }
    outcome = check_structure(has_rep, has_def);
    if (outcome.message != nullptr) return outcome;
    has_def_ = has_def;
    is_all_null_ = form_.is_null_without_levels && !has_scalar_ && !has_rep && !has_def;
    is_indexed_.store(true, std::memory_order_release);
    return success();
  }

  int64_t index_bytes() const override {
    if (!is_indexed()) return 0;
    return lance_arrow::kept_bytes(rep_) + lance_arrow::kept_bytes(def_) + lance_arrow::kept_bytes(row_starts_) +
           static_cast<int64_t>(scalar_.capacity());
  }

  bool has_numbers() const override { return form_.max_rep == 0 && form_.value_bits >= 8; }
  bool has_texts() const override { return form_.max_rep == 0 && form_.value_bits == 0; }

  // Nothing is read of its rows.
  Outcome plan(const LaRuns&, Ranges* out) const override {
    out->clear();
    return success();
  }

  Outcome open(const LaRuns& rows, const Ranges&, const Fetched&, LeafPart* out) const override {
    const bool has_lists = form_.max_rep > 0;
    const size_t def_at = out->def.size();
    int64_t num_entries = 0;
    for (int64_t run = 0; run < rows.num_runs; ++run) {
      const int64_t start = has_lists ? row_starts_[static_cast<size_t>(rows.starts[run])] : rows.starts[run];
      const int64_t stop = has_lists ? row_starts_[static_cast<size_t>(rows.stops[run])] : rows.stops[run];
      num_entries += stop - start;
      if (num_entries > out->limit / 2 - static_cast<int64_t>(out->def.size())) return above_limit();
      if (has_lists) out->rep.insert(out->rep.end(), rep_.begin() + start, rep_.begin() + stop);
      if (has_def_) out->def.insert(out->def.end(), def_.begin() + start, def_.begin() + stop);
    }
    if (is_all_null_) out->def.resize(def_at + static_cast<size_t>(num_entries), 1);
    const uint16_t* def = has_def_ || is_all_null_ ? out->def.data() + def_at : nullptr;
    return append_values(def, num_entries, out);
  }

 private:
  // Source: spec 7. u32 number of Arrow buffers, u32 size of each, then their bytes.
  Outcome open_scalar(const std::vector<uint8_t>& stored) const {
    const auto size = static_cast<int64_t>(stored.size());
    const int64_t count = size < 4 ? 0 : load<uint32_t>(stored.data(), 0), header = 4 + 4 * count;
    if (count < 1 || count > 2 || size < header) return corrupt("a scalar has other buffers than one or two", 0);
    const int64_t first = load<uint32_t>(stored.data(), 1);
    const int64_t second = count == 2 ? int64_t{load<uint32_t>(stored.data(), 2)} : 0;
    if (header + first + second != size) return corrupt("a scalar's buffers do not fill it", 0);
    const uint8_t* bytes = stored.data() + header;
    int64_t begin = 0;
    if (form_.value_bits > 0) {
      const bool fits = form_.value_bits == 1 ? first == 1 && bytes[0] <= 1 : first == form_.value_bits / 8;
      if (count != 1 || !fits) return corrupt("a scalar has another size than its type", 0);
    } else {
      const int64_t width = form_.offset_bits / 8;
      if (form_.value_bits < 0 || count != 2 || first != 2 * width)
        return corrupt("a scalar has another size than its type", 0);
      const auto offset = [&](int64_t number) {
        return width == 4 ? int64_t{load<int32_t>(bytes, number)} : load<int64_t>(bytes, number);
      };
      if (offset(0) != 0 || offset(1) != second) return corrupt("a scalar's offsets do not span its bytes", 0);
      begin = first;
    }
    scalar_.assign(reinterpret_cast<const char*>(bytes) + begin, static_cast<size_t>(size - header - begin));
    has_scalar_ = true;
    return success();
  }

  Outcome open_levels(const std::vector<uint8_t>& stored, const LaChunkCodec* codec, int64_t num_levels, Levels* out,
                      bool* is_there) const {
    const auto size = static_cast<int64_t>(stored.size());
    if (size == 0) {
      return num_levels != 0 && codec != nullptr ? corrupt("levels are declared, none are stored", 0) : success();
    }
    *is_there = true;
    const int64_t most = form_.most_level_bytes / 2;
    if (codec == nullptr) {
      if (size % 2 != 0 || (num_levels != 0 && num_levels != size / 2))
        return corrupt("levels have another size than is declared", 0);
      if (size / 2 > most) return above_limit();
      out->resize(static_cast<size_t>(size / 2));
      std::memcpy(out->data(), stored.data(), stored.size());
      return success();
    }
    // Packed to 0 bits, any number of levels takes no bytes.
    if (num_levels < 0 || num_levels > most) return above_limit();
    out->resize(static_cast<size_t>(num_levels));
    const uint8_t* bytes = stored.data();
    const LaChunk block{&bytes, &size, 1, num_levels};
    const int64_t start = 0;
    const LaRuns all{&start, &num_levels, num_levels > 0 ? 1 : 0};
    LaValues place{reinterpret_cast<uint8_t*>(out->data()), 0, nullptr, 0, nullptr, nullptr};
    return num_levels == 0 ? success() : refused(codec->select(codec->self, &block, &all, &place));
  }

  Outcome check_structure(bool has_rep, bool has_def) const {
    const auto num_rep = static_cast<int64_t>(rep_.size()), num_def = static_cast<int64_t>(def_.size());
    if (has_rep != (form_.max_rep > 0))
      return corrupt("a constant page must have repetition levels if and only if it has lists", 0);
    if (has_rep && has_def && num_rep != num_def) return corrupt("levels of two kinds differ in number", 0);
    if (!has_rep && !has_def) return success();
    const Outcome outcome =
        check_levels({has_rep ? rep_.data() : nullptr, has_def ? def_.data() : nullptr, has_rep ? num_rep : num_def},
                     form_.max_rep, form_.max_def);
    if (outcome.message != nullptr) return outcome;
    if (!has_rep) return num_def == num_rows ? success() : corrupt("a page has other levels than rows", 0);
    row_starts_.clear();
    for (int64_t entry = 0; entry < num_rep; ++entry)
      if (rep_[static_cast<size_t>(entry)] == form_.max_rep) row_starts_.push_back(entry);
    if (static_cast<int64_t>(row_starts_.size()) != num_rows || (num_rows > 0 && row_starts_[0] != 0))
      return corrupt("repetition levels start other rows than the page has", 0);
    row_starts_.push_back(num_rep);
    return success();
  }

  // Values of entries: with lists, levels above `max_visible` have none.
  Outcome append_values(const uint16_t* def, int64_t num_entries, LeafPart* out) const {
    const bool has_hidden = form_.max_rep > 0 && def != nullptr;
    int64_t count = num_entries, num_valid = num_entries;
    if (def != nullptr) {
      count = num_valid = 0;
      for (int64_t entry = 0; entry < num_entries; ++entry) {
        count += !has_hidden || def[entry] <= form_.max_visible;
        num_valid += def[entry] == 0;
      }
    }
    if (form_.value_bits < 0) {
      out->num_values += count;
      return success();
    }
    if (!has_scalar_ && num_valid > 0) return corrupt("a constant page without a scalar has valid values", 0);
    LaValues place = out->place(count, form_.value_bits);
    if (place.values == nullptr) return above_limit();
    const Outcome outcome = form_.value_bits == 0 ? repeat_bytes(def, num_entries, num_valid, has_hidden, &place)
                                                  : repeat_value(count, place);
    if (outcome.message == nullptr) out->took(count, place);
    return outcome;
  }

  Outcome repeat_value(int64_t count, const LaValues& place) const {
    if (form_.value_bits == 1) {
      const int64_t room = (place.bit_offset + count + 7) / 8;
      return fill_bits(place.values, room, place.bit_offset, count, has_scalar_ && scalar_[0] != 0);
    }
    const int64_t width = form_.value_bits / 8;
    if (!has_scalar_) {
      std::memset(place.values, 0, static_cast<size_t>(count * width));
      return success();
    }
    if (count == 0) return success();
    std::memcpy(place.values, scalar_.data(), static_cast<size_t>(width));
    // What is written is copied behind itself, twice as much each time.
    for (int64_t done = 1; done < count; done += std::min(done, count - done))
      std::memcpy(place.values + done * width, place.values, static_cast<size_t>(std::min(done, count - done) * width));
    return success();
  }

  // Nulls are empty.
  Outcome repeat_bytes(const uint16_t* def, int64_t num_entries, int64_t num_valid, bool has_hidden,
                       LaValues* place) const {
    const auto size = static_cast<int64_t>(scalar_.size());
    if (size > 0 && num_valid > ((int64_t{1} << 60) - place->end) / size) return above_limit();
    uint8_t* to = place->reserve(place->host, place->end, num_valid * size);
    if (to == nullptr) return above_limit();
    int64_t value = 0;
    for (int64_t entry = 0; entry < num_entries; ++entry) {
      if (has_hidden && def[entry] > form_.max_visible) continue;
      if (def == nullptr || def[entry] == 0) {
        copy_bytes(to, reinterpret_cast<const uint8_t*>(scalar_.data()), size);
        to += size;
        place->end += size;
      }
      place->ends[value++] = place->end;
    }
    return success();
  }

  const ConstantForm form_;
  const size_t num_buffers_;
  mutable std::mutex lock_;
  // What was read, by one thread, before `is_indexed_`.
  mutable Levels rep_, def_;
  mutable std::vector<int64_t> row_starts_;  // entries, (num_rows + 1,); with lists alone
  mutable std::string scalar_;
  mutable bool has_scalar_ = false, has_def_ = false, is_all_null_ = false;
  mutable std::atomic<bool> is_indexed_ = false;
};

}  // namespace

Page* new_constant_page(const ConstantForm& form, size_t num_buffers) { return new ConstantPage(form, num_buffers); }

}  // namespace lance_arrow::engine
