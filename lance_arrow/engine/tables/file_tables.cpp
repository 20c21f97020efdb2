#include "engine/tables/file_tables.hpp"

#include <algorithm>

#include "engine/tables/checksums.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kFooterBytes = 40;

constexpr int64_t kEntryBytes = 16;

constexpr int64_t kAlignment = 64;

constexpr int64_t kSumsHeader = 64;

// Protocol buffers as they lie in memory; every step says whether it was possible.
struct Wire {
  const uint8_t* at;
  const uint8_t* end;

  bool done() const { return at == end; }

  bool varint(uint64_t* out) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at == end) return false;
      const uint8_t byte = *at++;
      if (shift == 63 && byte > 1) return false;
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) {
        *out = value;
        return true;
      }
    }
    return false;
  }

  bool tag(uint64_t* field, int* kind) {
    uint64_t key;
    if (!varint(&key)) return false;
    *field = key >> 3;
    *kind = static_cast<int>(key & 7);
    return *field != 0 && *field < (1u << 29);
  }

  bool bytes(Wire* out) {
    uint64_t size;
    if (!varint(&size) || size > static_cast<uint64_t>(end - at)) return false;
    *out = {at, at + size};
    at += size;
    return true;
  }

  bool skip(int kind) {
    uint64_t unused;
    Wire inner;
    if (kind == 0) return varint(&unused);
    if (kind == 2) return bytes(&inner);
    const int64_t size = kind == 1 ? 8 : kind == 5 ? 4 : -1;
    if (size < 0 || size > end - at) return false;
    at += size;
    return true;
  }
};

bool lies_inside(uint64_t start, uint64_t size, int64_t file_size) {
  const auto total = static_cast<uint64_t>(file_size);
  return start <= total && size <= total - start;
}

struct FileView {
  const uint8_t* bytes;
  int64_t size;

  bool matches(int64_t start, int64_t num_bytes, uint32_t crc) const {
    return crc32c(0, bytes + start, num_bytes) == crc;
  }
};

// The table of checksums, where there is one and it is sound. False where only `container` can tell what to do.
bool find_sums(const FileView& file, uint32_t num_global, FileFacts* facts) {
  facts->sums = -1;
  if (num_global == 1) return true;
  if (file.size < kFooterBytes + kEntryBytes) return false;
  const uint8_t* entry = file.bytes + file.size - kFooterBytes - kEntryBytes;
  const auto start = load<uint64_t>(entry, 0), size = load<uint64_t>(entry, 1);
  if (size < kSumsHeader || !lies_inside(start, size, file.size)) return true;
  const uint8_t* table = file.bytes + start;
  if (std::memcmp(table, "LANCECRC", 8) != 0) return true;
  const auto num_buffers = load<uint32_t>(table, 5);
  const auto num_blocks = load<uint64_t>(table, 3);
  const auto num_columns = load<uint32_t>(table, 8);
  facts->block_bytes = load<uint32_t>(table, 4);
  if (load<uint16_t>(table, 6) != 1 || facts->block_bytes < 1 || num_blocks > size) return false;
  if (size != kSumsHeader + 24 * uint64_t{num_buffers} + 4 * (uint64_t{num_columns} + num_blocks)) return false;
  if (num_columns != facts->num_columns) return false;
  if (crc32c(0, table + 12, static_cast<int64_t>(size) - 12) != load<uint32_t>(table, 2)) return false;
  uint64_t stop = 0, blocks = 0;
  for (uint32_t buffer = 0; buffer < num_buffers; ++buffer) {
    const auto from = load<uint64_t>(table + kSumsHeader, buffer);
    const auto bytes = load<uint64_t>(table + kSumsHeader, num_buffers + buffer);
    if (from < stop || bytes < 1 || !lies_inside(from, bytes, file.size)) return false;
    stop = from + bytes;
    blocks +=
        bytes / static_cast<uint64_t>(facts->block_bytes) + (bytes % static_cast<uint64_t>(facts->block_bytes) != 0);
  }
  if (blocks != num_blocks) return false;
  facts->sums = static_cast<int64_t>(start);
  facts->sum_buffers = num_buffers;
  facts->sum_blocks = static_cast<int64_t>(num_blocks);
  return true;
}

