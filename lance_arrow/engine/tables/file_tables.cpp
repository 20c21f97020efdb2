#include "engine/tables/file_tables.hpp"

#include <algorithm>

#include "engine/tables/file_head.hpp"

namespace lance_arrow::engine {

void open_small_files(const uint8_t* data, const int64_t* starts, const int64_t* sizes, int64_t num_files,
                      bool wants_sums, int64_t* facts, uint8_t* flags) {
  const auto* bytes = reinterpret_cast<const char*>(data);
  for (int64_t file = 0; file < num_files; ++file) {
    if (flags[file] == 0) continue;
    Tail whole{Bytes(bytes + starts[file], static_cast<size_t>(sizes[file])), static_cast<uint64_t>(sizes[file])};
    FileHead head;
    flags[file] = head.read(&whole, wants_sums) ? 1 : 0;
    if (flags[file] == 0) continue;
    FileFacts found{};
    found.minor = head.minor;
    found.num_columns = head.num_columns;
    found.column_table = head.column_table.data() - bytes;
    found.schema_start = head.schema.data() - bytes;
    found.schema_bytes = static_cast<int64_t>(head.schema.size());
    found.num_rows = head.num_rows;
    found.sums = head.has_sums ? head.sums.table.data() - bytes : -1;
    found.sum_buffers = head.sums.num_buffers;
    found.sum_blocks = static_cast<int64_t>(head.sums.num_blocks);
    found.block_bytes = head.sums.block_bytes;
    std::memcpy(facts + file * kFacts, &found, sizeof found);
  }
}

void copy_sums(const uint8_t* data, const int64_t* starts, const int64_t* facts, int64_t num_files, int64_t* out_starts,
               int64_t* out_sizes, uint32_t* out_crcs) {
  for (int64_t file = 0; file < num_files; ++file) {
    FileFacts found;
    std::memcpy(&found, facts + file * kFacts, sizeof found);
    if (found.sums < 0) continue;
    const uint8_t* positions = data + found.sums + ChecksumBytes::kHeader;
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
bool direct_description(Bytes encoding, Bytes* out) {
  Bytes direct;
  if (!Fields::only(encoding, 2, &direct)) return false;
  *out = direct.substr(0, 0);
  return direct.empty() || Fields::only(direct, 1, out);
}

struct ColumnWalk {
  const char* data;
  Bytes file;
  int64_t room_pages, room_buffers;  // what the arrays hold

  int64_t place(Bytes bytes) const { return bytes.data() - data; }

  // Places or sizes of a page's buffers: as many as the arrays hold, each within the file.
  bool places(const Fields& fields, uint64_t multiple, const PagesOut& out, int64_t* to, int64_t* count) const {
    return fields.each_number([&](uint64_t value) {
      if (value % multiple != 0 || value > file.size()) return false;
      if (to != nullptr) {
        if (out.num_buffers + *count >= room_buffers) return false;
        to[out.num_buffers + *count] = static_cast<int64_t>(value);
      }
      ++*count;
      return true;
    });
  }

  bool page(Bytes message, PagesOut* out) const {
    uint64_t rows = 0;
    int64_t num_starts = 0, num_sizes = 0;
    bool has_encoding = false;
    Bytes encoding, description;
    if (out->rows != nullptr && out->num_pages >= room_pages) return false;
    Fields fields(message);
    while (fields.next()) {
      if (fields.number == 1) {
        if (!places(fields, kAlignment, *out, out->starts, &num_starts)) return false;
      } else if (fields.number == 2) {
        if (!places(fields, 1, *out, out->sizes, &num_sizes)) return false;
      } else if (fields.number == 3) {
        if (fields.type != Fields::kVarint) return false;
        rows = fields.value;
      } else if (fields.number == 4) {
        if (fields.type != Fields::kDelimited || has_encoding) return false;
        has_encoding = true;
        encoding = fields.content;
      } else if (fields.number == 5) {
        if (fields.type != Fields::kVarint) return false;
      }
    }
    if (!fields.is_sound || num_starts != num_sizes || rows > static_cast<uint64_t>(INT64_MAX)) return false;
    if (!has_encoding || !direct_description(encoding, &description)) return false;
    if (out->rows != nullptr) {
      const auto file_size = static_cast<int64_t>(file.size());
      for (int64_t one = out->num_buffers; one < out->num_buffers + num_starts; ++one) {
        if (out->starts[one] > file_size - out->sizes[one]) return false;
        out->starts[one] += place(file);
      }
      out->rows[out->num_pages] = static_cast<int64_t>(rows);
      out->descriptions[2 * out->num_pages] = place(description);
      out->descriptions[2 * out->num_pages + 1] = static_cast<int64_t>(description.size());
      out->borders[out->num_pages] = out->num_buffers;
    }
    ++out->num_pages;
    out->num_buffers += num_starts;
    return true;
  }

  // All of a column's metadata; `own` gets its own description: first byte, size, number of buffers.
  bool column(Bytes message, int64_t* own, PagesOut* out) const {
    uint64_t largest = 0, longest = 0;
    int64_t num_starts = 0, num_sizes = 0;
    bool has_encoding = false;
    Bytes encoding, description;
    const auto noted = [](uint64_t* most, int64_t* count) {
      return [=](uint64_t value) { return *most = std::max(*most, value), ++*count, true; };
    };
    Fields fields(message);
    while (fields.next()) {
      if (fields.number == 1) {
        if (fields.type != Fields::kDelimited || has_encoding) return false;
        has_encoding = true;
        encoding = fields.content;
      } else if (fields.number == 2) {
        if (fields.type != Fields::kDelimited || !page(fields.content, out)) return false;
      } else if (fields.number == 3) {
        if (!fields.each_number(noted(&largest, &num_starts))) return false;
      } else if (fields.number == 4) {
        if (!fields.each_number(noted(&longest, &num_sizes))) return false;
      }
    }
    if (!fields.is_sound || num_starts != num_sizes) return false;
    if (largest > file.size() || longest > file.size() - largest) return false;
    if (!has_encoding || !direct_description(encoding, &description)) return false;
    own[0] = place(description);
    own[1] = static_cast<int64_t>(description.size());
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
    const auto* bytes = reinterpret_cast<const char*>(data);
    const Bytes view(bytes + starts[file], static_cast<size_t>(sizes[file]));
    flags[file] = 0;
    if (column < 0 || column >= found.num_columns) continue;
    const auto start = load<uint64_t>(data + found.column_table, 2 * column);
    const auto size = load<uint64_t>(data + found.column_table, 2 * column + 1);
    if (start > view.size() || size > view.size() - start) continue;
    if (found.sums >= 0) {
      const uint8_t* crcs = data + found.sums + ChecksumBytes::kHeader + 24 * found.sum_buffers;
      if (crc_of(view.substr(start, size)) != load<uint32_t>(crcs, column)) continue;
    }
    const PagesOut before = *out;
    const ColumnWalk walk{bytes, view, room_pages, room_buffers};
    if (!walk.column(view.substr(start, size), own + 3 * file, out)) {
      *out = before;
      continue;
    }
    page_counts[file] = out->num_pages - before.num_pages;
    flags[file] = 1;
  }
}

}  // namespace lance_arrow::engine
