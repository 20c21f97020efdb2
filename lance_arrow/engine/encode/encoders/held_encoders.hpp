// The encoders that are made in the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lance_arrow/encoder_tables.hpp"

namespace lance_arrow::engine {

// Codecs with chunks. A description is a serialized `CompressiveEncoding`.
// Never fits blocks of fewer bytes, or chunks of fewer values; of others, Python is asked.
HeldChunkEncoder* hold_asked_encoder(int64_t least_bytes, int64_t least_values);

// Compression around other codecs: how, and when it is worth it.
struct CompressionForm {
  const LaFrameEncoder* frames;
  std::string compression;  // serialized `BufferCompression`
  int64_t least_bytes;
  int64_t sampled_bytes;
  int64_t num_samples;
  double most_part;  // largest part of the bytes that is left
};
// A `CompressiveEncoding` of `General` around the description of a child.
std::string describe_compressed(const std::string& compression, const std::string& child);
// Adds a frame of bytes, which are not empty; its size, or -1 where only Python compresses them.
int64_t add_frame(const LaFrameEncoder& frames, const uint8_t* bytes, int64_t size, std::vector<uint8_t>* out);

// Chunks of the best child, compressed. Samples decide.
struct CompressedChunkForm : CompressionForm {
  std::vector<const LaChunkEncoder*> children;  // in the order of names
  int64_t chunk_bytes;  // most bytes of a chunk before compression
};
HeldChunkEncoder* hold_compressed_chunks(const CompressedChunkForm& form);

// The encoder with the smallest score; all must live as long.
HeldChunkEncoder* hold_best_chunks(const std::vector<const LaChunkEncoder*>& encoders);

// Codecs with blocks.
HeldBlocksEncoder* hold_asked_blocks(int64_t least_bytes);
// Blocks of the best child, compressed. Python is asked about blocks of so many bytes that it would sample.
struct CompressedBlockForm : CompressionForm {
  std::vector<const LaBlocksEncoder*> children;  // in the order of names
};
HeldBlocksEncoder* hold_compressed_blocks(const CompressedBlockForm& form);
HeldBlocksEncoder* hold_best_blocks(const std::vector<const LaBlocksEncoder*>& encoders);
// Layouts.
struct ChunkPageForm {
  LaChunkRules rules;
  bool large;  // words and sizes of 32 bits
  int64_t zipped_from_bytes;  // byte strings of such a size are not in chunks, if they can be zipped
  // When a dictionary may pay off: widths (0: byte strings), fewest values, and its largest share of the values. For
  // values of one width, Python decides.
  std::vector<int64_t> dictionary_bits;
  int64_t dictionary_values;
  int64_t dictionary_divisor;
  double dictionary_ratio;
  double packed_ratio;  // largest ratio of the bits of indices to those of packed values
  bool compresses_indices;
  bool compresses_strings;
  LaChunkRules estimate_rules;  // of chunks whose size is only estimated
  LaChunkRules index_rules;
  const LaChunkEncoder* indices;  // the best for each; NULL: Python is asked for pages with a dictionary
  const LaBlocksEncoder* items;
};
HeldPageEncoder* hold_chunk_pages(const ChunkPageForm& form);
HeldPageEncoder* hold_constant_pages(bool has_scalars);
HeldPageEncoder* hold_zipped_pages(double cost_of_byte);
HeldPageEncoder* hold_no_pages();

}  // namespace lance_arrow::engine
