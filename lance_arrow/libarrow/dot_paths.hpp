// Columns, and fields of structs, by the names on the way to them.
#pragma once

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "arrow/type.h"

namespace lance_arrow {

// The names a reference goes through; a position becomes a name by the schema. What the schema lacks must be by name.
inline std::vector<std::string> NamesOf(const arrow::FieldRef& ref, const arrow::Schema& schema) {
  std::vector<std::string> names;
  if (ref.IsName()) {
    names.push_back(*ref.name());
    return names;
  }
  auto found = ref.FindOneOrNone(schema);
  if (found.ok() && !found->empty()) {
    const arrow::FieldVector* fields = &schema.fields();
    for (int index : found->indices()) {
      const auto& field = (*fields)[index];
      names.push_back(field->name());
      fields = &field->type()->fields();
    }
  } else if (ref.IsNested()) {
    for (const arrow::FieldRef& step : *ref.nested_refs()) {
      if (step.IsName()) names.push_back(*step.name());
    }
  }
  return names;
}

// What references name, once each, in order of first mention: "a", "st.b". A backslash escapes dots and backslashes
// within a name, which arrow::FieldRef::ToDotPath does not.
inline std::vector<std::string> DotPaths(const std::vector<arrow::FieldRef>& refs, const arrow::Schema& schema) {
  std::vector<std::string> paths;
  std::unordered_set<std::string> known;
  paths.reserve(refs.size());
  for (const arrow::FieldRef& ref : refs) {
    std::string path;
    for (const std::string& name : NamesOf(ref, schema)) {
      if (!path.empty()) path += '.';
      for (char character : name) {
        if (character == '.' || character == '\\') path += '\\';
        path += character;
      }
    }
    if (known.insert(path).second) paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace lance_arrow
