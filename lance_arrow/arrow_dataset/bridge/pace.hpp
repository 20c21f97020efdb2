// How a scan begins: with a few rows of one file.
//
// Arrow asks for batches ahead, of several files, for `head` as for a full scan. So the first file leads: its first
// rows come in small batches, the last of them after a pause. `head` ends within the pause, and Arrow drops the file:
// then the scan has stopped. If Arrow asks the file for more batches, all files begin.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "arrow/compute/expression.h"
#include "arrow/dataset/file_base.h"
#include "arrow/dataset/scanner.h"
#include "arrow/status.h"
#include "arrow/util/future.h"

#include "per_process.hpp"
#include "per_scan.hpp"

namespace lance_arrow {

// Of the files of one scan. Scans that share options, as one scanner makes them, share this too; it goes on at once.
class ScanPace {
 public:
  // What callers of a few rows need, from the first batch on, to take it and to stop. Tests on busy machines set more.
  static std::atomic<int64_t>& PauseMicros() {
    static std::atomic<int64_t> micros = 300;
    return micros;
  }
  // How long the other files wait at least for the leading one, which Arrow may keep waiting while it holds many rows.
  static constexpr std::chrono::microseconds kPatience{20'000};

  // Begin to scan a file.
  void Enter(const arrow::dataset::FileFragment* file) {
    Futures waiting;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (way_ == Way::kOn) return;
      if (std::find(entered_.begin(), entered_.end(), file) == entered_.end()) {
        entered_.push_back(file);
        return;
      }
      // Another scan: that one lets go of a file does not stop the other.
      waiting = EndWith(Way::kOn);
    }
    Finish(std::move(waiting), arrow::Status::OK());
  }

  // Whether a file is the first that is asked for rows.
  bool Lead() {
    std::lock_guard<std::mutex> lock(mutex_);
    return way_ == Way::kOpen && !std::exchange(is_led_, true);
  }

  // Finished when the other files may begin; cancelled if the scan has stopped.
  arrow::Future<> WhenOn() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (way_ == Way::kOn) return arrow::Future<>::MakeFinished();
    if (way_ == Way::kStopped) return arrow::Future<>::MakeFinished(Stopped());
    waiting_.push_back(arrow::Future<>::Make());
    return waiting_.back();
  }

  void GoOn() {
    Futures waiting;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (way_ != Way::kOpen) return;
      waiting = EndWith(Way::kOn);
    }
    Finish(std::move(waiting), arrow::Status::OK());
  }

  // The leading file is let go before its rows were asked for. Those that wait hear of it from `LosePatience`: what
  // follows them may not run in a destructor.
  void Stop() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (way_ != Way::kOpen) return;
    way_ = Way::kStopped;
    changed_.notify_all();
  }

  // Until the scan has stopped, or for a pause. False if no other file waits.
  bool Pause() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::microseconds(PauseMicros()), [this] { return way_ == Way::kStopped; });
    return !waiting_.empty();
  }

  // Let the other files begin after `kPatience`, or a longer pause, or cancel them if the scan has stopped.
  void LosePatience() {
    Futures waiting;
    bool is_stopped = false;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      const auto patience = std::max(kPatience, std::chrono::microseconds(PauseMicros()));
      changed_.wait_for(lock, patience, [this] { return way_ != Way::kOpen; });
      is_stopped = way_ == Way::kStopped;
      waiting = EndWith(is_stopped ? Way::kStopped : Way::kOn);
    }
    Finish(std::move(waiting), is_stopped ? Stopped() : arrow::Status::OK());
  }

 private:
  enum class Way { kOpen, kOn, kStopped };
  using Futures = std::vector<arrow::Future<>>;

  static arrow::Status Stopped() { return arrow::Status::Cancelled("the scan was abandoned"); }

  // With the lock.
  Futures EndWith(Way way) {
    way_ = way;
    changed_.notify_all();
    return std::exchange(waiting_, {});
  }

  // Without the lock.
  static void Finish(Futures waiting, const arrow::Status& status) {
    for (auto& future : waiting) future.MarkFinished(status);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const arrow::dataset::FileFragment*> entered_;  // identities only
  Futures waiting_;
  bool is_led_ = false;
  Way way_ = Way::kOpen;
};

// Returns what it was.
inline int64_t SetPauseMicros(int64_t micros) { return ScanPace::PauseMicros().exchange(micros); }

inline std::shared_ptr<ScanPace> PaceOf(const std::shared_ptr<arrow::dataset::ScanOptions>& options) {
  return PerProcess<PerScan<ScanPace>>::Get().FindOrMake(options, arrow::compute::literal(true));
}

}  // namespace lance_arrow