bool read_descriptor(const FileView& file, int64_t start, int64_t size, bool wants_sums, FileFacts* facts) {
  Wire wire{file.bytes + start, file.bytes + start + size};
  uint64_t field, num_rows = 0;
  int kind;
  facts->schema_start = -1;
  while (!wire.done()) {
    if (!wire.tag(&field, &kind)) return false;
    if (field == 1) {
      Wire schema;
      if (kind != 2 || facts->schema_start >= 0 || !wire.bytes(&schema)) return false;
      facts->schema_start = schema.at - file.bytes;
      facts->schema_bytes = schema.end - schema.at;
    } else if (field == 2) {
      if (kind != 0 || !wire.varint(&num_rows)) return false;
    } else if (field == 1001) {
      if ((wants_sums && facts->sums < 0) || !wire.skip(kind)) return false;
    } else if (field == 1002 || !wire.skip(kind)) {
      return false;
    }
  }
  facts->num_rows = static_cast<int64_t>(num_rows);
  return facts->schema_start >= 0 && num_rows <= static_cast<uint64_t>(INT64_MAX);
}

// Footer, tables and descriptor of one file, compared with their checksums where that is wanted.
bool open_small(const FileView& file, bool wants_sums, FileFacts* facts) {
  if (file.size < kFooterBytes) return false;
  const uint8_t* footer = file.bytes + file.size - kFooterBytes;
  if (std::memcmp(footer + 36, "LANC", 4) != 0 || load<uint16_t>(footer, 16) != 2) return false;
  facts->minor = load<uint16_t>(footer, 17);
  if (facts->minor < 1 || facts->minor > 3) return false;
  const auto columns = load<uint64_t>(footer, 1), buffers = load<uint64_t>(footer, 2);
  const auto num_buffers = load<uint32_t>(footer, 6), num_columns = load<uint32_t>(footer, 7);
  const int64_t end = file.size - kFooterBytes;
  const uint64_t columns_bytes = kEntryBytes * uint64_t{num_columns},
                 buffers_bytes = kEntryBytes * uint64_t{num_buffers};
  if (!lies_inside(columns, columns_bytes, end) || !lies_inside(buffers, buffers_bytes, end) || num_buffers == 0)
    return false;
  facts->num_columns = num_columns;
  facts->column_table = static_cast<int64_t>(columns);
  for (uint32_t one = 0; one < num_buffers; ++one) {
    const auto start = load<uint64_t>(file.bytes + buffers, 2 * int64_t{one});
    if (start % kAlignment != 0 ||
        !lies_inside(start, load<uint64_t>(file.bytes + buffers, 2 * int64_t{one} + 1), file.size))
      return false;
  }
  for (uint32_t one = 0; one < num_columns; ++one)
    if (!lies_inside(load<uint64_t>(file.bytes + columns, 2 * int64_t{one}),
                     load<uint64_t>(file.bytes + columns, 2 * int64_t{one} + 1), file.size))
      return false;
  facts->sums = -1;
  if (wants_sums && !find_sums(file, num_buffers, facts)) return false;
  const auto start = load<uint64_t>(file.bytes + buffers, 0), size = load<uint64_t>(file.bytes + buffers, 1);
  if (facts->sums >= 0) {
    const uint8_t* table = file.bytes + facts->sums;
    if (!file.matches(end, kFooterBytes, load<uint32_t>(table, 9)) ||
        !file.matches(static_cast<int64_t>(start), static_cast<int64_t>(size), load<uint32_t>(table, 10)) ||
        !file.matches(static_cast<int64_t>(columns), static_cast<int64_t>(columns_bytes), load<uint32_t>(table, 11)) ||
        !file.matches(static_cast<int64_t>(buffers), static_cast<int64_t>(buffers_bytes), load<uint32_t>(table, 12)))
      return false;
  }
  return read_descriptor(file, static_cast<int64_t>(start), static_cast<int64_t>(size), wants_sums, facts);
}

}  // namespace

