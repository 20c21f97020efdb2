#include "engine/prune/file_pruner.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "engine/common/files.hpp"
#include "engine/tables/column_metadata.hpp"
#include "lance_arrow/scratch.hpp"

namespace lance_arrow {

using engine::ColumnMetadata;
using engine::FileHead;

namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kMostKnown = 64;
constexpr int64_t kMostZones = 64;
// So many files are looked at before it is asked whether that pays, and of so many one must be left out.
constexpr int64_t kPatience = 32, kWorthwhile = 8;

// Metadata of a column without its pages, whose description lies in it. Where its buffers are is looked at when they
// are wanted.
bool ReadColumn(Bytes message, ColumnMetadata* column) {
  column->read(message, UINT64_MAX, 1, 0, nullptr);
  return column->fault.kind == engine::MetadataFault::kNone &&
         column->description.where == engine::DescriptionField::kHere;
}

template <typename Map>
bool Keep(Map* map, typename Map::key_type key, typename Map::mapped_type value) {
  if (map->size() >= kMostKnown && map->find(key) == map->end()) return false;
  map->insert_or_assign(std::move(key), std::move(value));
  return true;
}

uint64_t CountAt(const KnownStream::Count& count, Bytes stream, int64_t number, uint64_t otherwise) {
  if (count.place < 0) return otherwise;
  uint64_t found = 0;
  std::memcpy(&found, stream.data() + count.place + number * count.width, static_cast<size_t>(count.width));
  return found;
}

// A column of a zone map, and what owns its flags.
struct ReadZones {
  ZoneColumn column;
  uint8_t flags[kMostZones];
};

// What `decode_zones` refuses is not read.
bool Read(const KnownStream& layout, Bytes stream, uint64_t num_rows, uint64_t rows_per_zone, ReadZones* zones) {
  zones->column = {layout.At(layout.low, stream), layout.At(layout.high, stream), zones->flags, layout.num_zones};
  for (int64_t number = 0; number < layout.num_zones; ++number) {
    const bool is_last = number + 1 == layout.num_zones;
    const uint64_t rows = CountAt(layout.rows, stream, number, 0);
    if (rows != (is_last ? num_rows - static_cast<uint64_t>(number) * rows_per_zone : rows_per_zone)) return false;
    const uint64_t items = CountAt(layout.items, stream, number, rows);
    const uint64_t nulls = CountAt(layout.nulls, stream, number, 0), nans = CountAt(layout.nans, stream, number, 0);
    if (items != rows || nulls > items || nans > items - nulls || (nans != 0 && layout.kind != 'f')) return false;
    zones->flags[number] = static_cast<uint8_t>((items > nulls + nans ? kHasValue : 0) | (nulls > 0 ? kHasNull : 0) |
                                                (nans > 0 ? kHasNan : 0));
  }
  return zones->column.Fault() == nullptr;
}

}  // namespace

bool FilePruner::Excludes(const std::string& path, int64_t known_size) {
  return Asks(path, [&](Tail* tail) {
    return (known_size < 0 || static_cast<uint64_t>(known_size) == tail->file_size) && Judges(tail);
  });
}

int64_t FilePruner::Counts(const std::string& path) {
  int64_t rows = -1;
  Asks(path, [&](Tail* tail) {
    FileHead head;
    if (!head.read(tail, has_checks_)) return false;
    std::shared_lock lock(mutex_);
    const auto schema = schemas_.find(std::pair<uint16_t, Bytes>(head.minor, head.schema));
    if (schema == schemas_.end() || schema->second.num_columns != head.num_columns) return false;
    rows = head.num_rows;
    return true;
  });
  return rows;
}

template <typename Told>
bool FilePruner::Asks(const std::string& path, Told&& told) {
  if (IsIdle()) return false;
  const int64_t asked = num_asked_.fetch_add(1, std::memory_order_relaxed) + 1;
  const bool has_told = Looks(path, told);
  if (has_told) {
    num_excluded_.fetch_add(1, std::memory_order_relaxed);
  } else if (asked >= kPatience && num_excluded_.load(std::memory_order_relaxed) * kWorthwhile < asked) {
    is_idle_.store(true, std::memory_order_relaxed);
  }
  return has_told;
}

bool FilePruner::RegisterSchema(Bytes descriptor, uint16_t minor_version, KnownSchema known) {
  FileHead found;
  if (!found.read_descriptor(descriptor) || known.columns.size() != program_->num_columns()) return false;
  for (const int column : known.columns) {
    if (column >= 0 && static_cast<uint32_t>(column) >= known.num_columns) return false;
  }
  std::unique_lock lock(mutex_);
  return Keep(&schemas_, {minor_version, std::string(found.schema)}, std::move(known));
}

