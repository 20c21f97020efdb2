#include "engine/tables/file_tables.hpp"

#include <algorithm>

#include "engine/tables/file_head.hpp"

namespace lance_arrow::engine {

void open_small_files(const uint8_t* data, const int64_t* starts, const int64_t* sizes, int64_t num_files,
                      bool wants_sums, int64_t* begins, int64_t* facts, uint8_t* flags) {
  const auto* bytes = reinterpret_cast<const char*>(data);
  for (int64_t file = 0; file < num_files; ++file) {
    if (flags[file] == 0) continue;
    const Bytes here(bytes + starts[file] + begins[file], static_cast<size_t>(sizes[file] - begins[file]));
    Tail end{here, static_cast<uint64_t>(sizes[file])};
    FileHead head;
    const bool is_read = head.read(&end, wants_sums);
    // The metadata of the columns ends where the tables begin.
    if (is_read || !end.absent.empty()) end.at(head.first_column, 0);
    if (!end.absent.empty()) begins[file] = sizes[file] - static_cast<int64_t>(end.wanted_bytes);
    flags[file] = is_read && end.absent.empty() ? 1 : 0;
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

int64_t ColumnOfFiles::read(const uint8_t* data, const int64_t* starts, const int64_t* sizes, const int64_t* facts,
                            int64_t num_files, int64_t column) {
  for (int64_t file = 0; file < num_files; ++file) {
    FileFacts found;
    std::memcpy(&found, facts + file * kFacts, sizeof found);
    const Bytes view(reinterpret_cast<const char*>(data) + starts[file], static_cast<size_t>(sizes[file]));
    if (column < 0 || column >= found.num_columns) return file;
    const auto start = load<uint64_t>(data + found.column_table, 2 * column);
    const auto size = load<uint64_t>(data + found.column_table, 2 * column + 1);
    if (start > view.size() || size > view.size() - start) return file;
    const Bytes message = view.substr(start, size);
    if (found.sums >= 0) {
      const uint8_t* crcs = data + found.sums + ChecksumBytes::kHeader + 24 * found.sum_buffers;
      if (crc_of(message) != load<uint32_t>(crcs, column)) return file;
    }
    const int64_t before = pages.num_pages();
    const auto descriptions_before = static_cast<int64_t>(pages.descriptions.size());
    ColumnMetadata metadata;
    metadata.read(message, view.size(), kAlignment, starts[file], &pages);
    const DescriptionField& own = metadata.description;
    if (metadata.fault.kind != MetadataFault::kNone || metadata.pages_fault.kind != MetadataFault::kNone ||
        own.where != DescriptionField::kHere)
      return file;
    // What lies apart would be read from the file.
    for (auto number = descriptions_before; number < static_cast<int64_t>(pages.descriptions.size()); ++number)
      if (pages.descriptions[static_cast<size_t>(number)].where != DescriptionField::kHere) return file;
    const std::pair<Bytes, int64_t> wrapper(own.here, static_cast<int64_t>(metadata.starts.size()));
    if (std::find(wrappers.begin(), wrappers.end(), wrapper) == wrappers.end()) wrappers.push_back(wrapper);
    page_counts.push_back(pages.num_pages() - before);
  }
  return -1;
}

}  // namespace lance_arrow::engine
