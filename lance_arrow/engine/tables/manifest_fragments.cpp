#include "engine/tables/manifest_fragments.hpp"

#include <algorithm>
#include <utility>

#include "engine/tables/row_id_sequences.hpp"

namespace lance_arrow::engine {

namespace {

constexpr size_t kMostPathBytes = 4096;
constexpr int64_t kTombstone = -2, kNoColumn = -1;

// A number as protobuf's parser takes it for an int32; false where it would be cut.
bool as_int32(uint64_t value, int64_t* out) {
  *out = static_cast<int64_t>(value);
  return *out >= INT32_MIN && *out <= INT32_MAX;
}

// A name that needs no further look: no folder, no URL, nothing that climbs.
bool is_plain_name(Bytes path) {
  if (path.empty() || path.size() > kMostPathBytes || path == "." || path.find("..") != Bytes::npos) return false;
  return std::all_of(path.begin(), path.end(), [](char one) {
    return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') || one == '.' ||
           one == '_' || one == '-';
  });
}

// The versions that manifests may name, by DataFile.file_major_version and file_minor_version.
bool is_known_version(uint64_t major, uint64_t minor) {
  return major == 2 ? minor <= 3 : major == 0 && (minor == 0 || minor == 2 || minor == 3);
}

bool is_first_generation(uint64_t major, uint64_t minor) { return major == 0 && minor != 3; }

bool is_base(uint64_t id, const FragmentRules& rules) {
  return std::find(rules.base_ids, rules.base_ids + rules.num_bases, id) != rules.base_ids + rules.num_bases;
}

struct DataFile {
  Bytes path;
  uint64_t major = 0, minor = 0, size = 0;
  int64_t base_id = -1;
  int64_t num_fields = 0, num_columns = 0, least_column = 0;

  bool read(Bytes message, const FragmentRules& rules) {
    Fields fields(message);
    int64_t one = 0;
    while (fields.next()) {
      const bool is_number = fields.type == Fields::kVarint;
      if (fields.number == 1 && fields.type == Fields::kDelimited) {
        path = fields.content;
        if (!is_plain_name(path)) return false;
      } else if (fields.number == 2) {
        const bool is_sound = fields.each_number([&](uint64_t value) {
          ++num_fields;
          return as_int32(value, &one) && (one >= 0 || one == kTombstone);
        });
        if (!is_sound) return false;
      } else if (fields.number == 3) {
        const bool is_sound = fields.each_number([&](uint64_t value) {
          ++num_columns;
          if (!as_int32(value, &one)) return false;
          least_column = std::min(least_column, one);
          return true;
        });
        if (!is_sound) return false;
      } else if (fields.number == 4 && is_number) {
        major = fields.value;
      } else if (fields.number == 5 && is_number) {
        minor = fields.value;
      } else if (fields.number == 6 && is_number) {
        size = fields.value;
      } else if (fields.number == 7 && is_number) {
        if (!is_base(fields.value, rules)) return false;
        base_id = static_cast<int64_t>(fields.value);
      } else {
        return false;
      }
    }
    if (!fields.is_sound || path.empty() || !is_known_version(major, minor)) return false;
    // Releases 0.27 to 4.0 tell of files of 0.1 how large they were before their ends were written.
    if (is_first_generation(major, minor)) {
      size = 0;
      return true;
    }
    return num_columns >= num_fields && least_column >= kNoColumn && size <= static_cast<uint64_t>(INT64_MAX);
  }
};

struct DeletionFile {
  uint64_t type = 0, read_version = 0, id = 0, num_deleted = 0, base_id = 0;
  bool has_base = false;

  bool read(Bytes message) {
    Fields fields(message);
    while (fields.next()) {
      if (fields.type != Fields::kVarint) return false;
      switch (fields.number) {
        case 1: type = fields.value; break;
        case 2: read_version = fields.value; break;
        case 3: id = fields.value; break;
        case 4: num_deleted = fields.value; break;
        case 7:
          base_id = fields.value;
          has_base = true;
          break;
        default: return false;
      }
    }
    return fields.is_sound;
  }

  bool is_sound(const FragmentRules& rules) const {
    return type <= 1 && (!has_base || is_base(base_id, rules));  // an Arrow file, or a bitmap
  }

