#include "engine/tables/file_head.hpp"

#include <algorithm>

#include "engine/tables/checksums.hpp"

namespace lance_arrow::engine {

namespace {

constexpr Bytes kMagic = "LANCECRC";
// Of larger buffers, which may have any content, the beginning is read first.
constexpr uint64_t kMostUnseenBytes = 256 << 10, kBeginning = 64 << 10;
// What lies before the checksums of blocks is less of a table, where pages have some MiB.
constexpr uint64_t kUsualShare = 64;
constexpr uint16_t kWhole = 1, kLate = 2;  // versions of the table

}  // namespace

uint32_t crc_of(Bytes bytes) {
  return crc32c(0, reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int64_t>(bytes.size()));
}

uint64_t ChecksumBytes::bytes_at_first(Bytes header, uint64_t size) {
  if (header.size() < kHeader || load_at<uint16_t>(&header[12]) != kLate) return size;
  const uint64_t own =
      kHeader + uint64_t{24} * load_at<uint32_t>(&header[20]) + uint64_t{4} * load_at<uint32_t>(&header[32]);
  return std::min(own, size);
}

bool ChecksumBytes::read(Bytes bytes, uint64_t whole_size, uint64_t file_size) {
  table = bytes;
  if (table.size() < kHeader) return false;
  const auto version = load_at<uint16_t>(&table[12]);
  if (version != kWhole && version != kLate) return false;
  is_late = version == kLate;
  block_bytes = load_at<uint32_t>(&table[16]);
  num_buffers = load_at<uint32_t>(&table[20]);
  num_blocks = load_at<uint64_t>(&table[24]);
  num_columns = load_at<uint32_t>(&table[32]);
  if (block_bytes < 1 || num_blocks > whole_size) return false;
  const uint64_t before = kHeader + uint64_t{24} * num_buffers + 4 * uint64_t{num_columns};
  if (before + 4 * num_blocks != whole_size || table.size() != (is_late ? before : whole_size)) return false;
  if (crc_of(table.substr(12)) != load_at<uint32_t>(&table[8])) return false;
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
  if (is_late) return false;
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

bool FileHead::read(Tail* tail, bool wants_sums, bool takes_all) {
  if (tail->bytes.size() < kFooterBytes) return false;
  const Bytes footer = tail->bytes.substr(tail->bytes.size() - kFooterBytes);
  const auto columns = load_at<uint64_t>(&footer[8]), buffers = load_at<uint64_t>(&footer[16]);
  num_buffers = load_at<uint32_t>(&footer[24]);
  num_columns = load_at<uint32_t>(&footer[28]);
  first_column = load_at<uint64_t>(&footer[0]);
  minor = load_at<uint16_t>(&footer[34]);
  const auto major = load_at<uint16_t>(&footer[32]);
  if (major == 0 && minor == 3) {
    minor = 0;
  } else if (major != 2) {
    return false;
  }
  if (footer.substr(36) != "LANC" || minor > 3 || (minor == 0 && !takes_all)) return false;
  const uint64_t columns_bytes = uint64_t{kEntryBytes} * num_columns,
                 buffers_bytes = uint64_t{kEntryBytes} * num_buffers;
  const uint64_t end = tail->file_size - kFooterBytes;
  if (num_buffers < 1 || columns > end || columns_bytes > end - columns || buffers > end ||
      buffers_bytes > end - buffers)
    return false;
  // All that is asked for before the first return is one wave of requests.
  const auto column_entries = tail->at(columns, columns_bytes), buffer_entries = tail->at(buffers, buffers_bytes);
  Bytes table;
  uint64_t table_size = 0;
  const Sums found = wants_sums ? find_sums(tail, footer, &table, &table_size) : Sums::kNone;
  std::optional<Bytes> message;
  if (buffer_entries)
    message = tail->at(load_at<uint64_t>(&(*buffer_entries)[0]), load_at<uint64_t>(&(*buffer_entries)[8]));
  if (!column_entries || !buffer_entries || !message || found == Sums::kAbsent) return false;
  column_table = *column_entries;
  buffer_table = *buffer_entries;
  for (uint32_t number = 0; number < num_columns; ++number) {
    const auto [start, size] = column_place(number);
    if (start > tail->file_size || size > tail->file_size - start) return false;
  }
  for (uint32_t number = 0; number < num_buffers; ++number) {
    const auto start = load_at<uint64_t>(&buffer_table[kEntryBytes * number]);
    const auto size = load_at<uint64_t>(&buffer_table[kEntryBytes * number + 8]);
    if ((minor > 0 && start % kAlignment != 0) || start > tail->file_size || size > tail->file_size - start)
      return false;
  }
  if (found == Sums::kThere && (!read_sums(table, table_size, footer, tail->file_size) || (sums.is_late && !takes_all)))
    return false;
  if ((has_sums && sums.descriptor() != crc_of(*message)) || !read_descriptor(*message)) return false;
  descriptor = *message;
  return !wants_sums || !promises_sums || has_sums;
}

FileHead::Sums FileHead::find_sums(Tail* tail, Bytes footer, Bytes* table, uint64_t* table_size) const {
  // The descriptor is a buffer too: a file with a single one has no table of checksums.
  if (num_buffers == 1) return Sums::kNone;
  if (tail->bytes.size() < kFooterBytes + kEntryBytes) return Sums::kAbsent;
  // The table of buffers ends where the footer begins, if there are checksums.
  const char* entry = footer.data() - kEntryBytes;
  const auto start = load_at<uint64_t>(entry), size = load_at<uint64_t>(entry + 8);
  if (size < ChecksumBytes::kHeader || start > tail->file_size || size > tail->file_size - start) return Sums::kNone;
  const auto begin = tail->at(start, size > kMostUnseenBytes ? std::max(kBeginning, size / kUsualShare) : size);
  if (!begin) return Sums::kAbsent;
  if (begin->substr(0, kMagic.size()) != kMagic) return Sums::kNone;
  const auto own = tail->at(start, ChecksumBytes::bytes_at_first(*begin, size));
  if (!own) return Sums::kAbsent;
  *table = *own;
  *table_size = size;
  return Sums::kThere;
}

bool FileHead::read_sums(Bytes table, uint64_t size, Bytes footer, uint64_t file_size) {
  has_sums = sums.read(table, size, file_size) && sums.num_columns == num_columns && sums.footer() == crc_of(footer) &&
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
