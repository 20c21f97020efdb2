// Offsets as files store them, checked and rewritten as Arrow offsets, with the bytes they point at.
//
// A chunk holds num_values + 1 offsets and then bytes. Mini-block chunks count offsets from the start of the chunk.
// Blocks count from their bytes, and begin with a header of two words: bits per offset, position of the bytes (spec
// 5.2).
#pragma once

#include <limits>

#include "lance_arrow/arithmetic.hpp"
#include "lance_arrow/outcome.hpp"
#include "lance_arrow/variable.hpp"

namespace lance_arrow::codecs {

// Offsets of one chunk that passed every check.
struct VariableChunk {
  const uint8_t* offsets;
  const uint8_t* bytes;
  int64_t num_bytes;
};

template <class Offset>
Outcome open_chunk(const Chunk& chunk, VariableChunk* opened) {
  constexpr int64_t width = sizeof(Offset);
  // num_values has no output to bound it while measuring, hence the division.
  if (chunk.num_values >= chunk.size / width) return corrupt("a chunk is shorter than its offsets", chunk.index);
  const int64_t header = (chunk.num_values + 1) * width;
  const uint64_t first = load<Offset>(chunk.bytes, 0);
  const uint64_t last = load<Offset>(chunk.bytes, chunk.num_values);
  if (first != static_cast<uint64_t>(header)) return corrupt("a chunk's first offset is not its header", chunk.index);
  if (last > static_cast<uint64_t>(chunk.size)) return corrupt("a chunk's offsets leave the chunk", chunk.index);
  if (!ascending<Offset>(chunk.bytes, chunk.num_values)) return corrupt("a chunk's offsets descend", chunk.index);
  *opened = {chunk.bytes, chunk.bytes + header, static_cast<int64_t>(last - first)};
  return success();
}

template <class Offset>
Outcome open_block(const Chunk& chunk, VariableChunk* opened) {
  constexpr int64_t width = sizeof(Offset);
  if (chunk.num_values >= chunk.size / width - 2) return corrupt("a block is shorter than its offsets", chunk.index);
  const int64_t header = (chunk.num_values + 3) * width;
  if (load<Offset>(chunk.bytes, 0) != 8 * width) return corrupt("a block's offset width is wrong", chunk.index);
  if (static_cast<uint64_t>(load<Offset>(chunk.bytes, 1)) != static_cast<uint64_t>(header))
    return corrupt("a block's bytes do not follow its offsets", chunk.index);
  const uint8_t* offsets = chunk.bytes + 2 * width;
  const uint64_t last = load<Offset>(offsets, chunk.num_values);
  if (load<Offset>(offsets, 0) != 0) return corrupt("a block's first offset is not 0", chunk.index);
  if (last > static_cast<uint64_t>(chunk.size - header)) return corrupt("a block's offsets leave it", chunk.index);
  if (!ascending<Offset>(offsets, chunk.num_values)) return corrupt("a block's offsets descend", chunk.index);
  *opened = {offsets, chunk.bytes + header, static_cast<int64_t>(last)};
  return success();
}

enum class VariableForm { kChunk, kBlock };

template <VariableForm form, class Offset>
Outcome open_variable(const Chunk& chunk, VariableChunk* opened) {
  if constexpr (form == VariableForm::kChunk) return open_chunk<Offset>(chunk, opened);
  else return open_block<Offset>(chunk, opened);
}

template <VariableForm form>
Outcome measure_variable(const Chunks& chunks, int offset_bits, int64_t* total) {
  *total = 0;
  return with_offset_type(offset_bits, [&]<class Offset>() {
    return for_each_chunk(chunks, std::numeric_limits<int64_t>::max(), [&](const Chunk& chunk) {
      VariableChunk opened;
      const Outcome outcome = open_variable<form, Offset>(chunk, &opened);
      if (outcome.message != nullptr) return outcome;
      // Chunks may overlap, so their sum is not bounded by the size of the data.
      if (!add_to(total, opened.num_bytes)) return corrupt("too many bytes", chunk.index);
      return success();
    });
  });
}

// The base is the offset at value_starts[0].
template <VariableForm form>
Outcome decode_variable(const Chunks& chunks, int offset_bits, const VariableOut& out) {
  if (chunks.num_chunks < 0) return misuse("starts, sizes and value_starts have contradicting lengths");
  return with_offset_type(out.offset_bits, [&]<class Out>() {
    return with_offset_type(offset_bits, [&]<class Offset>() {
      VariableWriter<Out> writer;
      const Outcome begun = writer.open(out, chunks.value_starts[0]);
      if (begun.message != nullptr) return begun;
      return for_each_chunk(chunks, chunks.value_starts[0] + writer.num_values, [&](const Chunk& chunk) {
        VariableChunk opened;
        const Outcome found = open_variable<form, Offset>(chunk, &opened);
        if (found.message != nullptr) return found;
        if (!writer.fits(chunk.num_values, opened.num_bytes)) return too_small(chunk.index);
        copy_bytes(writer.data, opened.bytes, opened.num_bytes);
        writer.template finish_values<Offset>(opened.offsets, chunk.num_values);
        return success();
      });
    });
  });
}

// Where each value lies in the data, by the number it has in the output.
template <VariableForm form>
Outcome locate_variable(const Chunks& chunks, int offset_bits, int64_t* starts, int64_t* sizes, int64_t num_values) {
  return with_offset_type(offset_bits, [&]<class Offset>() {
    return for_each_chunk(chunks, num_values, [&](const Chunk& chunk) {
      VariableChunk opened;
      const Outcome outcome = open_variable<form, Offset>(chunk, &opened);
      if (outcome.message != nullptr) return outcome;
      Offset before = load<Offset>(opened.offsets, 0);
      const int64_t shift = opened.bytes - chunks.data - static_cast<int64_t>(before);
      for (int64_t value = 0; value < chunk.num_values; ++value) {
        const Offset after = load<Offset>(opened.offsets, value + 1);
        starts[chunk.first_value + value] = shift + static_cast<int64_t>(before);
        sizes[chunk.first_value + value] = static_cast<int64_t>(after - before);
        before = after;
      }
      return success();
    });
  });
}

}  // namespace lance_arrow::codecs
