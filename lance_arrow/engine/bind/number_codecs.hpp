// Codecs of integers that follow a rule, and runs whose parts have codecs of their own.
#pragma once

#include <string>
#include <vector>

#include "engine/bind/codec_holders.hpp"

namespace lance_arrow::engine {

// One value of `bits`, repeated, without a buffer; a single bit is one byte.
HeldChunkCodec* hold_constant(int64_t bits, const std::string& value);
// Blocks without a value, which hold nothing.
HeldChunkCodec* hold_nothing(int64_t bits);
// The same, zipped: values without bytes.
HeldValueCodec* hold_zipped_constant(const std::string& value);
// Integers of 32 or 64 bits at equal distances, without a buffer. They wrap around.
HeldChunkCodec* hold_range(int64_t bits, uint64_t start, uint64_t step);
// A first integer, and the distances of neighbours from `deltas`, which has as many bits. They wrap around.
HeldChunkCodec* hold_delta(int64_t bits, uint64_t base, const LaChunkCodec* deltas);

// Counts the runs that a buffer holds: frames, the outermost first, of runs of so many bytes; 0 where that is not
// known.
struct RunCounter {
  int64_t bytes_per_run = 0;
  std::vector<const LaFrameCodec*> frames;
  int64_t most_frame_bytes = 0;
};

// Runs whose values and lengths are blocks of their own; `is_block`: in one buffer, behind the bytes of the first.
HeldChunkCodec* hold_encoded_runs(const LaChunkCodec* values, const LaChunkCodec* lengths, const RunCounter& of_values,
                                  const RunCounter& of_lengths, bool is_block);

}  // namespace lance_arrow::engine
