// Finds files in which no row satisfies a filter, without Python: small local files with zone maps at their end.
//
// Python registers properties of files that it opened with the installed plugins. They are the columns of a schema, the
// zone map of a column encoding, and the layout of a zone map. The file pruner recognises the same bytes in other
// files. It excludes a file or does nothing. Python reads, or rejects, unknown, unreadable, damaged and undecided
// files as if there were no file pruner. It can count the rows of any file of a known schema.
//
//   last 64 KiB ─► footer, checksums ─► descriptor: known schema? ─► columns of the filter: known encodings?
//                                                         ─► zone maps: known layouts? ─► the filter's program
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/prune/zone_program.hpp"
#include "engine/tables/file_head.hpp"

namespace lance_arrow {

using engine::Tail;

// Where a schema has the columns of the filter.
struct KnownSchema {
  uint32_t num_columns;
  std::vector<int> columns;  // physical; -1 for what has no zone map that could be judged
};

// What the encoding of a column says of its zone map.
struct KnownEncoding {
  uint64_t rows_per_zone;  // 0: there is none
  uint64_t column_buffer;
  size_t num_buffers = 0;  // of the column
};

// Where the columns of a zone map are, in streams of the same length that begin with the same bytes.
struct KnownStream {
  struct Count {
    int64_t place = -1;  // -1: not stored
    int width = 0;  // bytes
  };
  // From the beginning of the stream; validity and offsets -1: there are none.
  struct Bound {
    int64_t validity = -1, offsets = -1, values = 0, values_bytes = 0;
  };
  std::string head;
  uint64_t size;
  int64_t num_zones;
  char kind;  // of values, as `BoundArray` has it
  int width;
  Bound low, high;
  Count rows, items, nulls, nans;

  BoundArray At(const Bound& bound, Bytes stream) const {
    const char* start = stream.data();
    return {kind,
            width,
            0,
            bound.validity < 0 ? nullptr : reinterpret_cast<const uint8_t*>(start) + bound.validity,
            bound.offsets < 0 ? nullptr : start + bound.offsets,
            start + bound.values,
            bound.values_bytes};
  }

  // Whether everything lies in the stream.
  bool IsSound() const {
    constexpr int64_t kMost = int64_t{1} << 40;
    const auto bytes = static_cast<int64_t>(size);
    const auto fits = [&](int64_t place, int64_t wanted) {
      return place >= 0 && wanted >= 0 && place <= bytes - wanted;
    };
    if (size > static_cast<uint64_t>(kMost) || head.size() > size || num_zones < 1 || num_zones > bytes * 8)
      return false;
    const int64_t slots = BoundArray{kind, width}.SlotBytes(num_zones);
    for (const Bound* bound : {&low, &high}) {
      if (bound->validity >= 0 && !fits(bound->validity, (num_zones + 7) / 8)) return false;
      if (!fits(kind == 'b' ? bound->offsets : bound->values, slots)) return false;
      if (!fits(bound->values, bound->values_bytes) || (kind == 'x' && bound->values_bytes < slots)) return false;
    }
    if (rows.place < 0) return false;
    for (const Count* count : {&rows, &items, &nulls, &nans}) {
      if (count->place < 0) continue;
      if (count->width < 1 || count->width > 8 || !fits(count->place, num_zones * count->width)) return false;
    }
    return true;
  }
};

class FilePruner {
 public:
  FilePruner(std::shared_ptr<const Program> program, bool has_checks)
      : program_(std::move(program)), has_checks_(has_checks), streams_(program_->num_columns()) {}

  virtual ~FilePruner() = default;

  // Whether the file surely has no row that satisfies the filter. The bridge, a library of its own, calls it too. A
  // file of another size than the one that is known (-1: none) is left to Python.
  virtual bool Excludes(const std::string& path, int64_t known_size = -1);
  // Rows of a file of a known schema; -1 for a file that is left to Python. The filter has no part in that.
  virtual int64_t Counts(const std::string& path);

  // Whether looking has not paid; nothing is excluded, or counted, any more.
  bool IsIdle() const { return is_idle_.load(std::memory_order_relaxed); }
  int64_t num_asked() const { return num_asked_.load(std::memory_order_relaxed); }
  int64_t num_excluded() const { return num_excluded_.load(std::memory_order_relaxed); }

  // Each tells whether there was room, and the bytes could be read.
  bool RegisterSchema(Bytes descriptor, uint16_t minor_version, KnownSchema known);
  bool RegisterEncoding(Bytes metadata, KnownEncoding known);
  bool RegisterStream(int column, KnownStream known);

 private:
  static constexpr size_t kTailBytes = 64 << 10;

  // Whether `told(tail)` tells anything of the file, unless asking has not paid.
  template <typename Told>
  bool Asks(const std::string& path, Told&& told);
  template <typename Told>
  bool Looks(const std::string& path, Told&& told);
  void Learn(uint64_t wanted_bytes);
  bool Judges(Tail* tail);

  const std::shared_ptr<const Program> program_;
  const bool has_checks_;
  std::atomic<int64_t> num_asked_{0}, num_excluded_{0};
  std::atomic<bool> is_idle_{false};
  std::atomic<size_t> usual_bytes_{kTailBytes};

  struct BySchema {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return a.first != b.first ? a.first < b.first : Bytes(a.second) < Bytes(b.second);
    }
  };
  std::shared_mutex mutex_;
  std::map<std::pair<uint16_t, std::string>, KnownSchema, BySchema> schemas_;
  std::map<std::string, KnownEncoding, std::less<>> encodings_;
  std::vector<std::vector<std::shared_ptr<const KnownStream>>> streams_;
};

}  // namespace lance_arrow
