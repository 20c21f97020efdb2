// The C table of each codec of chunks (LaChunkCodec), and of codecs in codecs: any bytes, any selection of values.
//
// Promises: what refuses all values may give some of them; what gives all of them gives the same ones singly.
#include <memory>

#include "engine/bind/codec_holders.hpp"
#include "input.hpp"
#include "lance_arrow/codec_tables.hpp"
#include "lance_arrow_codecs/byte_stream_split/codec.hpp"
#include "lance_arrow_codecs/constant/codec.hpp"
#include "lance_arrow_codecs/delta/codec.hpp"
#include "lance_arrow_codecs/fixed_size_list/codec.hpp"
#include "lance_arrow_codecs/fsst/codec.hpp"
#include "lance_arrow_codecs/fsst/symbols.hpp"
#include "lance_arrow_codecs/inline_bitpacking/codec.hpp"
#include "lance_arrow_codecs/lz4/codec.hpp"
#include "lance_arrow_codecs/out_of_line_bitpacking/codec.hpp"
#include "lance_arrow_codecs/range/codec.hpp"
#include "lance_arrow_codecs/rle/codec.hpp"
#include "lance_arrow_codecs/rle/encoded_runs.hpp"
#include "lance_arrow_codecs/variable/codec.hpp"
#include "lance_arrow_codecs/variable/parts.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using namespace lance_arrow;
using namespace lance_arrow::codecs;
using namespace lance_arrow::engine;

constexpr int64_t kMostBytes = 1 << 22;  // of values of any length, and of a frame's content

// Codecs own nothing of their children: all live as long as the input.
struct Tree {
  std::vector<std::unique_ptr<HeldChunkCodec>> chunks;
  std::unique_ptr<HeldFrameCodec> frames{hold_lz4()};
  std::unique_ptr<HeldFramePrefixes> prefixes{hold_lz4_prefixes()};

  const LaChunkCodec* keep(HeldChunkCodec* held) {
    chunks.emplace_back(held);
    return held;
  }

  // Null where the input describes none, as `bind` of the codec would refuse it.
  const LaChunkCodec* make(fuzz::Input& input, int depth) {
    constexpr int64_t widths[] = {1, 8, 16, 32, 64, 24, 128, 2048};
    constexpr int64_t words[] = {8, 16, 32, 64};
    constexpr int64_t floats[] = {32, 64};
    switch (input.number(0, depth > 0 ? 11 : 5)) {
      case 0: return keep(hold_plain_chunks(input.one_of(widths)));
      case 1: return keep(hold_inline_bitpacking(input.one_of(words)));
      case 2: {
        const int64_t word_bits = input.one_of(words);
        return keep(hold_out_of_line_bitpacking(word_bits, input.number(0, word_bits)));
      }
      case 3: {
        const bool is_block = input.flag();
        return keep(hold_run_lengths(input.one_of(words), is_block));
      }
      case 4: {
        const bool is_block = input.flag();
        return keep(hold_variable(input.one_of(floats), is_block));
      }
      case 5: return keep(hold_byte_streams(input.one_of(floats)));
      case 6: {
        const LaChunkCodec* child = make(input, depth - 1);
        const LaFramePrefixes* some = input.flag() ? prefixes.get() : nullptr;
        return child == nullptr ? nullptr : keep(hold_compressed(child, frames.get(), some, kMostBytes));
      }
      case 8: {
        const LaChunkCodec* child = input.flag() ? make(input, depth - 1) : nullptr;
        const int64_t items = input.number(1, 20), num_bitmaps = input.number(0, 2);
        std::vector<int64_t> bitmaps;
        for (int64_t bitmap = 0; bitmap < num_bitmaps; ++bitmap) bitmaps.push_back(input.number(1, 100));
        const int64_t item_bits = child == nullptr ? input.number(1, 300) : items * child->bits;
        const int64_t num_stored = child == nullptr ? input.number(0, num_bitmaps) : num_bitmaps;
        HeldChunkCodec* held = hold_list_rows(child, items, bitmaps, num_stored, item_bits);
        // The input has bytes for a first buffer.
        if (held != nullptr) keep(held);
        return held == nullptr || held->num_buffers == 0 ? nullptr : held;
      }
      case 9: {
        const LaChunkCodec* child = make(input, depth - 1);
        if (child == nullptr || (child->bits != 32 && child->bits != 64)) return nullptr;
        return keep(hold_delta(child->bits, static_cast<uint64_t>(input.number(0, 1 << 20)), child));
      }
      case 10: {
        const bool is_block = input.flag();
        const LaChunkCodec* values = keep(hold_plain_chunks(input.one_of(words)));
        const LaChunkCodec* lengths = keep(hold_plain_chunks(input.one_of(words)));
        const RunCounter of_values{values->bits / 8, {}, 0}, of_lengths{lengths->bits / 8, {}, 0};
        return keep(hold_encoded_runs(values, lengths, of_values, input.flag() ? of_lengths : RunCounter{}, is_block));
      }
      case 11: {
        constexpr PartsForm forms[] = {PartsForm::kApart, PartsForm::kJoined, PartsForm::kBlock};
        const PartsForm form = input.one_of(forms);
        const LaFrameCodec* scheme = input.flag() ? frames.get() : nullptr;
        const LaChunkCodec* child = make(input, depth - 1);
        if (child == nullptr || (child->bits != 32 && child->bits != 64)) return nullptr;
        HeldChunkCodec* held = hold_variable_parts(child->bits, child, scheme, kMostBytes, form);
        return held == nullptr ? nullptr : keep(held);
      }
      default: {
        const LaChunkCodec* child = make(input, depth - 1);
        if (child == nullptr || child->bits != 0) return nullptr;
        fuzz::Buffer table(SymbolTable::kBytes);
        const fuzz::Buffer head = input.counted();
        std::memcpy(table.data(), head.data(), static_cast<size_t>(std::min(head.size, table.size)));
        Outcome outcome;
        HeldChunkCodec* held = hold_symbols(child, table.data(), table.size, &outcome);
        return held == nullptr ? nullptr : keep(held);
      }
    }
  }
};

