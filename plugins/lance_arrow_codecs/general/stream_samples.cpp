#include "lance_arrow_codecs/general/stream_samples.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "lance_arrow/parts.hpp"
#include "lance_arrow_codecs/byte_stream_split/streams.hpp"
#include "lance_arrow_codecs/lz4/encoding.hpp"

namespace lance_arrow::codecs {

namespace {

constexpr int64_t kChunkBytes = 4096;  // source: spec 5.10
constexpr int64_t kHeaderBytes = 4;
constexpr int64_t kSampledBytes = 8 << 10;
constexpr int64_t kGroupValues = 1024;
constexpr int64_t kNumSamples = 4;

// The values of a sample, each null replaced by the value before it, the first ones by the first value.
void fill_forward(const LaBlock& block, int64_t first, int64_t count, uint8_t* out) {
  const int64_t width = block.bits / 8;
  const auto is_valid = [&](int64_t at) { return (block.present[at / 8] >> (at % 8) & 1) != 0; };
  int64_t before = first;
  while (before < first + count && !is_valid(before)) ++before;
  if (before == first + count) before = first;
  for (int64_t at = first; at < first + count; ++at) {
    if (is_valid(at)) before = at;
    std::memcpy(out + (at - first) * width, block.values + before * width, static_cast<size_t>(width));
  }
}

}  // namespace

Outcome lz4_stream_bytes(const uint8_t* values, int64_t num_bytes, int64_t width, int64_t* out) {
  if (width != 4 && width != 8) return misuse("byte streams are sampled of values of 4 or 8 bytes");
  std::array<uint8_t, kChunkBytes> streams;
  *out = 0;
  for (int64_t first = 0; first + width <= num_bytes; first += kChunkBytes) {
    const int64_t size = std::min(kChunkBytes, num_bytes - first) / width * width;
    const std::array<int64_t, 2> ends{0, size / width};
    const Parts chunk{values + first, size, ends.data(), 1};
    const Outcome outcome = scatter_streams(chunk, width, streams.data(), size);
    if (outcome.message != nullptr) return outcome;
    *out += kHeaderBytes + lz4_block_bytes(streams.data(), size);
  }
  return success();
}

double sampled_stream_part(const LaBlock& block) {
  const int64_t width = block.bits / 8;
  const int64_t sampled = std::max(kSampledBytes / width / kGroupValues * kGroupValues, kGroupValues);
  const bool is_whole = block.num_values <= sampled * kNumSamples;
  const int64_t count = is_whole ? block.num_values : sampled;
  std::vector<uint8_t> filled;
  int64_t compressed = 0, plain = 0;
  for (int64_t sample = 0; sample < (is_whole ? 1 : kNumSamples); ++sample) {
    const int64_t first = sample * (block.num_values / kNumSamples) / kGroupValues * kGroupValues;
    const uint8_t* values = block.values + first * width;
    if (block.present != nullptr) {
      filled.resize(static_cast<size_t>(count * width));
      fill_forward(block, first, count, filled.data());
      values = filled.data();
    }
    int64_t num_bytes = 0;
    if (lz4_stream_bytes(values, count * width, width, &num_bytes).message != nullptr) return 0;
    compressed += num_bytes;
    plain += count * width;
  }
  return plain == 0 ? 1 : static_cast<double>(compressed) / static_cast<double>(plain);
}

}  // namespace lance_arrow::codecs
