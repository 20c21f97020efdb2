#include "engine/tables/file_head.hpp"

#include <algorithm>

#include "engine/tables/checksums.hpp"

namespace lance_arrow::engine {

uint32_t crc_of(Bytes bytes) {
  return crc32c(0, reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int64_t>(bytes.size()));
}

bool ChecksumBytes::read(Bytes bytes, uint64_t file_size) {
  table = bytes;
  if (table.size() < kHeader || load_at<uint16_t>(&table[12]) != 1) return false;
  block_bytes = load_at<uint32_t>(&table[16]);
  num_buffers = load_at<uint32_t>(&table[20]);
  num_blocks = load_at<uint64_t>(&table[24]);
  num_columns = load_at<uint32_t>(&table[32]);
  if (block_bytes < 1 || num_blocks > table.size()) return false;
  const uint64_t size = kHeader + uint64_t{24} * num_buffers + 4 * (uint64_t{num_columns} + num_blocks);
  if (size != table.size() || crc_of(table.substr(12)) != load_at<uint32_t>(&table[8])) return false;
  uint64_t stop = 0, found = 0;
  for (uint32_t buffer = 0; buffer < num_buffers; ++buffer) {
    const auto start = load_at<uint64_t>(starts() + size_t{8} * buffer);
    const auto own = load_at<uint64_t>(sizes() + size_t{8} * buffer);
    if (start < stop || own < 1 || start > file_size || own > file_size - start) return false;
    stop = start + own;
    found += own / block_bytes + (own % block_bytes != 0);
  }
  return found == num_blocks;
}

bool ChecksumBytes::confirms(uint64_t start, uint64_t size, Tail* tail) const {
  uint64_t block = 0;
  for (uint32_t number = 0; number < num_buffers; ++number) {
    const auto own_start = load_at<uint64_t>(starts() + size_t{8} * number);
    const auto own_size = load_at<uint64_t>(sizes() + size_t{8} * number);
    if (start >= own_start + own_size) {
      block += own_size / block_bytes + (own_size % block_bytes != 0);
      continue;
    }
    if (start < own_start || size > own_size - (start - own_start)) return false;
    // Several buffers may share the bytes that are covered: their blocks are compared whole.
    const uint64_t first = (start - own_start) / block_bytes * block_bytes, stop = start - own_start + size;
    block += first / block_bytes;
    for (uint64_t done = first; done < stop; done += block_bytes, ++block) {
      const auto bytes = tail->at(own_start + done, std::min<uint64_t>(block_bytes, own_size - done));
      if (!bytes || crc_of(*bytes) != load_at<uint32_t>(blocks() + size_t{4} * block)) return false;
    }
    return true;
  }
  return false;
}

bool FileHead::read(Tail* tail, bool wants_sums) {
  if (tail->bytes.size() < kFooterBytes) return false;
  const Bytes footer = tail->bytes.substr(tail->bytes.size() - kFooterBytes);
  const auto columns = load_at<uint64_t>(&footer[8]), buffers = load_at<uint64_t>(&footer[16]);
  num_buffers = load_at<uint32_t>(&footer[24]);
  num_columns = load_at<uint32_t>(&footer[28]);
  first_column = load_at<uint64_t>(&footer[0]);
  minor = load_at<uint16_t>(&footer[34]);
  if (footer.substr(36) != "LANC" || load_at<uint16_t>(&footer[32]) != 2 || minor < 1 || minor > 3) return false;
  const uint64_t columns_bytes = uint64_t{kEntryBytes} * num_columns,
                 buffers_bytes = uint64_t{kEntryBytes} * num_buffers;
  const uint64_t end = tail->file_size - kFooterBytes;
  if (num_buffers < 1 || columns > end || columns_bytes > end - columns || buffers > end ||
      buffers_bytes > end - buffers)
    return false;
  const auto column_entries = tail->at(columns, columns_bytes), buffer_entries = tail->at(buffers, buffers_bytes);
  if (!column_entries || !buffer_entries) return false;
  column_table = *column_entries;
  buffer_table = *buffer_entries;
  for (uint32_t number = 0; number < num_columns; ++number) {
    const auto [start, size] = column_place(number);
    if (start > tail->file_size || size > tail->file_size - start) return false;
  }
  for (uint32_t number = 0; number < num_buffers; ++number) {
    const auto start = load_at<uint64_t>(&buffer_table[kEntryBytes * number]);
    const auto size = load_at<uint64_t>(&buffer_table[kEntryBytes * number + 8]);
    if (start % kAlignment != 0 || start > tail->file_size || size > tail->file_size - start) return false;
  }
  if (wants_sums && !read_sums(tail, footer)) return false;
  const auto message = tail->at(load_at<uint64_t>(&buffer_table[0]), load_at<uint64_t>(&buffer_table[8]));
  if (!message || (has_sums && sums.descriptor() != crc_of(*message)) || !read_descriptor(*message)) return false;
  descriptor = *message;
  return !wants_sums || !promises_sums || has_sums;
}

bool FileHead::read_sums(Tail* tail, Bytes footer) {
  // The descriptor is a buffer too: a file with a single one has no table of checksums.
  if (num_buffers == 1) return true;
  if (tail->bytes.size() < kFooterBytes + kEntryBytes) return false;
  // The table of buffers ends where the footer begins, if there are checksums.
  const char* entry = footer.data() - kEntryBytes;
  const auto start = load_at<uint64_t>(entry), size = load_at<uint64_t>(entry + 8);
  if (size < ChecksumBytes::kHeader || start > tail->file_size || size > tail->file_size - start) return true;
  const auto table = tail->at(start, size);
  if (!table) return false;
  if (table->substr(0, 8) != "LANCECRC") return true;
  has_sums = sums.read(*table, tail->file_size) && sums.num_columns == num_columns && sums.footer() == crc_of(footer) &&
             sums.column_table() == crc_of(column_table) && sums.buffer_table() == crc_of(buffer_table);
  return has_sums;
}

// Source: lance_arrow.proto FileDescriptor.
bool FileHead::read_descriptor(Bytes message) {
  bool has_schema = false;
  uint64_t rows = 0;
  Fields fields(message);
  while (fields.next()) {
    if (fields.number == 1 && fields.type == Fields::kDelimited && !has_schema) {
      schema = fields.content;
      has_schema = true;
    } else if (fields.number == 2 && fields.type == Fields::kVarint) {
      rows = fields.value;
    } else if (fields.number == 1001 && fields.type == Fields::kDelimited) {
      promises_sums = true;
    } else {
      return false;
    }
  }
  num_rows = static_cast<int64_t>(rows);
  return fields.is_sound && has_schema && rows <= static_cast<uint64_t>(INT64_MAX);
}

}  // namespace lance_arrow::engine