void open_small_files(const uint8_t* data, const int64_t* starts, const int64_t* sizes, int64_t num_files,
                      bool wants_sums, int64_t* facts, uint8_t* flags) {
  for (int64_t file = 0; file < num_files; ++file) {
    if (flags[file] == 0) continue;
    FileFacts found{};
    flags[file] = open_small({data + starts[file], sizes[file]}, wants_sums, &found) ? 1 : 0;
    if (flags[file] == 0) continue;
    found.column_table += starts[file];
    found.schema_start += starts[file];
    if (found.sums >= 0) found.sums += starts[file];
    std::memcpy(facts + file * kFacts, &found, sizeof found);
  }
}

void copy_sums(const uint8_t* data, const int64_t* starts, const int64_t* facts, int64_t num_files, int64_t* out_starts,
               int64_t* out_sizes, uint32_t* out_crcs) {
  for (int64_t file = 0; file < num_files; ++file) {
    FileFacts found;
    std::memcpy(&found, facts + file * kFacts, sizeof found);
    if (found.sums < 0) continue;
    const uint8_t* positions = data + found.sums + kSumsHeader;
    for (int64_t buffer = 0; buffer < found.sum_buffers; ++buffer) {
      *out_starts++ = starts[file] + load<int64_t>(positions, buffer);
      *out_sizes++ = load<int64_t>(positions, found.sum_buffers + buffer);
    }
    const uint8_t* crcs = positions + 24 * found.sum_buffers + 4 * found.num_columns;
    std::memcpy(out_crcs, crcs, static_cast<size_t>(4 * found.sum_blocks));
    out_crcs += found.sum_blocks;
  }
}

namespace {

// The bytes of a description that is stored where it is used; false for all other kinds.
bool direct_description(Wire encoding, Wire* out) {
  uint64_t field;
  int kind;
  bool found = false;
  while (!encoding.done()) {
    Wire direct;
    if (found || !encoding.tag(&field, &kind) || field != 2 || kind != 2 || !encoding.bytes(&direct)) return false;
    found = true;
    *out = {direct.at, direct.at};
    bool has_bytes = false;
    while (!direct.done()) {
      if (has_bytes || !direct.tag(&field, &kind) || field != 1 || kind != 2 || !direct.bytes(out)) return false;
      has_bytes = true;
    }
  }
  return found;
}

struct ColumnWalk {
  const uint8_t* data;
  FileView file;
  int64_t room_pages, room_buffers;  // what the arrays hold

  // Reads numbers of a repeated field, packed or not.
  template <class Take>
  static bool numbers(Wire* wire, int kind, Take&& take) {
    uint64_t value;
    if (kind == 0) return wire->varint(&value) && take(value);
    Wire packed;
    if (kind != 2 || !wire->bytes(&packed)) return false;
    while (!packed.done())
      if (!packed.varint(&value) || !take(value)) return false;
    return true;
  }

  // Places or sizes of a page's buffers: as many as the arrays hold, each within the file.
  bool places(Wire* wire, int kind, uint64_t multiple, const PagesOut& out, int64_t* to, int64_t* count) const {
    return numbers(wire, kind, [&](uint64_t value) {
      if (value % multiple != 0 || value > static_cast<uint64_t>(file.size)) return false;
      if (to != nullptr) {
        if (out.num_buffers + *count >= room_buffers) return false;
        to[out.num_buffers + *count] = static_cast<int64_t>(value);
      }
      ++*count;
      return true;
    });
  }

