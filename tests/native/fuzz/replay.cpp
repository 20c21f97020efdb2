// Runs a fuzz target on files, and on all files of folders, in a build without libFuzzer.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

int64_t run(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return 0;
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(content.data()), content.size());
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  int64_t done = 0;
  for (int one = 1; one < count; ++one) {
    if (!std::filesystem::is_directory(arguments[one])) {
      done += run(arguments[one]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(arguments[one]))
      if (entry.is_regular_file()) done += run(entry.path());
  }
  std::printf("%lld inputs\n", static_cast<long long>(done));
  return done > 0 ? 0 : 1;
}
