// The file pruners of running scans: kept when a file of the scan is planned, asked before the next one is planned.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "arrow/compute/expression.h"
#include "arrow/dataset/file_base.h"
#include "arrow/dataset/scanner.h"

#include "engine/prune/file_pruner.hpp"
#include "per_process.hpp"
#include "per_scan.hpp"

namespace lance_arrow {

class FilePruners {
 public:
  // `filter` is what the guarantee of a fragment left of the scan's: the file pruner is for those of which as much is
  // left.
  void Keep(const std::shared_ptr<arrow::dataset::ScanOptions>& scan, const arrow::compute::Expression& filter,
            std::shared_ptr<FilePruner> pruner) {
    pruners_.Keep(scan, filter, std::move(pruner));
  }

  // Whether the scan, its filter simplified for one fragment, finds nothing in a file.
  bool Exclude(const std::shared_ptr<arrow::dataset::ScanOptions>& scan, const arrow::compute::Expression& filter,
               const arrow::dataset::FileSource& source) {
    const auto found = Find(scan, filter);
    return found != nullptr && found->Excludes(source.path());
  }

  // How many rows the scan finds in a file; -1 where Python has to look.
  int64_t Count(const std::shared_ptr<arrow::dataset::ScanOptions>& scan, const arrow::compute::Expression& filter,
                const arrow::dataset::FileSource& source) {
    const auto found = Find(scan, filter);
    if (found == nullptr) return -1;
    if (filter == arrow::compute::literal(true)) return found->Counts(source.path());
    return found->Excludes(source.path()) ? 0 : -1;
  }

 private:
  std::shared_ptr<FilePruner> Find(const std::shared_ptr<arrow::dataset::ScanOptions>& scan,
                                   const arrow::compute::Expression& filter) {
    return pruners_.Find(scan, filter, [](const FilePruner& pruner) { return !pruner.IsIdle(); });
  }

  PerScan<FilePruner> pruners_;
};

inline FilePruners& KnownFilePruners() { return PerProcess<FilePruners>::Get(); }

// A file that a file pruner may look at: a local one, which stands for nothing but itself.
inline bool MayBePruned(const arrow::dataset::FileSource& source) {
  return source.filesystem() != nullptr && source.filesystem()->type_name() == "local" &&
         source.compression() == arrow::Compression::UNCOMPRESSED;
}

// `capsule` holds what the file pruner made, a shared_ptr; false with a Python exception for anything else.
inline bool KeepFilePruner(const std::shared_ptr<arrow::dataset::ScanOptions>& scan,
                           const arrow::compute::Expression& filter, PyObject* capsule) {
  auto* held = static_cast<std::shared_ptr<FilePruner>*>(PyCapsule_GetPointer(capsule, "lance_arrow.FilePruner"));
  if (held == nullptr) return false;
  KnownFilePruners().Keep(scan, filter, *held);
  return true;
}

}  // namespace lance_arrow
