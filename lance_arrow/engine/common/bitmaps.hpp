// Runs of single bits, least significant first: copied, filled and counted at any bit position.
#pragma once

#include "lance_arrow/bits.hpp"

namespace lance_arrow::engine {

inline int64_t bytes_of(int64_t bits) { return (bits + 7) / 8; }

Outcome copy_bits(const Chunks& chunks, uint8_t* out, int64_t out_bytes, int64_t out_bit_offset);
Outcome take_bit_runs(const uint8_t* source, int64_t source_bytes, int64_t source_bit_offset, const int64_t* run_starts,
                      const int64_t* run_stops, int64_t num_runs, uint8_t* out, int64_t out_bytes,
                      int64_t out_bit_offset);

// Sets the bits of runs, which are numbered from first_bit on, and leaves the others alone.
Outcome fill_bit_runs(const int64_t* run_starts, const int64_t* run_stops, int64_t num_runs, int64_t first_bit,
                      uint8_t* out, int64_t out_bytes);
Outcome count_bits(const uint8_t* source, int64_t source_bytes, int64_t bit_offset, int64_t num_bits, int64_t* count);
Outcome count_marked_runs(const uint8_t* source, int64_t source_bytes, int64_t bit_offset, const int64_t* range_starts,
                          const int64_t* range_stops, int64_t num_ranges, int64_t* count);
Outcome mark_runs(const uint8_t* source, int64_t source_bytes, int64_t bit_offset, const int64_t* range_starts,
                  const int64_t* range_stops, int64_t num_ranges, int64_t* out_starts, int64_t* out_stops,
                  int64_t num_out);

}  // namespace lance_arrow::engine
