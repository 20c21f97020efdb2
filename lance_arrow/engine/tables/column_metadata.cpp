#include "engine/tables/column_metadata.hpp"

namespace lance_arrow::engine {

namespace {

constexpr auto kMostRows = static_cast<uint64_t>(INT64_MAX);

// Appends the numbers of a repeated field; of another wire type it is an unknown field.
bool append_numbers(const Fields& fields, std::vector<uint64_t>* numbers) {
  if (fields.type != Fields::kVarint && fields.type != Fields::kDelimited) return true;
  return fields.each_number([numbers](uint64_t one) {
    numbers->push_back(one);
    return true;
  });
}

// What is wrong with the places of buffers, if anything is.
MetadataFault fault_of(const std::vector<uint64_t>& starts, const std::vector<uint64_t>& sizes, uint64_t file_size,
                       uint64_t alignment, int64_t page) {
  if (starts.size() != sizes.size()) return {MetadataFault::kUnpaired, page, starts.size(), sizes.size()};
  for (size_t number = 0; number < starts.size(); ++number) {
    const uint64_t start = starts[number], size = sizes[number];
    if (start > file_size || size > file_size - start) return {MetadataFault::kOutside, page, number, start, size};
    if (start % alignment != 0) return {MetadataFault::kMisaligned, page, number, start, size};
  }
  return {};
}

// Source: lance.file.v2.ColumnMetadata.Page.
struct Page {
  std::vector<uint64_t> starts, sizes;
  uint64_t rows = 0;
  DescriptionField description;

  // False where the message is malformed, at `*place`.
  bool read(Bytes message, const char** place) {
    starts.clear(), sizes.clear();
    rows = 0;
    description = {};
    Fields fields(message);
    while (fields.next()) {
      bool is_read = true;
      if (fields.number == 1) {
        is_read = append_numbers(fields, &starts);
      } else if (fields.number == 2) {
        is_read = append_numbers(fields, &sizes);
      } else if (fields.number == 3 && fields.type == Fields::kVarint) {
        rows = fields.value;
      } else if (fields.number == 4 && fields.type == Fields::kDelimited) {
        is_read = description.read(fields.content);
      }
      if (!is_read) fields.is_sound = false;
      if (!fields.is_sound) break;
    }
    *place = fields.place();
    return fields.is_sound;
  }

  MetadataFault add_to(PageTable* pages, uint64_t file_size, uint64_t alignment, int64_t base) const {
    const int64_t number = pages->num_pages();
    if (!description.is_there()) return {MetadataFault::kNoDescription, number, description.where};
    const MetadataFault fault = fault_of(starts, sizes, file_size, alignment, number);
    if (fault.kind != MetadataFault::kNone) return fault;
    const auto before = static_cast<uint64_t>(pages->row_starts.back());
    if (rows > kMostRows - before) return {MetadataFault::kTooManyRows, number, before, rows};
    for (const uint64_t start : starts) pages->starts.push_back(base + static_cast<int64_t>(start));
    pages->sizes.insert(pages->sizes.end(), sizes.begin(), sizes.end());
    pages->borders.push_back(static_cast<int64_t>(pages->starts.size()));
    pages->row_starts.push_back(static_cast<int64_t>(before + rows));
    pages->description_of.push_back(pages->number_of(description));
    return {};
  }
};

}  // namespace

bool AnyMessage::read(Bytes message) {
  Fields fields(message);
  while (fields.next()) {
    if (fields.number == 1 && fields.type == Fields::kDelimited) type_url = fields.content;
    if (fields.number == 2 && fields.type == Fields::kDelimited) value = fields.content;
  }
  return fields.is_sound;
}

// Source: lance.file.v2.DirectEncoding, DeferredEncoding.
bool DescriptionField::read(Bytes message) {
  Fields fields(message);
  while (fields.next()) {
    if (fields.number == 0 || (fields.number <= kNone && fields.type != Fields::kDelimited)) continue;
    if (fields.number > kNone) {
      if (where == kNowhere) where = fields.number;  // a case of a later version of the format
      continue;
    }
    // Another case takes the place of what was there; the same one is merged with it.
    if (where != fields.number) *this = {fields.number, Bytes(fields.content.data(), 0)};
    Fields inner(fields.content);
    while (inner.next()) {
      if (where == kHere && inner.number == 1 && inner.type == Fields::kDelimited) here = inner.content;
      if (where == kApart && inner.number == 1 && inner.type == Fields::kVarint) start = inner.value;
      if (where == kApart && inner.number == 2 && inner.type == Fields::kVarint) size = inner.value;
    }
    if (!inner.is_sound) return false;
  }
  return fields.is_sound;
}

int64_t PageTable::number_of(const DescriptionField& description) {
  const auto number = static_cast<int64_t>(descriptions.size());
  if (description.where == DescriptionField::kHere) {
    // Most pages are described as the one before.
    if (!description_of.empty()) {
      const DescriptionField& last = descriptions[static_cast<size_t>(description_of.back())];
      if (last.where == DescriptionField::kHere && last.here == description.here) return description_of.back();
    }
    const auto [found, is_new] = numbers_.try_emplace(description.here, number);
    if (!is_new) return found->second;
  }
  descriptions.push_back(description);
  return number;
}

void ColumnMetadata::read(Bytes message, uint64_t file_size, uint64_t alignment, int64_t base, PageTable* pages) {
  Page page;
  Fields fields(message);
  while (fields.next()) {
    bool is_read = true;
    const char* place = fields.place();
    if (fields.number == 1 && fields.type == Fields::kDelimited) {
      is_read = description.read(fields.content);
    } else if (fields.number == 2 && fields.type == Fields::kDelimited && pages != nullptr) {
      is_read = page.read(fields.content, &place);
      if (is_read && pages_fault.kind == MetadataFault::kNone)
        pages_fault = page.add_to(pages, file_size, alignment, base);
    } else if (fields.number == 3) {
      is_read = append_numbers(fields, &starts);
    } else if (fields.number == 4) {
      is_read = append_numbers(fields, &sizes);
    }
    if (!is_read) {
      fault = {MetadataFault::kMalformed, -1, static_cast<uint64_t>(place - message.data())};
      return;
    }
  }
  if (!fields.is_sound) {
    fault = {MetadataFault::kMalformed, -1, static_cast<uint64_t>(fields.place() - message.data())};
    return;
  }
  fault = fault_of(starts, sizes, file_size, 1, -1);
  if (fault.kind == MetadataFault::kNone && !description.is_there())
    fault = {MetadataFault::kNoDescription, -1, description.where};
}

}  // namespace lance_arrow::engine
