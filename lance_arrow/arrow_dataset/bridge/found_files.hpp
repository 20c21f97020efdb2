// Files that pyarrow found in a table's folder: taken in, and counted, without Python once the first of them was asked.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "arrow/dataset/file_base.h"
#include "arrow/filesystem/filesystem.h"

#include "gate.hpp"

namespace lance_arrow {

// The files of one dataset that belong to one version of a table.
class FoundFiles {
 public:
  // False when a file must belong to another dataset: it was taken in before, or the version is being read.
  bool Adopt(const std::string& path) {
    std::lock_guard<std::mutex> lock(mutex_);
    return !is_used_ && paths_.insert(path).second;
  }

  bool Has(const std::string& path) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return paths_.contains(path);
  }

  // The version is fixed: `rows` are the live rows of files whose rows are known, -1 for those that Python must ask.
  // All other files yield none.
  void Use(std::unordered_map<std::string, int64_t> rows) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_used_) return;
    is_used_ = true;
    rows_ = std::move(rows);
  }

  bool is_used() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return is_used_;
  }

  // Rows that a file yields; -1 where Python has to look.
  int64_t NumRows(const std::string& path) const {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!is_used_ || !paths_.contains(path)) return -1;
    const auto found = rows_.find(path);
    return found == rows_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_;
  bool is_used_ = false;
  std::unordered_set<std::string> paths_;
  std::unordered_map<std::string, int64_t> rows_;
};

// What travels with a fragment for the handler's eyes only; never destroyed under a lock, since that may take the GIL.
struct Payload {
  Payload() = default;
  explicit Payload(GuardedRef object, std::shared_ptr<FoundFiles> files = nullptr, std::string folder = {})
      : object(std::move(object)), files(std::move(files)), folder(std::move(folder)) {}

  GuardedRef object;
  std::shared_ptr<FoundFiles> files;  // set where other files found with this one have the same payload
  std::string folder;  // theirs, with a slash; the path that Arrow has may be relative

  // The path of such a file, as `files` have it.
  std::string WholePath(const std::string& path) const { return folder + path.substr(path.rfind('/') + 1); }

  // Rows that a file yields; -1 where Python has to look.
  int64_t NumRows(const std::string& path) const { return files == nullptr ? -1 : files->NumRows(WholePath(path)); }

  // Borrowed; None for a file that stands for nothing but itself.
  PyObject* get() const { return object.get(); }

  // That of such files: one for all.
  static const std::shared_ptr<const Payload>& None() {
    static const auto* none = new std::shared_ptr<const Payload>(std::make_shared<const Payload>());
    return *none;
  }

  static std::shared_ptr<const Payload> Share(PyObject* borrowed) {
    return borrowed == Py_None ? None() : std::make_shared<const Payload>(GuardedRef::Share(borrowed));
  }
};

// The payload that files of a folder share, as Python said of the first of them: of a table, or of none.
class FoundFolder {
 public:
  // The payload of a file whose folder was asked last, by the same thread; null where Python must be asked.
  std::shared_ptr<const Payload> Find(const arrow::dataset::FileSource& source) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (payload_ == nullptr || thread_ != std::this_thread::get_id() || filesystem_ != source.filesystem() ||
        folder_ != FolderOf(source)) {
      return nullptr;
    }
    if (payload_->files != nullptr && !payload_->files->Adopt(payload_->WholePath(source.path()))) return nullptr;
    return payload_;
  }

  void Learn(const arrow::dataset::FileSource& source, std::shared_ptr<const Payload> payload) {
    std::lock_guard<std::mutex> lock(mutex_);
    thread_ = std::this_thread::get_id();
    filesystem_ = source.filesystem();
    folder_ = FolderOf(source);
    std::swap(payload_, payload);
  }

  void Forget() {
    std::shared_ptr<const Payload> former;
    std::lock_guard<std::mutex> lock(mutex_);
    std::swap(payload_, former);
  }

 private:
  static std::string FolderOf(const arrow::dataset::FileSource& source) {
    const std::string& path = source.path();
    return path.substr(0, path.rfind('/') + 1);
  }

  std::mutex mutex_;
  std::thread::id thread_;
  std::shared_ptr<arrow::fs::FileSystem> filesystem_;
  std::string folder_;
  std::shared_ptr<const Payload> payload_;
};

}  // namespace lance_arrow
