// The files of a dataset of ours, without a Python object for each.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrow/compute/expression.h"
#include "arrow/dataset/dataset.h"
#include "arrow/dataset/file_base.h"

#include "fragment.hpp"

namespace lance_arrow {

struct DatasetFiles {
  std::vector<std::string> paths;
  std::vector<int64_t> sizes;  // bytes; -1 where nobody knows
  std::vector<int64_t> guarantee_of;  // which guarantee a file has; -1 for what is more, or less, than a whole file
  std::vector<arrow::compute::Expression> guarantees;  // neighbours differ
};

inline arrow::Result<DatasetFiles> FilesOf(arrow::dataset::Dataset* dataset) {
  DatasetFiles found;
  ARROW_ASSIGN_OR_RAISE(auto fragments, dataset->GetFragments());
  for (auto maybe_fragment : fragments) {
    ARROW_ASSIGN_OR_RAISE(auto fragment, std::move(maybe_fragment));
    const auto& file = static_cast<const arrow::dataset::FileFragment&>(*fragment);
    found.paths.push_back(file.source().path());
    found.sizes.push_back(file.source().Size());
    if (!IsBareFile(file)) {
      found.guarantee_of.push_back(-1);
      continue;
    }
    const auto& guarantee = file.partition_expression();
    if (found.guarantees.empty() || !found.guarantees.back().Equals(guarantee)) found.guarantees.push_back(guarantee);
    found.guarantee_of.push_back(static_cast<int64_t>(found.guarantees.size()) - 1);
  }
  return found;
}

// Files of known size that were made after a file, with the same origin and guarantee: at most `most`, after the first
// `skipped`.
inline DatasetFiles FilesAfter(const std::shared_ptr<arrow::dataset::FileFragment>& file, int64_t skipped,
                               int64_t most) {
  DatasetFiles found;
  auto last = std::dynamic_pointer_cast<BridgeFragment>(file);
  if (last == nullptr || !IsWholeFile(*last)) return found;
  const FileOrigin origin(*last);
  while (static_cast<int64_t>(found.paths.size()) < most) {
    auto next = last->next();
    if (next == nullptr || !IsWholeFile(*next) || !origin.Has(*next) || next->source().Size() < 0) break;
    if (!next->partition_expression().Equals(file->partition_expression())) break;
    if (--skipped < 0) {
      found.paths.push_back(next->source().path());
      found.sizes.push_back(next->source().Size());
    }
    last = std::move(next);
  }
  return found;
}

}  // namespace lance_arrow