bool FilePruner::RegisterEncoding(Bytes metadata, KnownEncoding known) {
  ColumnMetadata found;
  if (!ReadColumn(metadata, &found)) return false;
  known.num_buffers = found.starts.size();
  std::unique_lock lock(mutex_);
  return Keep(&encodings_, std::string(found.description.here), known);
}

bool FilePruner::RegisterStream(int column, KnownStream known) {
  if (column < 0 || static_cast<size_t>(column) >= streams_.size() || !known.IsSound()) return false;
  std::unique_lock lock(mutex_);
  auto& held = streams_[static_cast<size_t>(column)];
  if (held.size() >= kMostKnown) return false;
  for (const auto& one : held) {
    if (one->size == known.size && one->head == known.head) return true;
  }
  held.push_back(std::make_shared<const KnownStream>(std::move(known)));
  return true;
}

template <typename Told>
bool FilePruner::Looks(const std::string& path, Told&& told) {
  const Leased<std::vector<char>> leased;
  std::vector<char>& memory = *leased;
  memory.resize(kTailBytes);
  const engine::OpenFile file(path.c_str());
  if (file.size() < static_cast<int64_t>(engine::kFooterBytes)) return false;
  const auto file_size = static_cast<uint64_t>(file.size());
  bool has_told = false;
  // As much as files like this one took so far; where that is not enough, all that may be looked at.
  for (size_t room = usual_bytes_.load(std::memory_order_relaxed);; room = kTailBytes) {
    const auto size = static_cast<int64_t>(std::min<uint64_t>(file_size, room));
    if (file.read_at(file.size() - size, size, reinterpret_cast<uint8_t*>(memory.data())) != size) break;
    Tail tail{Bytes(memory.data(), static_cast<size_t>(size)), file_size};
    has_told = told(&tail);
    if (has_told) Learn(tail.wanted_bytes);
    if (tail.wanted_bytes <= static_cast<uint64_t>(size) || room == kTailBytes) break;
  }
  return has_told;
}

void FilePruner::Learn(uint64_t wanted_bytes) {
  const size_t usual = usual_bytes_.load(std::memory_order_relaxed);
  const auto pages = static_cast<size_t>((wanted_bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
  usual_bytes_.store(usual == kTailBytes ? pages : std::max(usual, pages), std::memory_order_relaxed);
}

bool FilePruner::Judges(Tail* tail) {
  FileHead head;
  if (!head.read(tail, has_checks_)) return false;

  std::shared_lock lock(mutex_);
  const auto schema = schemas_.find(std::pair<uint16_t, Bytes>(head.minor, head.schema));
  if (schema == schemas_.end() || schema->second.num_columns != head.num_columns || head.num_rows == 0) return false;
  uint64_t rows_per_zone = 0;
  int64_t num_zones = 0;
  std::vector<ReadZones> read(streams_.size());
  std::vector<const ZoneColumn*> columns(streams_.size());
  for (size_t one = 0; one < streams_.size(); ++one) {
    const int number = schema->second.columns[one];
    if (number < 0) continue;
    const auto [start, size] = head.column_place(static_cast<uint32_t>(number));
    const auto metadata = tail->at(start, size);
    ColumnMetadata column;
    if (!metadata || (head.has_sums && head.sums.column(static_cast<uint32_t>(number)) != engine::crc_of(*metadata)))
      return false;
    if (!ReadColumn(*metadata, &column)) return false;
    const auto encoding = encodings_.find(column.description.here);
    if (encoding == encodings_.end() || encoding->second.num_buffers != column.starts.size()) return false;
    if (encoding->second.rows_per_zone == 0) continue;
    const uint64_t buffer = encoding->second.column_buffer;
    if (buffer >= column.starts.size()) return false;
    const auto stream = tail->at(column.starts[buffer], column.sizes[buffer]);
    if (!stream || (head.has_sums && !head.sums.confirms(column.starts[buffer], column.sizes[buffer], tail)))
      return false;
    if (rows_per_zone != 0 && rows_per_zone != encoding->second.rows_per_zone) return false;
    rows_per_zone = encoding->second.rows_per_zone;
    num_zones = static_cast<int64_t>((static_cast<uint64_t>(head.num_rows) - 1) / rows_per_zone + 1);
    if (num_zones > kMostZones) return false;
    const KnownStream* layout = nullptr;
    for (const auto& known : streams_[one]) {
      if (known->size == stream->size() && stream->substr(0, known->head.size()) == known->head) layout = known.get();
    }
    if (layout == nullptr || layout->num_zones != num_zones) return false;
    if (!Read(*layout, *stream, static_cast<uint64_t>(head.num_rows), rows_per_zone, &read[one])) return false;
    columns[one] = &read[one].column;
  }
  int8_t verdicts[kMostZones];
  program_->Judge(columns, num_zones, verdicts);
  return num_zones > 0 && std::all_of(verdicts, verdicts + num_zones, [](int8_t one) { return one == Program::kNo; });
}

}  // namespace lance_arrow