  bool page(Wire wire, PagesOut* out) const {
    uint64_t field, rows = 0, unused;
    int kind;
    int64_t num_starts = 0, num_sizes = 0;
    Wire encoding{nullptr, nullptr}, description;
    if (out->rows != nullptr && out->num_pages >= room_pages) return false;
    while (!wire.done()) {
      if (!wire.tag(&field, &kind)) return false;
      if (field == 1) {
        if (!places(&wire, kind, kAlignment, *out, out->starts, &num_starts)) return false;
      } else if (field == 2) {
        if (!places(&wire, kind, 1, *out, out->sizes, &num_sizes)) return false;
      } else if (field == 3) {
        if (kind != 0 || !wire.varint(&rows)) return false;
      } else if (field == 4) {
        if (kind != 2 || encoding.at != nullptr || !wire.bytes(&encoding)) return false;
      } else if (field == 5) {
        if (kind != 0 || !wire.varint(&unused)) return false;
      } else if (!wire.skip(kind)) {
        return false;
      }
    }
    if (num_starts != num_sizes || rows > static_cast<uint64_t>(INT64_MAX)) return false;
    if (encoding.at == nullptr || !direct_description(encoding, &description)) return false;
    if (out->rows != nullptr) {
      for (int64_t one = out->num_buffers; one < out->num_buffers + num_starts; ++one) {
        if (out->starts[one] > file.size - out->sizes[one]) return false;
        out->starts[one] += file.bytes - data;
      }
      out->rows[out->num_pages] = static_cast<int64_t>(rows);
      out->descriptions[2 * out->num_pages] = description.at - data;
      out->descriptions[2 * out->num_pages + 1] = description.end - description.at;
      out->borders[out->num_pages] = out->num_buffers;
    }
    ++out->num_pages;
    out->num_buffers += num_starts;
    return true;
  }

  // All of a column's metadata; `own` gets its own description: first byte, size, number of buffers.
  bool column(Wire wire, int64_t* own, PagesOut* out) const {
    uint64_t field, largest = 0, longest = 0;
    int kind;
    int64_t num_starts = 0, num_sizes = 0;
    Wire encoding{nullptr, nullptr}, description, inner;
    const auto noted = [](uint64_t* most, int64_t* count) {
      return [=](uint64_t value) { return *most = std::max(*most, value), ++*count, true; };
    };
    while (!wire.done()) {
      if (!wire.tag(&field, &kind)) return false;
      if (field == 1) {
        if (kind != 2 || encoding.at != nullptr || !wire.bytes(&encoding)) return false;
      } else if (field == 2) {
        if (kind != 2 || !wire.bytes(&inner) || !page(inner, out)) return false;
      } else if (field == 3) {
        if (!numbers(&wire, kind, noted(&largest, &num_starts))) return false;
      } else if (field == 4) {
        if (!numbers(&wire, kind, noted(&longest, &num_sizes))) return false;
      } else if (!wire.skip(kind)) {
        return false;
      }
    }
    if (num_starts != num_sizes || !lies_inside(largest, longest, file.size)) return false;
    if (encoding.at == nullptr || !direct_description(encoding, &description)) return false;
    own[0] = description.at - data;
    own[1] = description.end - description.at;
    own[2] = num_starts;
    return true;
  }
};

}  // namespace

void walk_columns(const uint8_t* data, const int64_t* starts, const int64_t* sizes, const int64_t* facts,
                  int64_t num_files, int64_t column, int64_t room_pages, int64_t room_buffers, int64_t* own,
                  int64_t* page_counts, PagesOut* out, uint8_t* flags) {
  for (int64_t file = 0; file < num_files; ++file) {
    page_counts[file] = 0;
    if (flags[file] == 0) continue;
    FileFacts found;
    std::memcpy(&found, facts + file * kFacts, sizeof found);
    const FileView view{data + starts[file], sizes[file]};
    flags[file] = 0;
    if (column < 0 || column >= found.num_columns) continue;
    const auto start = load<uint64_t>(data + found.column_table, 2 * column);
    const auto size = load<uint64_t>(data + found.column_table, 2 * column + 1);
    if (found.sums >= 0) {
      const uint8_t* crcs = data + found.sums + kSumsHeader + 24 * found.sum_buffers;
      if (!view.matches(static_cast<int64_t>(start), static_cast<int64_t>(size), load<uint32_t>(crcs, column)))
        continue;
    }
    const PagesOut before = *out;
    const ColumnWalk walk{data, view, room_pages, room_buffers};
    const Wire wire{view.bytes + start, view.bytes + start + size};
    if (!walk.column(wire, own + 3 * file, out)) {
      *out = before;
      continue;
    }
    page_counts[file] = out->num_pages - before.num_pages;
    flags[file] = 1;
  }
}

}  // namespace lance_arrow::engine
