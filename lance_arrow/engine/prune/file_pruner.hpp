// Files that a filter leaves nothing of, found without Python: small local files whose zone maps lie at their end.
//
// A file pruner knows nothing by itself. What a schema's columns are, what an encoding of a column says of its zone
// map, and how a zone map is laid out, Python told it of files that it opened, through the installed plugins; the file
// pruner recognises the same bytes in other files. It says "no row" or nothing: a file that it has not seen, cannot
// read, finds damaged, or cannot judge, is left to Python, which reads, or refuses, the file as if there were no file
// pruner.
//
//   last 64 KiB ─► footer, checksums ─► descriptor: known schema? ─► columns of the filter: known encodings?
//                                                         ─► zone maps: known layouts? ─► the filter's program
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/common/scratch.hpp"
#include "engine/prune/wire.hpp"
#include "engine/prune/zone_judge.hpp"
#include "engine/tables/checksums.hpp"

namespace lance_arrow {

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
  struct Bound {
    int64_t validity = -1, offsets = -1, values = 0, values_bytes = 0;
  };
  std::string head;
  uint64_t size;
  int64_t num_zones;
  char kind;  // of values: i, u, f, b (bytes)
  int width;  // of values, or of offsets
  Bound low, high;
  Count rows, items, nulls, nans;

