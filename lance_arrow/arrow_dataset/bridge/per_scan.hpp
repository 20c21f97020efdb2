// What running scans keep natively, by the scan and by what the guarantee of a fragment left of its filter.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "arrow/compute/expression.h"
#include "arrow/dataset/scanner.h"

namespace lance_arrow {

template <typename Kept>
class PerScan {
 public:
  using Scan = std::shared_ptr<arrow::dataset::ScanOptions>;

  // Keeps it unless it is kept already. What ended scans kept goes, outside of the lock: that may take the GIL.
  void Keep(const Scan& scan, const arrow::compute::Expression& filter, std::shared_ptr<Kept> kept) {
    std::vector<std::shared_ptr<Kept>> ended;
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Held& held : held_) {
      if (held.kept == kept && held.scan.lock() == scan) return;
    }
    std::deque<Held> going_on;
    for (Held& held : held_) {
      if (held.scan.expired()) {
        ended.push_back(std::move(held.kept));
      } else {
        going_on.push_back(std::move(held));
      }
    }
    held_ = std::move(going_on);
    held_.push_back({scan, filter, std::move(kept)});
    if (held_.size() <= kMostHeld) return;
    ended.push_back(std::move(held_.front().kept));
    held_.pop_front();
  }

  // What a scan keeps; made when it is first asked for.
  std::shared_ptr<Kept> FindOrMake(const Scan& scan, const arrow::compute::Expression& filter) {
    const auto any = [](const Kept&) { return true; };
    std::lock_guard<std::mutex> making(making_);
    auto found = Find(scan, filter, any);
    if (found == nullptr) Keep(scan, filter, found = std::make_shared<Kept>());
    return found;
  }

  bool Has(const Scan& scan, const arrow::compute::Expression& filter) {
    return Find(scan, filter, [](const Kept&) { return true; }) != nullptr;
  }

  // The newest one that `is_wanted`; null without one.
  template <typename IsWanted>
  std::shared_ptr<Kept> Find(const Scan& scan, const arrow::compute::Expression& filter, IsWanted&& is_wanted) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto held = held_.rbegin(); held != held_.rend(); ++held) {
      if (is_wanted(*held->kept) && held->scan.lock() == scan && held->filter.Equals(filter)) return held->kept;
    }
    return nullptr;
  }

 private:
  static constexpr size_t kMostHeld = 16;

  struct Held {
    std::weak_ptr<arrow::dataset::ScanOptions> scan;
    arrow::compute::Expression filter;
    std::shared_ptr<Kept> kept;
  };

  std::mutex making_;
  std::mutex mutex_;
  std::deque<Held> held_;
};

}  // namespace lance_arrow
