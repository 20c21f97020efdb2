// Bytes of a file for the engine, by position or out of memory, compared with checksums where that is wanted.
#pragma once

#include <cerrno>

#include "engine/common/files.hpp"
#include "engine/plan/pages.hpp"
#include "engine/plan/reader.hpp"
#include "engine/tables/scattered_reads.hpp"

namespace lance_arrow::engine {

constexpr int64_t kKeptArena = 8 << 20;

inline Outcome read_bytes(const Reader& reader, int64_t start, int64_t size, uint8_t* out) {
  if (!inside(start, size, reader.size)) return corrupt("a range lies outside the file", start);
  if (reader.files != nullptr) {
    if (size == 0 || reader.files->read(start, size, out)) return success();
    return {"a file cannot be read, or is not as it was", start, kShort};
  }
  if (reader.fd < 0) {
    if (reader.segments == nullptr) copy_bytes(out, reader.memory + start, size);
    else if (!reader.segments->copy(start, size, out)) return misuse("bytes were not fetched", start);
    return success();
  }
  const int64_t received = read_at(reader.fd, start, size, out);
  if (received == size) return success();
  if (received < 0) return {"a read failed", errno, kSystem};
  return {"a read came back short", start + received, kShort};
}

// Reads a head into memory of its own and what follows it where that belongs, in one request.
inline Outcome read_behind_head(const Reader& reader, int64_t start, uint8_t* head, int64_t head_bytes, uint8_t* out,
                                int64_t size) {
  if (reader.fd >= 0 && inside(start, head_bytes + size, reader.size)) {
    const iovec parts[2] = {{head, static_cast<size_t>(head_bytes)}, {out, static_cast<size_t>(size)}};
    if (read_apart(reader.fd, start, parts, 2, head_bytes + size)) return success();
  }
  const Outcome outcome = read_bytes(reader, start, head_bytes, head);
  return outcome.message != nullptr ? outcome : read_bytes(reader, start + head_bytes, size, out);
}

class Fetcher {
 public:
  explicit Fetcher(const Reader& reader) : reader_(reader) {}

  bool has(int64_t start, int64_t size) const { return inside(start, size, reader_.size); }

  const Reader& reader() const { return reader_; }
  const Segments* segments() const { return reader_.segments; }

  // Whether some of these bytes were never compared with their checksums, and must be.
  bool is_pending(int64_t start, int64_t size) const {
    int64_t stop = start + size;
    return must_check() && inside(start, size, reader_.size) && reader_.checks->widen(&start, &stop);
  }

  Outcome fetch(int64_t start, int64_t size, uint8_t* out) {
    ++count_.requests;
    int64_t wide_start = start, wide_stop = start + size;
    if (must_check() && inside(start, size, reader_.size) && reader_.checks->widen(&wide_start, &wide_stop))
      return fetch_checked(start, size, wide_start, wide_stop, out);
    count_.bytes_read += size;
    return read_bytes(reader_, start, size, out);
  }

  bool is_memory() const { return !reader_.is_positional() && reader_.segments == nullptr; }
  const uint8_t* memory() const { return reader_.memory; }

  // A range of memory, where it stays.
  Outcome look_at(int64_t start, int64_t size) {
    if (!inside(start, size, reader_.size)) return corrupt("a range lies outside the file", start);
    count_.bytes_read += size;
    int64_t wide_start = start, wide_stop = start + size;
    if (!must_check() || !reader_.checks->widen(&wide_start, &wide_stop)) return success();
    if (!inside(wide_start, wide_stop - wide_start, reader_.size))
      return corrupt("a block lies outside the file", wide_start);
    count_.bytes_read += wide_stop - wide_start - size;
    return checked(wide_start, wide_stop, reader_.memory + wide_start);
  }

  // Ranges into places apart, close ones in one request; they need no check.
  Outcome fetch_scattered(const Scattered& ranges) {
    for (int64_t range = 0; range < ranges.count;) {
      const int64_t count = reader_.fd >= 0 ? num_together(ranges, range) : 1;
      const int64_t start = ranges.base + ranges.starts[range];
      const int64_t size = ranges.stops[range + count - 1] - ranges.starts[range];
      if (count > 1 && inside(start, size, reader_.size) && read_together(reader_.fd, ranges, range, count)) {
        ++count_.requests;
        count_.bytes_read += size;
        range += count;
        continue;
      }
      const int64_t own = ranges.stops[range] - ranges.starts[range];
      const Outcome outcome = fetch(start, own, ranges.out + ranges.places[range]);
      if (outcome.message != nullptr) return outcome;
      ++range;
    }
    return success();
  }

  // Of bytes that need no check.
  Outcome fetch_behind_head(int64_t start, uint8_t* head, int64_t head_bytes, uint8_t* out, int64_t size) {
    ++count_.requests;
    count_.bytes_read += head_bytes + size;
    return read_behind_head(reader_, start, head, head_bytes, out, size);
  }

  ReadCount& count() { return count_; }
  const ReadCount& count() const { return count_; }

 private:
  bool must_check() const { return reader_.checks != nullptr && reader_.checks->num_pending() > 0; }

  // Blocks that were never checked: they are read whole, compared, and the wanted part is copied out of them.
  Outcome fetch_checked(int64_t start, int64_t size, int64_t wide_start, int64_t wide_stop, uint8_t* out) {
    const int64_t wide_bytes = wide_stop - wide_start;
    count_.bytes_read += wide_bytes;
    if (!inside(wide_start, wide_bytes, reader_.size)) return corrupt("a block lies outside the file", wide_start);
    const bool is_exact = wide_bytes == size;
    const Leased<Buffer> kept;
    Buffer large;
    uint8_t* wide = out;
    if (reader_.is_positional()) {
      if (!is_exact) wide = (wide_bytes <= kKeptArena ? *kept : large).reserve(0, wide_bytes, wide_bytes);
      if (wide == nullptr) return above_limit();
      const Outcome outcome = read_bytes(reader_, wide_start, wide_bytes, wide);
      if (outcome.message != nullptr) return outcome;
    }
    const uint8_t* bytes = reader_.is_positional() ? wide : reader_.memory + wide_start;
    const Outcome outcome = checked(wide_start, wide_stop, bytes);
    if (outcome.message == nullptr && bytes != out) copy_bytes(out, bytes + (start - wide_start), size);
    return outcome;
  }

  // Reads checksums that are not here.
  Outcome read_sums(int64_t start, int64_t stop) {
    Outcome outcome = success();
    reader_.checks->each_absent(start, stop, [&](int64_t from, int64_t to) {
      uint8_t sums[4 * BlockChecks::kGroup];
      outcome = read_bytes(reader_, from, to - from, sums);
      if (outcome.message == nullptr) reader_.checks->take(from, to - from, sums);
      count_.bytes_read += to - from;
      return outcome.message == nullptr;
    });
    return outcome;
  }

  Outcome checked(int64_t start, int64_t stop, const uint8_t* bytes) {
    const Outcome outcome = read_sums(start, stop);
    if (outcome.message != nullptr) return outcome;
    const int64_t wrong = reader_.checks->check(start, stop, bytes);
    return wrong < 0 ? success() : Outcome{"a block of the file contradicts its checksum", wrong, kChecksum};
  }

  Reader reader_;
  ReadCount count_;
};

}  // namespace lance_arrow::engine
