// files.hpp: files read by position, and arithmetic.hpp.
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "engine/common/files.hpp"
#include "lance_arrow/arithmetic.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;

// A file of bytes that count up, with line ends among them, under a name that is not ASCII.
class CountingFile {
 public:
  explicit CountingFile(int64_t size)
      : path_(std::filesystem::temp_directory_path() / std::filesystem::path(u8"lance_arrow_\u00e4\u4e2d.tmp")) {
    std::ofstream file(path_, std::ios::binary);
    for (int64_t at = 0; at < size; ++at) file.put(static_cast<char>(at));
  }
  ~CountingFile() { std::filesystem::remove(path_); }

  std::string path() const {
    const std::u8string text = path_.u8string();
    return {text.begin(), text.end()};
  }

 private:
  std::filesystem::path path_;
};

TEST_CASE("a file is read by position") {
  const CountingFile counting(1000);
  const OpenFile file(counting.path().c_str());
  REQUIRE(file.size() == 1000);
  Bytes out(300);
  CHECK(file.read_at(700, 300, out.data()) == 300);
  CHECK(file.read_at(0, 300, out.data()) == 300);
  for (size_t at = 0; at < 300; ++at) REQUIRE(out[at] == static_cast<uint8_t>(at));
  CHECK(file.read_at(900, 300, out.data()) == 100);
  CHECK(out[0] == static_cast<uint8_t>(900));
  CHECK(file.read_at(1000, 1, out.data()) == 0);
  CHECK(file.read_at(int64_t{1} << 40, 1, out.data()) == 0);
  CHECK(file.read_at(5, 0, nullptr) == 0);
}

TEST_CASE("a descriptor is read by position, into one place and into several") {
  std::FILE* opened = std::tmpfile();
  REQUIRE(opened != nullptr);
  for (int at = 0; at < 1000; ++at) std::fputc(at & 0xFF, opened);
  std::fflush(opened);
  const int fd = fileno(opened);
  Bytes first(10), second(20);
  CHECK(read_at(fd, 990, 20, second.data()) == 10);
  CHECK(second[0] == static_cast<uint8_t>(990));
  const iovec parts[] = {{first.data(), 10}, {second.data(), 20}};
  CHECK(read_apart(fd, 40, parts, 2, 30));
  CHECK(first[9] == 49);
  CHECK(second[0] == 50);
  CHECK(second[19] == 69);
  CHECK_FALSE(read_apart(fd, 980, parts, 2, 30));
  std::fclose(opened);
}

TEST_CASE("a file of another size, a folder and nothing are not read") {
  const CountingFile counting(10);
  Bytes out(20);
  CHECK(read_of_file(counting.path().c_str(), 10, 0, 10, out.data()));
  CHECK(out[9] == 9);
  CHECK(read_of_file(counting.path().c_str(), 10, 3, 4, out.data()));
  CHECK(out[0] == 3);
  CHECK(out[3] == 6);
  CHECK_FALSE(read_of_file(counting.path().c_str(), 10, 8, 4, out.data()));
  CHECK_FALSE(read_of_file(counting.path().c_str(), 9, 0, 9, out.data()));
  CHECK_FALSE(read_of_file(counting.path().c_str(), 11, 0, 11, out.data()));
  CHECK(OpenFile((counting.path() + ".missing").c_str()).size() == -1);
  CHECK(OpenFile(std::filesystem::temp_directory_path().string().c_str()).size() == -1);
}

TEST_CASE("a failed read leaves its reason") {
  Bytes out(1);
  errno = 0;
  CHECK(read_at(-1, 0, 1, out.data()) == -1);
  CHECK(errno == EBADF);
}

TEST_CASE("sums that fit") {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t sum = 5;
  CHECK(add_to(&sum, 7));
  CHECK(add_to(&sum, kMost - 12));
  CHECK(sum == kMost);
  CHECK(add_to(&sum, 0));
  CHECK_FALSE(add_to(&sum, 1));
  CHECK(sum == kMost);
}

TEST_CASE("bytes in the opposite order") {
  CHECK(swap_bytes(0x0102030405060708) == 0x0807060504030201);
  CHECK(swap_bytes(0xFF) == 0xFF00000000000000);
}

TEST_CASE("shares are those of the exact product") {
  for (const int64_t value : {int64_t{0}, int64_t{7}, int64_t{1000}, int64_t{1} << 55}) {
    for (int64_t number = 0; number <= 128; ++number) {
      // Below 2**55 the product fits.
      if (value < int64_t{1} << 55) CHECK(share_of(value, number, 128) == value * number / 128);
      else CHECK(share_of(value, number, 128) == (value >> 7) * number);
    }
  }
  CHECK(share_of(std::numeric_limits<int64_t>::max(), 3, 3) == std::numeric_limits<int64_t>::max());
}

}  // namespace
