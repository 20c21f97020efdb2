// block_checks.hpp: which blocks were compared, and checksums that are read when blocks are.
#include "engine/tables/block_checks.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;
using namespace lance_arrow::engine;
using tests::Bytes;

constexpr int64_t kBlock = 4, kPlace = 1 << 20;

struct File {
  // Three buffers: 5,000 blocks, one short block, 1,200 blocks; the bytes between them are of no buffer.
  std::vector<int64_t> starts{8, 20'016, 20'032}, sizes{20'000, 3, 4'800};
  int64_t num_blocks = 5000 + 1 + 1200;
  Bytes bytes;
  std::vector<uint32_t> sums;

  File() : bytes(24'900) {
    tests::Random random(5);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
    for (size_t buffer = 0; buffer < starts.size(); ++buffer)
      for (int64_t at = 0; at < sizes[buffer]; at += kBlock)
        sums.push_back(crc32c(0, bytes.data() + starts[buffer] + at, std::min(kBlock, sizes[buffer] - at)));
  }

  const uint8_t* sum_bytes(int64_t place) const {
    return reinterpret_cast<const uint8_t*>(sums.data()) + (place - kPlace);
  }

  AbsentSums absent(const BlockChecks& checks, std::vector<std::pair<int64_t, int64_t>> ranges) const {
    AbsentSums found;
    for (const auto& [start, stop] : ranges) found.find(checks, start, stop);
    found.join();
    return found;
  }
};

using Places = std::vector<std::pair<int64_t, int64_t>>;

TEST_CASE("late checksums are named by groups, once, and neighbours together") {
  const File file;
  const BlockChecks checks(file.starts.data(), file.sizes.data(), 3, nullptr, file.num_blocks, kBlock, kPlace);
  REQUIRE(checks.is_late());
  const int64_t group = 4 * BlockChecks::kGroup;
  CHECK(file.absent(checks, {{8, 9}}).places == Places{{kPlace, kPlace + group}});
  CHECK(file.absent(checks, {{0, 8}, {20'008, 20'016}, {20'019, 20'032}, {24'832, 30'000}}).places == Places{});
  CHECK(file.absent(checks, {{9, 9}}).places == Places{});
  // The last group is short: blocks 6,144 to 6,200.
  CHECK(file.absent(checks, {{24'831, 24'832}}).places == Places{{kPlace + 6 * group, kPlace + 4 * 6201}});
  CHECK(file.absent(checks, {{16'000, 16'001}, {8, 20'000}, {9, 10}}).places == Places{{kPlace, kPlace + 5 * group}});
  CHECK(file.absent(checks, {{20'016, 20'019}, {10, 11}}).places ==
        Places{{kPlace, kPlace + group}, {kPlace + 4 * group, kPlace + 5 * group}});
}

TEST_CASE("blocks are right once their late checksums are here") {
  File file;
  BlockChecks checks(file.starts.data(), file.sizes.data(), 3, nullptr, file.num_blocks, kBlock, kPlace);
  const auto check = [&](int64_t start, int64_t stop) { return checks.check(start, stop, file.bytes.data() + start); };
  CHECK(check(8, 16) == 0);
  CHECK(checks.num_pending() == file.num_blocks);
  const int64_t group = 4 * BlockChecks::kGroup;
  // Not from the start of a group, or a part of one: left.
  checks.take(kPlace + 4, group, file.sum_bytes(kPlace + 4));
  checks.take(kPlace, group - 4, file.sum_bytes(kPlace));
  CHECK(check(8, 16) == 0);
  checks.take(kPlace, 2 * group, file.sum_bytes(kPlace));
  CHECK(check(8, 8 + 2048 * kBlock) == -1);
  CHECK(checks.num_pending() == file.num_blocks - 2048);
  CHECK(check(8 + 2047 * kBlock, 8 + 2049 * kBlock) == 2048);
  file.bytes[8] ^= 1;
  // It was right when it was first read.
  CHECK(check(8, 12) == -1);
  checks.take(kPlace + 6 * group, 4 * 6201 - 6 * group, file.sum_bytes(kPlace + 6 * group));
  file.bytes[24'831] ^= 1;
  CHECK(check(24'824, 24'832) == 6200);
  // Taken twice: the first ones stay.
  const Bytes wrong(static_cast<size_t>(group));
  checks.take(kPlace, group, wrong.data());
  CHECK(file.absent(checks, {{8, 9}}).places == Places{});
}

TEST_CASE("checksums that were given need nothing") {
  const File file;
  BlockChecks checks(file.starts.data(), file.sizes.data(), 3, file.sums.data(), file.num_blocks, kBlock);
  CHECK(!checks.is_late());
  CHECK(file.absent(checks, {{0, 30'000}}).places == Places{});
  CHECK(checks.check(8, 20'008, file.bytes.data() + 8) == -1);
  CHECK(checks.num_pending() == 1201);
}

}  // namespace
