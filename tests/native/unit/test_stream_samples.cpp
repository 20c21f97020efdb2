// stream_samples.hpp: sizes of blocks at the ends of their forms, and nulls.
#include <vector>

#include "lance_arrow_codecs/general/stream_samples.hpp"
#include "lance_arrow_codecs/lz4/encoding.hpp"
#include "support.hpp"

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

TEST_CASE("blocks too short for a match are literals") {
  const std::vector<uint8_t> zeros(300);
  CHECK(lz4_block_bytes(zeros.data(), 0) == 1);
  for (int64_t size = 1; size <= 12; ++size) CHECK(lz4_block_bytes(zeros.data(), size) == size + 1);
  // One literal, one match, five literals.
  CHECK(lz4_block_bytes(zeros.data(), 13) == 10);
  // 300 = 1 + 294 + 5: of the match, 294 - 4 = 15 + 255 + 20 takes two bytes more.
  CHECK(lz4_block_bytes(zeros.data(), 300) == 4 + 2 + 6);
}

TEST_CASE("every size stays within its room") {
  std::vector<uint8_t> values;
  uint64_t state = 36;
  for (int64_t size = 0; size < 9000; size += 7) {
    values.assign(static_cast<size_t>(size), 0);
    for (uint8_t& value : values) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      value = static_cast<uint8_t>(state >> 62);
    }
    for (const int64_t width : {4, 8}) {
      int64_t found = 0;
      REQUIRE(lz4_stream_bytes(values.data(), size, width, &found).message == nullptr);
      CHECK(found <= size + size / 100 + 16 * (size / 4096 + 1));
    }
  }
  int64_t found = 0;
  CHECK(lz4_stream_bytes(values.data(), 16, 2, &found).message != nullptr);
}

TEST_CASE("nulls are the values before them") {
  constexpr int64_t num_values = 20000;
  std::vector<uint64_t> values(num_values);
  std::vector<uint8_t> present(num_values / 8);
  uint64_t state = 1;
  for (int64_t at = 0; at < num_values; ++at) {
    const bool is_valid = at % 3 != 0;
    if (is_valid) present[static_cast<size_t>(at / 8)] |= static_cast<uint8_t>(1 << (at % 8));
    state = state * 6364136223846793005U + 1442695040888963407U;
    values[static_cast<size_t>(at)] = is_valid ? 7 : state;
  }
  LaBlock block{};
  block.bits = 64;
  block.num_values = num_values;
  block.values = reinterpret_cast<const uint8_t*>(values.data());
  block.num_bytes = 8 * num_values;
  CHECK(sampled_stream_part(block) > 0.3);
  block.present = present.data();
  block.num_nulls = num_values / 3;
  CHECK(sampled_stream_part(block) < 0.02);
}
