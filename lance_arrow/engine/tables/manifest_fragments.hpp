// The fragments of a table's manifest, from the bytes of its message: all are checked here, objects are created later.
//
// It supports only fragments in the usual form of writers; `manifests` checks all others. Source:
// lance.table.Manifest, DataFragment.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/tables/wire.hpp"

namespace lance_arrow::engine {

struct ManifestParts {
  std::string rest;  // the message without its fragments
  std::string schema;  // fields and schema metadata: a Schema message
  std::vector<int64_t> fragments;  // first byte and size of each
};

// Takes a manifest apart. False where its fields cannot be walked; what is in the fragments is not looked at.
bool split_manifest(Bytes body, ManifestParts* out);

// What holds for all fragments of a manifest.
struct FragmentRules {
  bool trusts_counts;  // whether `physical_rows` means something
  bool has_row_ids;
  uint64_t next_row_id;  // above all ids of rows
  const uint64_t* base_ids;  // the base paths there are
  int64_t num_bases;
};

// Facts of a valid fragment. Places are offsets in its own message.
struct FragmentFacts {
  int64_t id;
  int64_t num_rows;  // live ones; -1 where only files tell
  int64_t path, path_bytes;  // of the first data file; no bytes where there is no file
  int64_t file_bytes;  // of that; -1 unknown
  int64_t base_id;  // of that; -1 for the table itself
  int64_t num_files;
  int64_t has_deletion;  // 1 where it has a deletion file
  int64_t physical_rows;  // deleted ones included; -1 where only files tell
  int64_t all_bytes;  // of all data files whose size is known
};
constexpr int64_t kFragmentFacts = sizeof(FragmentFacts) / sizeof(int64_t);

// Whether a fragment is surely sound; the facts are those of one that is.
bool read_fragment(Bytes message, const FragmentRules& rules, FragmentFacts* facts);

// Files that the fragments of many manifests name, each once: versions share most of their fragments.
class NamedFiles {
 public:
  // Adds the files of a sound fragment to `numbers`.
  void add(Bytes message, std::vector<int64_t>* numbers);

  // By number, paths below the folder of the table.
  const std::vector<std::string>& names() const { return names_; }

 private:
  int64_t number_of(std::string name);

  std::vector<std::string> names_;
  std::unordered_map<std::string, int64_t> numbers_;
  std::unordered_map<std::string, std::vector<int64_t>> of_fragment_;  // by its message
};

}  // namespace lance_arrow::engine
