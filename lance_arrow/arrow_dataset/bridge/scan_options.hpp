// Options of one scan, as Arrow carries them from the caller to the format.
#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <utility>

#include "arrow/dataset/dataset.h"
#include "arrow/dataset/scanner.h"

#include "gate.hpp"

namespace lance_arrow {

// Holds what only Python understands.
class BridgeScanOptions : public arrow::dataset::FragmentScanOptions {
 public:
  explicit BridgeScanOptions(GuardedRef options) : options_(std::move(options)) {}

  std::string type_name() const override { return "lance"; }

  PyObject* options() const { return options_.get(); }

 private:
  GuardedRef options_;
};

inline std::shared_ptr<arrow::dataset::FragmentScanOptions> MakeBridgeScanOptions(PyObject* options) {
  return std::make_shared<BridgeScanOptions>(GuardedRef::Share(options));
}

// A new reference; None when the scan has no options, or those of another format.
inline PyObject* BridgeScanOptionsOf(const arrow::dataset::ScanOptions& options) {
  const auto* bridged = dynamic_cast<const BridgeScanOptions*>(options.fragment_scan_options.get());
  PyObject* found = bridged == nullptr ? Py_None : bridged->options();
  Py_INCREF(found);
  return found;
}

}  // namespace lance_arrow
