#include "engine/common/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#if defined(_WIN32)
#include <windows.h>
// After windows.h.
#include <io.h>
#else
#include <unistd.h>
#endif

namespace lance_arrow::engine {

#if defined(_WIN32)

namespace {

int errno_of(DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_NETPATH: return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION: return EACCES;
    case ERROR_TOO_MANY_OPEN_FILES: return EMFILE;
    default: return EIO;
  }
}

// Bytes that one call read, 0 at the end of the file, -1 for an error.
int64_t read_once(int fd, int64_t start, int64_t size, uint8_t* out) {
  // Microsoft's library ends the process where a number is no descriptor.
  const intptr_t handle = fd < 0 ? -1 : _get_osfhandle(fd);
  if (handle == -1) {
    errno = EBADF;
    return -1;
  }
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(start);
  place.OffsetHigh = static_cast<DWORD>(start >> 32);
  DWORD received = 0;
  const auto wanted = static_cast<DWORD>(size);
  if (ReadFile(reinterpret_cast<HANDLE>(handle), out, wanted, &received, &place) != 0) return received;
  if (GetLastError() == ERROR_HANDLE_EOF) return 0;
  errno = errno_of(GetLastError());
  return -1;
}

int64_t size_of(int fd) {
  struct _stat64 found;
  return _fstat64(fd, &found) == 0 && (found.st_mode & _S_IFMT) == _S_IFREG ? found.st_size : -1;
}

void close_file(int fd) { _close(fd); }

}  // namespace

int open_file(const char* path) {
  constexpr int kMostCharacters = 1 << 15;  // the system has no longer paths
  wchar_t wide[kMostCharacters];
  if (MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, kMostCharacters) == 0) {
    errno = ENOENT;
    return -1;
  }
  const HANDLE handle = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (handle == INVALID_HANDLE_VALUE) {
    const DWORD error = GetLastError(), found = GetFileAttributesW(wide);
    const bool is_folder = found != INVALID_FILE_ATTRIBUTES && (found & FILE_ATTRIBUTE_DIRECTORY) != 0;
    errno = is_folder ? EISDIR : errno_of(error);
    return -1;
  }
  const int fd = _open_osfhandle(reinterpret_cast<intptr_t>(handle), _O_RDONLY | _O_BINARY);
  if (fd < 0) CloseHandle(handle);
  return fd;
}

bool read_apart(int fd, int64_t start, const iovec* parts, int num_parts, int64_t) {
  for (int part = 0; part < num_parts; ++part) {
    const auto size = static_cast<int64_t>(parts[part].iov_len);
    if (read_at(fd, start, size, static_cast<uint8_t*>(parts[part].iov_base)) != size) return false;
    start += size;
  }
  return true;
}

bool is_state_of(const char*, const FileState&) { return false; }

bool OpenFile::is_of(const FileState&) const { return false; }

#else

namespace {

int64_t read_once(int fd, int64_t start, int64_t size, uint8_t* out) {
  return pread(fd, out, static_cast<size_t>(size), start);
}

int64_t size_of(int fd) {
  struct stat found;
  return fstat(fd, &found) == 0 && S_ISREG(found.st_mode) ? found.st_size : -1;
}

void close_file(int fd) { close(fd); }

}  // namespace

int open_file(const char* path) {
  for (;;) {
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

bool read_apart(int fd, int64_t start, const iovec* parts, int num_parts, int64_t total) {
  return preadv(fd, parts, num_parts, start) == total;
}

namespace {

bool is_same(const struct stat& found, const FileState& state) {
#if defined(__APPLE__)
  const timespec& time = found.st_mtimespec;
#else
  const timespec& time = found.st_mtim;
#endif
  return found.st_size == state.size && time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec == state.time_ns &&
         static_cast<uint64_t>(found.st_dev) == state.device && static_cast<uint64_t>(found.st_ino) == state.inode;
}

}  // namespace

bool is_state_of(const char* path, const FileState& state) {
  struct stat found;
  return stat(path, &found) == 0 && is_same(found, state);
}

bool OpenFile::is_of(const FileState& state) const {
  struct stat found;
  return size_ >= 0 && fstat(fd_, &found) == 0 && is_same(found, state);
}

#endif

int64_t read_at(int fd, int64_t start, int64_t size, uint8_t* out) {
  constexpr int64_t kMostAtOnce = 1 << 30;  // every system takes more
  int64_t done = 0;
  while (done < size) {
    const int64_t rest = size - done;
    const int64_t received = read_once(fd, start + done, rest < kMostAtOnce ? rest : kMostAtOnce, out + done);
    if (received == 0) break;
    if (received > 0) done += received;
    else if (errno != EINTR) return -1;
  }
  return done;
}

OpenFile::OpenFile(const char* path) : fd_(open_file(path)) {
  if (fd_ >= 0) size_ = size_of(fd_);
}

OpenFile::~OpenFile() {
  if (fd_ >= 0) close_file(fd_);
}

}  // namespace lance_arrow::engine
