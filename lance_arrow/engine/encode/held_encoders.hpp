// Encoder tables that own what they point to; a capsule owns a holder. The encoders of the format are made here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "include/lance_arrow_native.h"

namespace lance_arrow::engine {

struct HeldChunkEncoder : LaChunkEncoder {
  std::shared_ptr<void> form;
};

struct HeldBlocksEncoder : LaBlocksEncoder {
  std::shared_ptr<void> form;
};

struct HeldPageEncoder : LaPageEncoder {
  std::shared_ptr<void> form;
};

// How a codec is scored, as by `EncodeOptions`.
struct ScoreOptions {
  double factor = 1.0;  // of encoded bytes, where they compete with plain ones
  bool stores_plainly = false;
  double most_runs = -1.0;  // largest number of runs for each value; negative: any
};

// The score of runs that end at the borders of parts.
double score_runs(const LaBlock& block, const int64_t* starts, int64_t num_parts, int64_t header_bytes,
                  const ScoreOptions& options);

// Codecs with chunks. A description is a serialized `CompressiveEncoding`.
HeldChunkEncoder* hold_flat_encoder(const std::string& description);
HeldChunkEncoder* hold_inline_packer(const std::string& description, const ScoreOptions& options);
HeldChunkEncoder* hold_run_encoder(const std::string& description, const ScoreOptions& options);
// Never fits blocks of fewer bytes, or chunks of fewer values; of others, Python is asked.
HeldChunkEncoder* hold_asked_encoder(int64_t least_bytes, int64_t least_values);
// Python is asked where LZ4 makes samples of byte streams smaller than `most_part` of plain or packed values.
HeldChunkEncoder* hold_streams_asked(int64_t least_bytes, double most_part);

// Codecs with blocks.
HeldBlocksEncoder* hold_flat_blocks(const std::string& description);
HeldBlocksEncoder* hold_inline_blocks(const std::string& description, const ScoreOptions& options);
HeldBlocksEncoder* hold_run_blocks(const std::string& description, const ScoreOptions& options);
// A description for each number of packed bits, from 0 on.
HeldBlocksEncoder* hold_packed_blocks(const std::vector<std::string>& descriptions, const ScoreOptions& options,
                                      bool packs_zeros);

// Layouts.
struct ChunkPageForm {
  LaChunkRules rules;
  bool large;  // words and sizes of 32 bits
  // When a dictionary may pay off, which Python decides: widths, fewest values, and its largest share of the values.
  std::vector<int64_t> dictionary_bits;
  int64_t dictionary_values;
  int64_t dictionary_divisor;
  double dictionary_ratio;
  bool compresses_indices;
};
HeldPageEncoder* hold_chunk_pages(const ChunkPageForm& form);
HeldPageEncoder* hold_constant_pages(bool has_scalars);
HeldPageEncoder* hold_zipped_pages(double cost_of_byte);
HeldPageEncoder* hold_no_pages();

}  // namespace lance_arrow::engine
