// many_files.hpp: files as one place of bytes, each as it was when its end was read.
#include "engine/plan/fetch.hpp"
#include "support.hpp"

#if !defined(_WIN32)
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

using namespace lance_arrow;
using namespace lance_arrow::engine;
using tests::Bytes;

// Two files of 100 and 60 bytes at 0 and 128, whose last 20 bytes are in memory.
struct Two {
  std::string folder = (std::filesystem::temp_directory_path() / ("many-files-" + std::to_string(getpid()))).string();
  std::vector<std::string> paths{folder + "-a", folder + "-b"};
  Bytes bytes, ends;

  Two() : bytes(188), ends(188) {
    tests::Random random(11);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
    write(0, 0, 100);
    write(1, 128, 60);
    for (const int64_t at : {80, 168}) std::copy_n(bytes.begin() + at, 20, ends.begin() + at);
  }

  ~Two() {
    for (const auto& path : paths) std::remove(path.c_str());
  }

  void write(size_t number, int64_t start, int64_t size) const {
    std::ofstream(paths[number], std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()) + start, static_cast<std::streamsize>(size));
  }

  FileState state(size_t number) const {
    struct stat found;
    REQUIRE(stat(paths[number].c_str(), &found) == 0);
#if defined(__APPLE__)
    const timespec& time = found.st_mtimespec;
#else
    const timespec& time = found.st_mtim;
#endif
    return {found.st_size, time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec, static_cast<uint64_t>(found.st_dev),
            static_cast<uint64_t>(found.st_ino)};
  }

  ManyFiles files(bool has_states) const {
    ManyFiles made(ends.data());
    made.add(paths[0], 0, 100, 80, has_states ? std::optional(state(0)) : std::nullopt);
    made.add(paths[1], 128, 60, 168, has_states ? std::optional(state(1)) : std::nullopt);
    return made;
  }

  bool reads(const ManyFiles& files, int64_t start, int64_t size) const {
    Bytes out(static_cast<size_t>(size) + 1);
    return files.read(start, size, out.data()) && std::equal(out.begin(), out.end() - 1, bytes.begin() + start);
  }
};

}  // namespace

TEST_CASE("each range of one file is read, and no other") {
  const Two two;
  for (const bool has_states : {false, true}) {
    const ManyFiles files = two.files(has_states);
    for (const auto& [start, size] : std::vector<std::pair<int64_t, int64_t>>{
             {0, 100}, {0, 1}, {99, 1}, {70, 20}, {80, 20}, {128, 60}, {130, 5}, {187, 1}, {168, 20}})
      CHECK(two.reads(files, start, size));
    for (const auto& [start, size] : std::vector<std::pair<int64_t, int64_t>>{
             {0, 101}, {90, 60}, {100, 10}, {120, 20}, {180, 9}, {500, 1}, {-4, 2}})
      CHECK(!two.reads(files, start, size));
  }
}

TEST_CASE("a file that is not as it was is refused, and its end is in memory") {
  const Two two;
  const ManyFiles sized = two.files(false), known = two.files(true);
  two.write(0, 0, 99);
  CHECK(!two.reads(sized, 0, 10));
  CHECK(!two.reads(known, 0, 10));
  CHECK(two.reads(sized, 85, 10));
  CHECK(two.reads(sized, 128, 10));
  two.write(0, 0, 100);
  CHECK(two.reads(sized, 0, 10));
  std::remove(two.paths[1].c_str());
  two.write(1, 128, 60);
  CHECK(two.reads(sized, 130, 10));
  CHECK(!two.reads(known, 130, 10));
  std::remove(two.paths[1].c_str());
  CHECK(!two.reads(sized, 130, 10));
}

TEST_CASE("the engine fetches ranges of many files, compared with their checksums") {
  Two two;
  const ManyFiles files = two.files(false);
  const std::vector<int64_t> starts{0, 128}, sizes{100, 60};
  std::vector<uint32_t> sums;
  for (size_t one = 0; one < starts.size(); ++one)
    for (int64_t at = 0; at < sizes[one]; at += 16)
      sums.push_back(crc32c(0, two.bytes.data() + starts[one] + at, std::min<int64_t>(16, sizes[one] - at)));
  BlockChecks checks(starts.data(), sizes.data(), 2, sums.data(), static_cast<int64_t>(sums.size()), 16);
  Fetcher fetcher(Reader{-1, nullptr, 188, &checks, nullptr, &files});
  CHECK(!fetcher.is_memory());
  Bytes out(40);
  REQUIRE(fetcher.fetch(10, 40, out.data()).message == nullptr);
  CHECK(std::equal(out.begin(), out.end(), two.bytes.begin() + 10));
  two.bytes[140] ^= 1;
  two.write(1, 128, 60);
  const Outcome wrong = fetcher.fetch(130, 20, out.data());
  CHECK(wrong.blame == kChecksum);
  CHECK(fetcher.fetch(90, 30, out.data()).blame == kShort);
}

#endif