  // Whether everything lies in the stream.
  bool IsSound() const {
    constexpr int64_t kMost = int64_t{1} << 40;
    const auto bytes = static_cast<int64_t>(size);
    const auto fits = [&](int64_t place, int64_t wanted) {
      return place >= 0 && wanted >= 0 && place <= bytes - wanted;
    };
    if (size > static_cast<uint64_t>(kMost) || head.size() > size || num_zones < 1 || num_zones > bytes * 8)
      return false;
    if (width != 1 && width != 2 && width != 4 && width != 8) return false;
    if ((kind == 'f' || kind == 'b') && width < 4) return false;
    if (kind != 'i' && kind != 'u' && kind != 'f' && kind != 'b') return false;
    for (const Bound* bound : {&low, &high}) {
      if (bound->validity >= 0 && !fits(bound->validity, (num_zones + 7) / 8)) return false;
      if (!fits(bound->values, kind == 'b' ? bound->values_bytes : num_zones * width)) return false;
      if (kind == 'b' && !fits(bound->offsets, (num_zones + 1) * width)) return false;
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
  FilePruner(Program program, int num_columns, bool has_checks)
      : program_(std::move(program)),
        num_columns_(num_columns),
        has_checks_(has_checks),
        streams_(static_cast<size_t>(num_columns)) {}

  // Whether the file surely has no row that satisfies the filter.
  bool Excludes(const std::string& path) {
    if (IsIdle()) return false;
    const int64_t asked = num_asked_.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool is_excluded = Looks(path);
    if (is_excluded) {
      num_excluded_.fetch_add(1, std::memory_order_relaxed);
    } else if (asked >= kPatience && num_excluded_.load(std::memory_order_relaxed) * kWorthwhile < asked) {
      is_idle_.store(true, std::memory_order_relaxed);
    }
    return is_excluded;
  }

  // Whether looking has not paid; nothing is excluded any more.
  bool IsIdle() const { return is_idle_.load(std::memory_order_relaxed); }
  int64_t num_asked() const { return num_asked_.load(std::memory_order_relaxed); }
  int64_t num_excluded() const { return num_excluded_.load(std::memory_order_relaxed); }

  // Each tells whether there was room, and the bytes could be read.
  bool RegisterSchema(Bytes descriptor, uint16_t minor_version, KnownSchema known) {
    Descriptor found;
    if (!found.Read(descriptor) || known.columns.size() != static_cast<size_t>(num_columns_)) return false;
    for (const int column : known.columns) {
      if (column >= 0 && static_cast<uint32_t>(column) >= known.num_columns) return false;
    }
    std::unique_lock lock(mutex_);
    return Keep(&schemas_, {minor_version, std::string(found.schema)}, std::move(known));
  }

  bool RegisterEncoding(Bytes metadata, KnownEncoding known) {
    Column found;
    if (!found.Read(metadata)) return false;
    known.num_buffers = found.offsets.size();
    std::unique_lock lock(mutex_);
    return Keep(&encodings_, std::string(found.description), known);
  }

  bool RegisterStream(int column, KnownStream known) {
    if (column < 0 || column >= num_columns_ || !known.IsSound()) return false;
    std::unique_lock lock(mutex_);
    auto& held = streams_[static_cast<size_t>(column)];
    if (held.size() >= kMostKnown) return false;
    for (const auto& one : held) {
      if (one->size == known.size && one->head == known.head) return true;
    }
    held.push_back(std::make_shared<const KnownStream>(std::move(known)));
    return true;
  }

 private:
  static constexpr size_t kTailBytes = 64 << 10, kPageBytes = 4096;
  static constexpr size_t kMostKnown = 64;
  static constexpr int64_t kMostZones = 64;
  // So many files are looked at before it is asked whether that pays, and of so many one must be left out.
  static constexpr int64_t kPatience = 32, kWorthwhile = 8;

  // Source: lance_arrow.proto FileDescriptor.
  struct Descriptor {
    Bytes schema;
    uint64_t num_rows = 0;
    bool has_schema = false, has_checksums = false;

    bool Read(Bytes message) {
      Fields fields(message);
      while (fields.Next()) {
        if (fields.number == 1 && fields.type == Fields::kDelimited && !has_schema) {
          schema = fields.content;
          has_schema = true;
        } else if (fields.number == 2 && fields.type == Fields::kVarint) {
          num_rows = fields.value;
        } else if (fields.number == 1001 && fields.type == Fields::kDelimited) {
          has_checksums = true;
        } else {
          return false;
        }
      }
      return fields.is_sound && has_schema && num_rows <= INT64_MAX;
    }
  };

  // Source: lance.file.v2.ColumnMetadata; pages are passed over.
  struct Column {
    Bytes description;
    std::vector<uint64_t> offsets, sizes;

    bool Read(Bytes message) {
      bool has_encoding = false;
      Fields fields(message);
      while (fields.Next()) {
        if (fields.number == 1) {
          if (has_encoding || fields.type != Fields::kDelimited) return false;
          has_encoding = true;
          if (!Only(fields.content, 2, &description) || !Only(description, 1, &description)) return false;
        } else if (fields.number == 3) {
          if (!fields.AppendTo(&offsets)) return false;
        } else if (fields.number == 4) {
          if (!fields.AppendTo(&sizes)) return false;
        } else if (fields.number != 2) {
          return false;
        }
      }
      return fields.is_sound && has_encoding && offsets.size() == sizes.size();
    }

    static bool Only(Bytes message, uint64_t number, Bytes* content) {
      Fields fields(message);
      if (!fields.Next() || fields.number != number || fields.type != Fields::kDelimited) return false;
      *content = fields.content;
      return !fields.Next() && fields.is_sound;
    }
  };

  // Source: container/checksums.py.
  struct Checksums {
    Bytes table;
    uint32_t block_bytes, num_buffers, num_columns;
    uint64_t num_blocks;

    static constexpr size_t kHeader = 64;

    bool Read(Bytes bytes) {
      table = bytes;
      if (table.size() < kHeader || Load<uint16_t>(&table[12]) != 1) return false;
      block_bytes = Load<uint32_t>(&table[16]);
      num_buffers = Load<uint32_t>(&table[20]);
      num_blocks = Load<uint64_t>(&table[24]);
      num_columns = Load<uint32_t>(&table[32]);
      if (block_bytes < 1 || num_blocks > table.size()) return false;
      const uint64_t size = kHeader + uint64_t{24} * num_buffers + 4 * (uint64_t{num_columns} + num_blocks);
      return size == table.size() && Crc(table.substr(12)) == Load<uint32_t>(&table[8]);
    }

    uint32_t footer() const { return Load<uint32_t>(&table[36]); }
    uint32_t descriptor() const { return Load<uint32_t>(&table[40]); }
    uint32_t column_table() const { return Load<uint32_t>(&table[44]); }
    uint32_t buffer_table() const { return Load<uint32_t>(&table[48]); }
    uint32_t column(uint32_t number) const {
      return Load<uint32_t>(&table[kHeader + size_t{24} * num_buffers + size_t{4} * number]);
    }

    // Whether a buffer that is covered as a whole has the bytes that it had.
    bool Confirms(uint64_t start, Bytes buffer) const {
      uint64_t block = 0;
      for (uint32_t number = 0; number < num_buffers; ++number) {
        const auto own_start = Load<uint64_t>(&table[kHeader + size_t{8} * number]);
        const auto own_size = Load<uint64_t>(&table[kHeader + size_t{8} * (size_t{num_buffers} + number)]);
        if (own_start == start) {
          if (own_size != buffer.size()) return false;
          for (uint64_t done = 0; done < own_size; done += block_bytes, ++block) {
            if (block >= num_blocks || Crc(buffer.substr(done, block_bytes)) != Block(block)) return false;
          }
          return true;
        }
        if (own_size > INT64_MAX) return false;
        block += (own_size + block_bytes - 1) / block_bytes;
        if (block > num_blocks) return false;
      }
      return false;
    }

   private:
    uint32_t Block(uint64_t number) const {
      return Load<uint32_t>(
          &table[kHeader + size_t{24} * num_buffers + 4 * (num_columns + static_cast<size_t>(number))]);
    }
  };

  static uint32_t Crc(Bytes bytes) {
    return engine::crc32c(0, reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int64_t>(bytes.size()));
  }

  template <typename Map>
  static bool Keep(Map* map, typename Map::key_type key, typename Map::mapped_type value) {
    if (map->size() >= kMostKnown && map->find(key) == map->end()) return false;
    map->insert_or_assign(std::move(key), std::move(value));
    return true;
  }

  bool Looks(const std::string& path) {
    const engine::Leased<std::vector<char>> leased;
    std::vector<char>& memory = *leased;
    memory.resize(kTailBytes);
    const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return false;
    struct stat status;
    bool is_excluded = false;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= 40) {
      const auto file_size = static_cast<uint64_t>(status.st_size);
      // As much as files like this one took so far; where that is not enough, all that may be looked at.
      for (size_t room = usual_bytes_.load(std::memory_order_relaxed);; room = kTailBytes) {
        const auto size = static_cast<size_t>(std::min<uint64_t>(file_size, room));
        const ssize_t received = pread(descriptor, memory.data(), size, static_cast<off_t>(file_size - size));
        if (received != static_cast<ssize_t>(size)) break;
        Tail tail{Bytes(memory.data(), size), file_size};
        is_excluded = Judges(tail);
        if (is_excluded) Learn(tail.wanted_bytes);
        if (tail.wanted_bytes <= size || room == kTailBytes) break;
      }
    }
    close(descriptor);
    return is_excluded;
  }

  void Learn(uint64_t wanted_bytes) {
    const size_t usual = usual_bytes_.load(std::memory_order_relaxed);
    const auto pages = static_cast<size_t>((wanted_bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
    usual_bytes_.store(usual == kTailBytes ? pages : std::max(usual, pages), std::memory_order_relaxed);
  }

  bool Judges(Tail& tail) {
    const Bytes footer = tail.bytes.substr(tail.bytes.size() - 40);
    const auto column_table_place = Load<uint64_t>(&footer[8]), buffer_table_place = Load<uint64_t>(&footer[16]);
    const auto num_buffers = Load<uint32_t>(&footer[24]), num_columns = Load<uint32_t>(&footer[28]);
    const auto major = Load<uint16_t>(&footer[32]), minor = Load<uint16_t>(&footer[34]);
    if (footer.substr(36) != "LANC" || major != 2 || minor < 1 || minor > 3 || num_buffers < 1) return false;
    const auto column_table = tail.At(column_table_place, uint64_t{16} * num_columns);
    const auto buffer_table = tail.At(buffer_table_place, uint64_t{16} * num_buffers);
    if (!column_table || !buffer_table) return false;
    Checksums sums;
    bool has_sums = false;
    if (has_checks_ && num_buffers > 1) {
      // The table of buffers ends where the footer begins, if there are checksums.
      const char* entry = footer.data() - 16;
      if (tail.bytes.size() < 56) return false;
      const auto table = tail.At(Load<uint64_t>(entry), Load<uint64_t>(entry + 8));
      if (!table) return false;
      if (table->substr(0, 8) == "LANCECRC") {
        if (!sums.Read(*table) || sums.num_columns != num_columns) return false;
        has_sums = sums.footer() == Crc(footer) && sums.column_table() == Crc(*column_table) &&
                   sums.buffer_table() == Crc(*buffer_table);
        if (!has_sums) return false;
      }
    }
    const auto described = tail.At(Load<uint64_t>(&(*buffer_table)[0]), Load<uint64_t>(&(*buffer_table)[8]));
    if (!described || (has_sums && sums.descriptor() != Crc(*described))) return false;
    Descriptor descriptor;
    if (!descriptor.Read(*described) || (has_checks_ && descriptor.has_checksums && !has_sums)) return false;

    std::shared_lock lock(mutex_);
    const auto schema = schemas_.find(std::pair<uint16_t, Bytes>(minor, descriptor.schema));
    if (schema == schemas_.end() || schema->second.num_columns != num_columns || descriptor.num_rows == 0) return false;
    uint64_t rows_per_zone = 0;
    int64_t num_zones = 0;
    std::vector<std::vector<Zone>> of_columns(static_cast<size_t>(num_columns_));
    for (int one = 0; one < num_columns_; ++one) {
      const int number = schema->second.columns[static_cast<size_t>(one)];
      if (number < 0) continue;
      const char* entry = &(*column_table)[size_t{16} * static_cast<size_t>(number)];
      const auto metadata = tail.At(Load<uint64_t>(entry), Load<uint64_t>(entry + 8));
      Column column;
      if (!metadata || (has_sums && sums.column(static_cast<uint32_t>(number)) != Crc(*metadata))) return false;
      if (!column.Read(*metadata)) return false;
      const auto encoding = encodings_.find(column.description);
      if (encoding == encodings_.end() || encoding->second.num_buffers != column.offsets.size()) return false;
      if (encoding->second.rows_per_zone == 0) continue;
      const uint64_t buffer = encoding->second.column_buffer;
      if (buffer >= column.offsets.size()) return false;
      const auto stream = tail.At(column.offsets[buffer], column.sizes[buffer]);
      if (!stream || (has_sums && !sums.Confirms(column.offsets[buffer], *stream))) return false;
      if (rows_per_zone != 0 && rows_per_zone != encoding->second.rows_per_zone) return false;
      rows_per_zone = encoding->second.rows_per_zone;
      num_zones = static_cast<int64_t>((descriptor.num_rows - 1) / rows_per_zone + 1);
      if (num_zones > kMostZones) return false;
      const KnownStream* layout = nullptr;
      for (const auto& known : streams_[static_cast<size_t>(one)]) {
        if (known->size == stream->size() && stream->substr(0, known->head.size()) == known->head) layout = known.get();
      }
      if (layout == nullptr || layout->num_zones != num_zones) return false;
      auto& zones = of_columns[static_cast<size_t>(one)];
      if (!ReadZones(*layout, *stream, descriptor.num_rows, rows_per_zone, &zones)) return false;
    }
    std::vector<Zone> at(static_cast<size_t>(num_columns_));
    for (int64_t zone = 0; zone < num_zones; ++zone) {
      for (size_t one = 0; one < at.size(); ++one) {
        at[one] = of_columns[one].empty() ? Zone() : of_columns[one][static_cast<size_t>(zone)];
      }
      if (!program_.Excludes(at)) return false;
    }
    return num_zones > 0;
  }

  // What `decode_zones` refuses is not read.
  static bool ReadZones(const KnownStream& layout, Bytes stream, uint64_t num_rows, uint64_t rows_per_zone,
                        std::vector<Zone>* zones) {
    for (int64_t number = 0; number < layout.num_zones; ++number) {
      const bool is_last = number + 1 == layout.num_zones;
      const uint64_t rows = CountAt(layout.rows, stream, number, 0);
      if (rows != (is_last ? num_rows - static_cast<uint64_t>(number) * rows_per_zone : rows_per_zone)) return false;
      const uint64_t items = CountAt(layout.items, stream, number, rows);
      const uint64_t nulls = CountAt(layout.nulls, stream, number, 0), nans = CountAt(layout.nans, stream, number, 0);
      if (items != rows || nulls > items || nans > items - nulls || (nans != 0 && layout.kind != 'f')) return false;
      Zone zone;
      zone.is_known = true;
      zone.value = items > nulls + nans;
      zone.null = nulls > 0;
      zone.nan = nans > 0;
      if (!ReadBound(layout, layout.low, stream, number, &zone.low)) return false;
      if (!ReadBound(layout, layout.high, stream, number, &zone.high)) return false;
      if (zone.low.has_value() != zone.value || (zone.high.has_value() && !zone.value)) return false;
      if (layout.kind != 'b' && zone.high.has_value() != zone.value) return false;
      if (zone.low.has_value() && zone.high.has_value() && !(*zone.low <= *zone.high)) return false;
      zones->push_back(zone);
    }
    return true;
  }

  static uint64_t CountAt(const KnownStream::Count& count, Bytes stream, int64_t number, uint64_t otherwise) {
    if (count.place < 0) return otherwise;
    uint64_t found = 0;
    std::memcpy(&found, stream.data() + count.place + number * count.width, static_cast<size_t>(count.width));
    return found;
  }

  // False for what is none; an absent bound stays absent.
  static bool ReadBound(const KnownStream& layout, const KnownStream::Bound& bound, Bytes stream, int64_t number,
                        std::optional<Value>* out) {
    if (bound.validity >= 0 && ((stream[static_cast<size_t>(bound.validity + number / 8)] >> (number % 8)) & 1) == 0) {
      return true;
    }
    const char* place = stream.data() + (layout.kind == 'b' ? bound.offsets : bound.values) + number * layout.width;
    switch (layout.kind) {
      case 'i':
        *out = layout.width == 8   ? Load<int64_t>(place)
               : layout.width == 4 ? int64_t{Load<int32_t>(place)}
               : layout.width == 2 ? int64_t{Load<int16_t>(place)}
                                   : int64_t{Load<int8_t>(place)};
        return true;
      case 'u': {
        uint64_t found = 0;
        std::memcpy(&found, place, static_cast<size_t>(layout.width));
        *out = found;
        return true;
      }
      case 'f': {
        const double found = layout.width == 8 ? Load<double>(place) : double{Load<float>(place)};
        *out = found;
        return !std::isnan(found);
      }
      default: {
        const int64_t start = layout.width == 8 ? Load<int64_t>(place) : int64_t{Load<int32_t>(place)};
        const int64_t stop = layout.width == 8 ? Load<int64_t>(place + 8) : int64_t{Load<int32_t>(place + 4)};
        if (start < 0 || stop < start || stop > bound.values_bytes) return false;
        *out = stream.substr(static_cast<size_t>(bound.values + start), static_cast<size_t>(stop - start));
        return true;
      }
    }
  }

  const Program program_;
  const int num_columns_;
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
