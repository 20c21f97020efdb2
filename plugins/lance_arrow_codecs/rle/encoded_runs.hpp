// Runs whose values and lengths have codecs of their own.
#pragma once

#include <vector>

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

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

}  // namespace lance_arrow::codecs
