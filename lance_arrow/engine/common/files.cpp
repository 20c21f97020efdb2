#include "engine/common/files.hpp"

#include <cerrno>

#if defined(_WIN32)
#include <windows.h>
// After windows.h.
#include <io.h>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace lance_arrow::engine {

namespace {

constexpr int64_t kMostAtOnce = 1 << 30;  // every system takes more

// Bytes that one call read, 0 at the end of the file, -1 for an error.
#if defined(_WIN32)
int64_t read_once(intptr_t file, int64_t start, int64_t size, uint8_t* out) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(start);
  place.OffsetHigh = static_cast<DWORD>(start >> 32);
  DWORD received = 0;
  if (ReadFile(reinterpret_cast<HANDLE>(file), out, static_cast<DWORD>(size), &received, &place) != 0) return received;
  const DWORD error = GetLastError();
  if (error == ERROR_HANDLE_EOF) return 0;
  errno = error == ERROR_INVALID_HANDLE ? EBADF : EIO;
  return -1;
}

intptr_t file_of(int fd) { return _get_osfhandle(fd); }
#else
int64_t read_once(intptr_t file, int64_t start, int64_t size, uint8_t* out) {
  return pread(static_cast<int>(file), out, static_cast<size_t>(size), start);
}

intptr_t file_of(int fd) { return fd; }
#endif

int64_t read_whole(intptr_t file, int64_t start, int64_t size, uint8_t* out) {
  int64_t done = 0;
  while (done < size) {
    const int64_t rest = size - done;
    const int64_t received = read_once(file, start + done, rest < kMostAtOnce ? rest : kMostAtOnce, out + done);
    if (received == 0) break;
    if (received > 0) done += received;
    else if (errno != EINTR) return -1;
  }
  return done;
}

}  // namespace

int64_t read_at(int fd, int64_t start, int64_t size, uint8_t* out) { return read_whole(file_of(fd), start, size, out); }

int64_t OpenFile::read_at(int64_t start, int64_t size, uint8_t* out) const {
  return read_whole(handle_, start, size, out);
}

#if defined(_WIN32)

bool read_apart(int fd, int64_t start, const iovec* parts, int num_parts, int64_t) {
  for (int part = 0; part < num_parts; ++part) {
    const auto size = static_cast<int64_t>(parts[part].iov_len);
    if (read_at(fd, start, size, static_cast<uint8_t*>(parts[part].iov_base)) != size) return false;
    start += size;
  }
  return true;
}

OpenFile::OpenFile(const char* path) : handle_(-1) {
  wchar_t wide[1 << 15];  // longer paths do not exist
  if (MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, 1 << 15) == 0) return;
  // Others may write, rename and delete it meanwhile, as on other systems.
  const HANDLE file = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  handle_ = reinterpret_cast<intptr_t>(file);
  LARGE_INTEGER size;
  if (file != INVALID_HANDLE_VALUE && GetFileType(file) == FILE_TYPE_DISK && GetFileSizeEx(file, &size) != 0)
    size_ = size.QuadPart;
}

OpenFile::~OpenFile() {
  if (handle_ != -1) CloseHandle(reinterpret_cast<HANDLE>(handle_));
}

#else

bool read_apart(int fd, int64_t start, const iovec* parts, int num_parts, int64_t total) {
  return preadv(fd, parts, num_parts, start) == total;
}

// Without O_NONBLOCK, opening a named pipe waits for a writer.
OpenFile::OpenFile(const char* path) : handle_(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  struct stat found;
  if (handle_ >= 0 && fstat(static_cast<int>(handle_), &found) == 0 && S_ISREG(found.st_mode)) size_ = found.st_size;
}

OpenFile::~OpenFile() {
  if (handle_ >= 0) close(static_cast<int>(handle_));
}

#endif

}  // namespace lance_arrow::engine