// Selected values: of a fixed width back to back, of any length with their ends.
struct Selected {
  int64_t bits;
  fuzz::Buffer fixed;
  std::vector<uint8_t> bytes;
  std::vector<int64_t> ends;
  LaRefusal refusal = nullptr;

  Selected(const LaChunkCodec& codec, const LaChunk& chunk, const LaRuns& runs)
      : bits(codec.bits),
        fixed((num_selected(runs) * codec.bits + 7) / 8),
        ends(static_cast<size_t>(num_selected(runs))) {
    LaValues out{fixed.data(), 0, ends.data(), 0, &reserve, this};
    refusal = codec.select(codec.self, &chunk, &runs, &out);
    if (refusal == nullptr && bits == 0) {
      fuzz::require(ends.empty() || ends.back() == out.end, "the last value ends where the bytes end");
      fuzz::require(out.end <= static_cast<int64_t>(bytes.size()), "bytes lie in what was reserved");
    }
  }

  static uint8_t* reserve(void* host, int64_t end, int64_t num_bytes) {
    auto& bytes = static_cast<Selected*>(host)->bytes;
    if (num_bytes < 0 || num_bytes > kMostBytes - end) return nullptr;
    // Exactly as many bytes as asked for: more would hide a write behind them. One for the address of nothing.
    bytes.resize(static_cast<size_t>(end));
    bytes.shrink_to_fit();
    bytes.reserve(static_cast<size_t>(end + num_bytes) + (end + num_bytes == 0));
    bytes.resize(static_cast<size_t>(end + num_bytes));
    return bytes.data() + end;
  }

  std::vector<uint8_t> value(int64_t index) const {
    if (bits == 1) return {static_cast<uint8_t>(fixed.data()[index / 8] >> (index % 8) & 1)};
    if (bits != 0) {
      const uint8_t* from = fixed.data() + index * bits / 8;
      return {from, from + bits / 8};
    }
    const int64_t start = index == 0 ? 0 : ends[static_cast<size_t>(index) - 1];
    fuzz::require(start <= ends[static_cast<size_t>(index)], "ends ascend");
    return {bytes.begin() + start, bytes.begin() + ends[static_cast<size_t>(index)]};
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  Tree tree;
  const LaChunkCodec* codec = tree.make(input, 3);
  if (codec == nullptr) return 0;
  const int64_t num_values = input.number(1, 4096);
  const fuzz::Runs wanted(input, num_values);
  std::vector<fuzz::Buffer> held;
  for (int64_t buffer = 1; buffer < codec->num_buffers; ++buffer) held.push_back(input.counted());
  held.insert(held.begin(), input.rest());
  std::vector<const uint8_t*> buffers;
  std::vector<int64_t> sizes;
  for (const fuzz::Buffer& buffer : held) {
    buffers.push_back(buffer.data());
    sizes.push_back(buffer.size);
  }
  const LaChunk chunk{buffers.data(), sizes.data(), codec->num_buffers, num_values};
  const Selected some(*codec, chunk, {wanted.starts.data(), wanted.stops.data(), wanted.count()});
  const int64_t start = 0;
  const Selected all(*codec, chunk, {&start, &num_values, 1});
  if (all.refusal != nullptr) return 0;
  fuzz::require(some.refusal == nullptr, "a codec that gives all values gives some of them");
  int64_t at = 0;
  for (size_t run = 0; run < wanted.starts.size(); ++run)
    for (int64_t value = wanted.starts[run]; value < wanted.stops[run]; ++value, ++at)
      fuzz::require(some.value(at) == all.value(value), "a value is the same alone and among all");
  return 0;
}
