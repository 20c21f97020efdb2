// Files of the operating system, opened and read by position: the one place where the engine calls the system.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(_WIN32)
#include <sys/uio.h>
#endif

namespace lance_arrow::engine {

#if defined(_WIN32)
struct iovec {
  void* iov_base;
  size_t iov_len;
};
#else
using ::iovec;
#endif

// Opens a file for reading, without waiting for a writer of a named pipe; children of the process do not inherit it.
// Others may write, rename and delete it meanwhile, also on Windows, where paths are UTF-8. Returns a descriptor; -1
// where the system reports an error, which is in errno.
int open_file(const char* path);

// Reads `size` bytes from `start` on, again after an interruption. Returns how many: fewer where the file ends before;
// -1 where the system reports an error, which is in errno. The descriptor's own position has no part in it.
int64_t read_at(int fd, int64_t start, int64_t size, uint8_t* out);

// Reads bytes that follow each other into places apart, with one call where the system has such a call. Whether all of
// the `total` bytes were read; if not, nothing is known of the places.
bool read_apart(int fd, int64_t start, const iovec* parts, int num_parts, int64_t total);

// What tells whether a path still leads to the same content.
struct FileState {
  int64_t size, time_ns;
  uint64_t device, inode;
};

// Whether the file at a path has a state. False on Windows, whose library does not tell all of it.
bool is_state_of(const char* path, const FileState& state);

// A regular file, open for reading as long as this object lives.
class OpenFile {
 public:
  explicit OpenFile(const char* path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int64_t size() const { return size_; }  // -1: it cannot be opened, or is no regular file
  bool is_of(const FileState& state) const;  // false on Windows, as above
  int64_t read_at(int64_t start, int64_t size, uint8_t* out) const { return engine::read_at(fd_, start, size, out); }

 private:
  int fd_;
  int64_t size_ = -1;
};

// Reads bytes of a regular file of just that size; false for any other, and where something goes wrong.
inline bool read_of_file(const char* path, int64_t size, int64_t begin, int64_t count, uint8_t* out) {
  const OpenFile file(path);
  return file.size() == size && file.read_at(begin, count, out) == count;
}

}  // namespace lance_arrow::engine
