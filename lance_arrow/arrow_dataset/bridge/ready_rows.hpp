// Rows of files that a scan has read before Arrow asks for these files: handed out without Python.
//
// A group of files is read as one. When Arrow asks for the first file of the newest group, the next group is read.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arrow/dataset/file_base.h"
#include "arrow/dataset/scanner.h"
#include "arrow/record_batch.h"
#include "arrow/status.h"

#include "fragment.hpp"
#include "gate.hpp"
#include "per_process.hpp"
#include "per_scan.hpp"
#include "scan.hpp"

namespace lance_arrow {

class ReadyRows {
 public:
  // For files that have the origin of `file`, one of the scan's.
  explicit ReadyRows(const arrow::dataset::FileFragment& file) : origin_(static_cast<const BridgeFragment&>(file)) {}

  // Whether a file has that origin.
  bool IsFor(const arrow::dataset::FileFragment& file) const {
    const auto* bridged = dynamic_cast<const BridgeFragment*>(&file);
    return bridged != nullptr && IsWholeFile(file) && origin_.Has(*bridged);
  }

  // Begin a group. Returns how many files with rows were left of the group that is given up for it: Arrow does not ask
  // for files that the file pruner excludes.
  int64_t Begin() {
    Files given_up;  // ends outside of the lock
    std::lock_guard<std::mutex> lock(mutex_);
    groups_.emplace_back();
    is_claimed_ = false;
    if (groups_.size() <= kMostGroups) return 0;
    given_up = std::move(groups_.front());
    groups_.pop_front();
    return std::count_if(given_up.begin(), given_up.end(), [](const auto& file) { return !file.second.empty(); });
  }

  // Cut rows of neighbours to those of each file, for the group that was begun.
  arrow::Status Add(const std::vector<std::string>& paths, const std::vector<int64_t>& num_rows,
                    const arrow::RecordBatchVector& batches) {
    std::vector<arrow::RecordBatchVector> rows_of(paths.size());
    size_t number = 0;
    int64_t missing = num_rows.empty() ? 0 : num_rows[0];
    const auto fill = [&] {
      while (missing == 0 && number + 1 < paths.size()) missing = num_rows[++number];
    };
    fill();
    for (const auto& batch : batches) {
      for (int64_t start = 0; start < batch->num_rows();) {
        if (missing == 0) return arrow::Status::Invalid("a group has more rows than its files");
        const int64_t count = std::min(missing, batch->num_rows() - start);
        rows_of[number].push_back(count == batch->num_rows() ? batch : batch->Slice(start, count));
        start += count;
        missing -= count;
        fill();
      }
    }
    if (missing != 0) return arrow::Status::Invalid("a group has fewer rows than its files");
    std::lock_guard<std::mutex> lock(mutex_);
    if (groups_.empty()) return arrow::Status::Invalid("no group was begun");
    for (size_t i = 0; i < paths.size(); ++i) groups_.back().insert_or_assign(paths[i], std::move(rows_of[i]));
    return arrow::Status::OK();
  }

  // The rows of a file, which are handed out once; none where the file was not read.
  std::optional<arrow::RecordBatchVector> Take(const arrow::dataset::FileFragment& file) {
    if (!IsFor(file)) return std::nullopt;
    const std::string& path = file.source().path();
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
      const auto found = group->find(path);
      if (found == group->end()) continue;
      auto batches = std::move(found->second);
      group->erase(found);
      if (group == groups_.rbegin()) is_newest_asked_ = true;
      return batches;
    }
    return std::nullopt;
  }

  // Whether the next group is to be read now; true once for each group.
  bool Claim() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(is_newest_asked_, false) && !std::exchange(is_claimed_, true);
  }

  // An error of reading ahead that is no file's.
  void Fail(arrow::Status error) {
    std::lock_guard<std::mutex> lock(mutex_);
    error_ = std::move(error);
  }

  arrow::Status error() {
    std::lock_guard<std::mutex> lock(mutex_);
    return error_;
  }

 private:
  using Files = std::unordered_map<std::string, arrow::RecordBatchVector>;

  // The one that is asked for, the next, and what threads left of the one before.
  static constexpr size_t kMostGroups = 3;

  const FileOrigin origin_;
  std::mutex mutex_;
  std::deque<Files> groups_;
  bool is_newest_asked_ = false;
  bool is_claimed_ = false;
  arrow::Status error_;
};

// The rows of one scan, and the function of Python that reads the next group.
struct ReadingAhead {
  std::shared_ptr<ReadyRows> rows;
  std::shared_ptr<const GuardedRef> read_next;
};

// Scans that read files in groups, so that counting the rows of each file by itself takes longer.
struct CountedByScan {};

inline PerScan<CountedByScan>& KnownCountedByScan() { return PerProcess<PerScan<CountedByScan>>::Get(); }

inline PerScan<ReadingAhead>& KnownReadingAhead() { return PerProcess<PerScan<ReadingAhead>>::Get(); }

// Read the next group of a scan on a thread of ours, if it is time for that.
inline void ReadOn(const ReadingAhead& ahead, const arrow::dataset::FileSource& source,
                   const std::shared_ptr<arrow::dataset::ScanOptions>& options) {
  if (!options->use_threads || !ahead.rows->Claim()) return;
  // While the task waits, the scan may end.
  auto call = [rows = ahead.rows, read_next = ahead.read_next, scan = std::weak_ptr(options)]() -> arrow::Result<bool> {
    if (scan.use_count() <= 1) return false;
    arrow::Status status = CallPython([&]() -> arrow::Status {
      GuardedRef answer(PyObject_CallNoArgs(read_next->get()));
      return arrow::py::CheckPyError();
    });
    if (!status.ok()) rows->Fail(std::move(status));
    return true;
  };
  // Who waits is told by `rows`, of failures too.
  static_cast<void>(RunOutsideArrow(source, options, false, std::move(call)));
}

// Rows of a file that were read ahead; none where the file is to be read.
inline arrow::Result<std::optional<arrow::RecordBatchVector>> TakeReady(
    const std::shared_ptr<arrow::dataset::ScanOptions>& options, const arrow::compute::Expression& filter,
    const arrow::dataset::FileFragment& file) {
  const auto ahead =
      KnownReadingAhead().Find(options, filter, [&](const ReadingAhead& one) { return one.rows->IsFor(file); });
  if (ahead == nullptr) return std::nullopt;
  ARROW_RETURN_NOT_OK(ahead->rows->error());
  auto batches = ahead->rows->Take(file);
  if (batches.has_value()) ReadOn(*ahead, file.source(), options);
  return batches;
}

// To be called with the GIL, after Python has planned a file of the scan.
inline void KeepReadingAhead(const std::shared_ptr<arrow::dataset::ScanOptions>& options,
                             const arrow::compute::Expression& filter, const arrow::dataset::FileSource& source,
                             const std::shared_ptr<ReadyRows>& rows, PyObject* read_next) {
  auto known = KnownReadingAhead().Find(options, filter, [&](const ReadingAhead& one) { return one.rows == rows; });
  if (known == nullptr) {
    auto shared = std::make_shared<const GuardedRef>(GuardedRef::Share(read_next));
    known = std::make_shared<ReadingAhead>(ReadingAhead{rows, std::move(shared)});
    KnownReadingAhead().Keep(options, filter, known);
  }
  ReadOn(*known, source, options);
}

}  // namespace lance_arrow
