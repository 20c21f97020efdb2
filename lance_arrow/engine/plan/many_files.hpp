// Many files of the operating system as one place of bytes: each lies at a place of its own, with gaps between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/common/files.hpp"
#include "lance_arrow/variable.hpp"

namespace lance_arrow::engine {

class ManyFiles {
 public:
  // `ends` has the ends of the files, each byte at its place; it outlives this object.
  explicit ManyFiles(const uint8_t* ends = nullptr) : ends_(ends) {}

  // Adds a file behind the former ones, at `start`, whose end is in memory from `kept_from` on: a regular file of that
  // size, and of that state where one is given.
  void add(std::string path, int64_t start, int64_t size, int64_t kept_from, std::optional<FileState> state) {
    files_.push_back({start, start + size, kept_from, std::move(path), state});
  }

  // Reads bytes of one file. False where they are not all of one file, or it is not as it was, or cannot be read.
  bool read(int64_t start, int64_t size, uint8_t* out) const {
    const auto next = std::upper_bound(files_.begin(), files_.end(), start,
                                       [](int64_t wanted, const File& one) { return wanted < one.start; });
    if (next == files_.begin()) return false;
    const File& file = *(next - 1);
    if (size > file.stop - start) return false;
    if (start >= file.kept_from) {
      copy_bytes(out, ends_ + start, size);
      return true;
    }
    const OpenFile open(file.path.c_str());
    if (file.state ? !open.is_of(*file.state) : open.size() != file.stop - file.start) return false;
    return open.read_at(start - file.start, size, out) == size;
  }

 private:
  struct File {
    int64_t start, stop, kept_from;
    std::string path;
    std::optional<FileState> state;
  };

  const uint8_t* ends_;
  std::vector<File> files_;
};

}  // namespace lance_arrow::engine
