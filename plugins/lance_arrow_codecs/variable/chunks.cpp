#include "lance_arrow_codecs/variable/chunks.hpp"

#include <algorithm>
#include <limits>

namespace lance_arrow::codecs {

namespace {

// Fills up to whole offsets; readers ignore it (spec 5.2).
constexpr uint8_t kChunkPadding = 0x48;

}  // namespace

Outcome plan_variable_chunks(const StoredOffsets& stored, int64_t data_bytes, int out_offset_bits,
                             const ChunkLimits& limits, int64_t* counts, int64_t room, int64_t* num_chunks) {
  if (limits.max_values < 2 || limits.max_bytes < 0) return misuse("chunks hold at least 2 values");
  if (out_offset_bits != 32 && out_offset_bits != 64) return misuse("offset_bits is neither 32 nor 64");
  const int64_t width = out_offset_bits / 8;
  return with_offset_type(stored.bits, [&]<class In>() {
    PlainValues<In> values;
    const Outcome opened = open_values<In>(stored, data_bytes, &values);
    if (opened.message != nullptr) return opened;
    const int64_t target = std::min(limits.target_bytes, limits.max_bytes);
    int64_t chunks = 0;
    for (int64_t first = 0; first < values.num_values; ++chunks) {
      if (chunks == room) return misuse("the output is too small", chunks);
      const int64_t rest = values.num_values - first;
      // Chunks are padded to 8 bytes where they are laid out.
      const auto size = [&](int64_t count) {
        return padded((count + 1) * width + values.before(first + count) - values.before(first), 8);
      };
      int64_t count = rest;
      if (rest > limits.max_values || size(rest) > target) {
        count = std::min<int64_t>(rest, 2);
        if (size(count) > limits.max_bytes) {
          *num_chunks = -1;
          return success();
        }
        while (count * 2 < rest && count * 2 <= limits.max_values && size(count * 2) <= target) count *= 2;
      }
      counts[chunks] = count;
      first += count;
    }
    *num_chunks = chunks;
    return success();
  });
}

Outcome write_variable_chunks(const StoredOffsets& stored, const uint8_t* data, int64_t data_bytes,
                              const int64_t* counts, int64_t num_chunks, int out_offset_bits, int64_t* sizes,
                              uint8_t* out, int64_t out_bytes, int64_t* total) {
  return with_offset_type(stored.bits, [&]<class In>() {
    return with_offset_type(out_offset_bits, [&]<class Out>() {
      constexpr int64_t width = sizeof(Out);
      PlainValues<In> values;
      const Outcome opened = open_values<In>(stored, data_bytes, &values);
      if (opened.message != nullptr) return opened;
      *total = 0;
      int64_t first = 0;
      for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
        const int64_t count = counts[chunk];
        if (count < 0 || count > values.num_values - first) return misuse("counts leave the values", chunk);
        const int64_t begin = values.before(first), end = values.before(first + count);
        sizes[chunk] = padded((count + 1) * width + end - begin, width);
        if (static_cast<uint64_t>(sizes[chunk]) > std::numeric_limits<Out>::max())
          return misuse("a chunk is too large for its offsets", chunk);
        if (sizes[chunk] <= out_bytes - *total) {
          uint8_t* const to = out + *total;
          const int64_t shift = (count + 1) * width - begin;
          const In base = load<In>(values.offsets, 0);
          for (int64_t value = 0; value <= count; ++value)
            store<Out>(to, value,
                       static_cast<Out>(static_cast<int64_t>(load<In>(values.offsets, first + value) - base) + shift));
          copy_bytes(to + (count + 1) * width, data + begin, end - begin);
          const int64_t used = (count + 1) * width + end - begin;
          std::memset(to + used, kChunkPadding, static_cast<size_t>(sizes[chunk] - used));
        }
        *total += sizes[chunk];
        first += count;
      }
      return first == values.num_values ? success() : misuse("counts do not reach the last value");
    });
  });
}

}  // namespace lance_arrow::codecs