  // Source: table-format, deletion files.
  std::string name(uint64_t fragment_id) const {
    const char* extension = type == 1 ? ".bin" : ".arrow";
    return std::to_string(fragment_id) + "-" + std::to_string(read_version) + "-" + std::to_string(id) + extension;
  }
};

// Of a sound data file.
Bytes path_of(Bytes message) {
  Bytes path;
  Fields fields(message);
  while (fields.next())
    if (fields.number == 1) path = fields.content;
  return path;
}

}  // namespace

bool split_manifest(Bytes body, ManifestParts* out) {
  Fields fields(body);
  const char* begin = body.data();
  while (fields.next()) {
    const char* end = fields.end();
    if (fields.number == 2 && fields.type == Fields::kDelimited) {
      out->fragments.push_back(fields.content.data() - body.data());
      out->fragments.push_back(static_cast<int64_t>(fields.content.size()));
    } else {
      out->rest.append(begin, end);
      if (fields.number == 1 || fields.number == 5) out->schema.append(begin, end);
    }
    begin = end;
  }
  return fields.is_sound;
}

bool read_fragment(Bytes message, const FragmentRules& rules, FragmentFacts* facts) {
  uint64_t id = 0, rows = 0;
  DeletionFile deletion;
  bool has_deletion = false, has_file = false, has_row_ids = false;
  Bytes row_ids;
  *facts = {0, -1, 0, 0, -1, -1, 0, 0, -1, 0};
  Fields fields(message);
  while (fields.next()) {
    const bool has_content = fields.type == Fields::kDelimited;
    if (fields.number == 1 && fields.type == Fields::kVarint) {
      id = fields.value;
    } else if (fields.number == 2 && has_content) {
      DataFile file;
      if (!file.read(fields.content, rules)) return false;
      if (!has_file) {
        facts->path = file.path.data() - message.data();
        facts->path_bytes = static_cast<int64_t>(file.path.size());
        facts->file_bytes = file.size == 0 ? -1 : static_cast<int64_t>(file.size);
        facts->base_id = file.base_id;
      }
      has_file = true;
      ++facts->num_files;
      facts->all_bytes += std::min(static_cast<int64_t>(file.size), INT64_MAX - facts->all_bytes);
    } else if (fields.number == 3 && has_content && !has_deletion) {
      if (!deletion.read(fields.content) || !deletion.is_sound(rules)) return false;
      has_deletion = true;
    } else if (fields.number == 4 && fields.type == Fields::kVarint) {
      rows = fields.value;
    } else if (fields.number == 5 && has_content) {
      has_row_ids = true;
      row_ids = fields.content;
    } else if (!((fields.number == 7 || fields.number == 9) && has_content) &&
               !(fields.number == 15 && fields.type == Fields::kVarint)) {
      return false;
    }
  }
  if (!fields.is_sound || id >= kMostFragmentRows || rows > kMostFragmentRows) return false;
  if (!rules.trusts_counts) rows = 0;
  if ((rules.has_row_ids && !has_row_ids) || (!has_file && rows == 0)) return false;
  if (rows != 0 && deletion.num_deleted > rows) return false;
  if (rules.has_row_ids && !holds_row_ids(row_ids, rows, rules.next_row_id)) return false;
  facts->id = static_cast<int64_t>(id);
  facts->has_deletion = has_deletion;
  if (rows != 0) facts->physical_rows = static_cast<int64_t>(rows);
  const bool is_counted = rows != 0 && (!has_deletion || deletion.num_deleted != 0);
  facts->num_rows = is_counted ? static_cast<int64_t>(rows - deletion.num_deleted) : -1;
  return true;
}

void NamedFiles::add(Bytes message, std::vector<int64_t>* numbers) {
  const auto [held, is_new] = of_fragment_.try_emplace(std::string(message));
  std::vector<int64_t>& own = held->second;
  if (is_new) {
    uint64_t id = 0;
    DeletionFile deletion;
    bool has_deletion = false;
    Fields fields(message);
    while (fields.next()) {
      if (fields.number == 1) id = fields.value;
      if (fields.number == 2) own.push_back(number_of("data/" + std::string(path_of(fields.content))));
      if (fields.number == 3) has_deletion = deletion.read(fields.content);
    }
    if (has_deletion) own.push_back(number_of("_deletions/" + deletion.name(id)));
  }
  numbers->insert(numbers->end(), own.begin(), own.end());
}

int64_t NamedFiles::number_of(std::string name) {
  const auto [held, is_new] = numbers_.try_emplace(std::move(name), static_cast<int64_t>(names_.size()));
  if (is_new) names_.push_back(held->first);
  return held->second;
}

}  // namespace lance_arrow::engine
