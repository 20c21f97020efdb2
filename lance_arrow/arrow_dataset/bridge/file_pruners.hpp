// The sieves of scans that go on: handed over by whoever planned a file of the scan, asked before another is planned.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "arrow/compute/expression.h"
#include "arrow/dataset/file_base.h"
#include "arrow/dataset/scanner.h"
#include "per_process.hpp"
#include "../../pruning/file_pruner.hpp"

namespace lance_arrow {

class Sieves {
 public:
  // `filter` is what the guarantee of a fragment left of the scan's: the sieve is for those of which as much is left.
  void Keep(const std::shared_ptr<arrow::dataset::ScanOptions>& scan, const arrow::compute::Expression& filter,
            std::shared_ptr<Sieve> sieve) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Held& held : held_) {
      if (held.sieve == sieve && held.scan.lock() == scan) return;
    }
    held_.push_back({scan, filter, std::move(sieve)});
    if (held_.size() > kMostHeld) held_.pop_front();
  }

  // Whether the scan, its filter simplified for one fragment, finds nothing in a file.
  bool Exclude(const std::shared_ptr<arrow::dataset::ScanOptions>& scan, const arrow::compute::Expression& filter,
               const arrow::dataset::FileSource& source) {
    std::shared_ptr<Sieve> found;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (const Held& held : held_) {
        if (!held.sieve->IsIdle() && held.scan.lock() == scan && held.filter.Equals(filter)) found = held.sieve;
      }
    }
    return found != nullptr && found->Excludes(source.path());
  }

 private:
  static constexpr size_t kMostHeld = 16;

  struct Held {
    std::weak_ptr<arrow::dataset::ScanOptions> scan;
    arrow::compute::Expression filter;
    std::shared_ptr<Sieve> sieve;
  };

  std::mutex mutex_;
  std::deque<Held> held_;
};

inline Sieves& KnownSieves() { return PerProcess<Sieves>::Get(); }

// A file that a sieve may look at: a local one, which stands for nothing but itself.
inline bool MayBeSieved(const arrow::dataset::FileSource& source) {
  return source.filesystem() != nullptr && source.filesystem()->type_name() == "local" &&
         source.compression() == arrow::Compression::UNCOMPRESSED;
}

// `capsule` holds what `_sieve` made, a shared_ptr; false with a Python exception for anything else.
inline bool KeepSieve(const std::shared_ptr<arrow::dataset::ScanOptions>& scan, const arrow::compute::Expression& filter,
                      PyObject* capsule) {
  auto* held = static_cast<std::shared_ptr<Sieve>*>(PyCapsule_GetPointer(capsule, "lance_arrow.Sieve"));
  if (held == nullptr) return false;
  KnownSieves().Keep(scan, filter, *held);
  return true;
}

}  // namespace lance_arrow
