#include "lance_arrow_codecs/rle/encoded_runs.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "lance_arrow_codecs/rle/runs.hpp"

namespace lance_arrow::codecs {

namespace {

using Scratch = std::vector<uint8_t>;

struct EncodedRuns {
  const LaChunkCodec* values;
  const LaChunkCodec* lengths;
  RunCounter of_values, of_lengths;
  bool is_block;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const EncodedRuns*>(self);
    LaRefusal refusal = kDone;
    const LaRefusal found =
        select_decoded(*chunk, form.values->bits / 8, *runs, out, [&](uint8_t* to, int64_t num_bytes) {
          refusal = form.expand(*chunk, to, num_bytes);
          return success();
        });
    return refusal != kDone ? refusal : found;
  }

 private:
  // Buffers of one part, and how many values it has.
  struct Part {
    const uint8_t* bytes[8];
    int64_t sizes[8];
    LaChunk chunk;
  };

  LaRefusal expand(const LaChunk& chunk, uint8_t* to, int64_t num_bytes) const {
    Part stored_values, stored_lengths;
    if (const LaRefusal refusal = split(chunk, &stored_values, &stored_lengths)) return refusal;
    int64_t num_runs = 0;
    if (const LaRefusal refusal = count_runs(chunk.num_values, stored_values, stored_lengths, &num_runs))
      return refusal;
    const Leased<Scratch> run_lengths, run_values;
    const int64_t width = values->bits / 8, length_bytes = lengths->bits / 8;
    run_lengths->resize(static_cast<size_t>(num_runs * length_bytes + 1));
    run_values->resize(static_cast<size_t>(num_runs * width + 1));
    stored_lengths.chunk.num_values = stored_values.chunk.num_values = num_runs;
    if (const LaRefusal refusal = select_all(*lengths, stored_lengths.chunk, run_lengths->data())) return refusal;
    if (const LaRefusal refusal = select_all(*values, stored_values.chunk, run_values->data())) return refusal;
    const uint8_t* end = to + num_bytes;
    for (int64_t run = 0; run < num_runs; ++run) {
      const uint64_t length = length_of(run_lengths->data(), length_bytes, run);
      if (length == 0 || length > static_cast<uint64_t>((end - to) / width))
        return "run lengths do not sum to the number of values";
      const uint8_t* value = run_values->data() + run * width;
      const auto count = static_cast<int64_t>(length);
      with_value_type(width, [&]<class Value>() {
        const Value one = load<Value>(value, 0);
        for (int64_t at = 0; at < count; ++at) store<Value>(to, at, one);
        return success();
      });
      to += count * width;
    }
    return to == end ? kDone : "run lengths do not sum to the number of values";
  }

  static uint64_t length_of(const uint8_t* stored, int64_t width, int64_t run) {
    switch (width) {
      case 1: return stored[run];
      case 2: return load<uint16_t>(stored, run);
      case 4: return load<uint32_t>(stored, run);
      default: return load<uint64_t>(stored, run);
    }
  }

  LaRefusal split(const LaChunk& chunk, Part* of_first, Part* of_second) const {
    const int64_t first = values->num_buffers, second = lengths->num_buffers;
    of_first->chunk = {of_first->bytes, of_first->sizes, first, 0};
    of_second->chunk = {of_second->bytes, of_second->sizes, second, 0};
    if (!is_block || first + second == 0) {
      std::copy(chunk.buffers, chunk.buffers + first, of_first->bytes);
      std::copy(chunk.sizes, chunk.sizes + first, of_first->sizes);
      std::copy(chunk.buffers + first, chunk.buffers + first + second, of_second->bytes);
      std::copy(chunk.sizes + first, chunk.sizes + first + second, of_second->sizes);
      return kDone;
    }
    constexpr int64_t head = 8;
    if (chunk.sizes[0] < head) return "a run block is too short for its header";
    const auto declared = load<uint64_t>(chunk.buffers[0], 0);
    if (declared > static_cast<uint64_t>(chunk.sizes[0] - head)) return "a run block has fewer bytes than its values";
    const auto size = static_cast<int64_t>(declared);
    of_first->bytes[0] = chunk.buffers[0] + head;
    of_first->sizes[0] = size;
    of_second->bytes[0] = chunk.buffers[0] + head + size;
    of_second->sizes[0] = chunk.sizes[0] - head - size;
    if ((first == 0 && of_first->sizes[0] != 0) || (second == 0 && of_second->sizes[0] != 0))
      return "a part of a run block has bytes, expected none";
    return kDone;
  }

  // Never more runs than values, since no run is empty.
  LaRefusal count_runs(int64_t num_values, const Part& stored_values, const Part& stored_lengths, int64_t* out) const {
    int64_t found[2] = {-1, -1};
    if (const LaRefusal refusal = count_of(of_values, stored_values, &found[0])) return refusal;
    if (const LaRefusal refusal = count_of(of_lengths, stored_lengths, &found[1])) return refusal;
    if (found[0] >= 0 || found[1] >= 0) {
      if (found[0] >= 0 && found[1] >= 0 && found[0] != found[1]) return "run values and run lengths differ in number";
      *out = std::max(found[0], found[1]);
      return *out <= num_values ? kDone : "there are more runs than values";
    }
    return count_by_rule(num_values, out);
  }

  // Lengths without bytes follow a rule: as many as the number of values needs.
  LaRefusal count_by_rule(int64_t num_values, int64_t* out) const {
    const Leased<Scratch> told;
    const int64_t width = lengths->bits / 8;
    told->resize(static_cast<size_t>(num_values * width + 1));
    if (const LaRefusal refusal = select_all(*lengths, {nullptr, nullptr, 0, num_values}, told->data())) return refusal;
    int64_t reached = 0, run = 0;
    for (; run < num_values && reached < num_values; ++run)
      reached += static_cast<int64_t>(
          std::min(length_of(told->data(), width, run), static_cast<uint64_t>(num_values - reached)));
    *out = run;
    return kDone;
  }

  static LaRefusal count_of(const RunCounter& counter, const Part& part, int64_t* out) {
    if (counter.bytes_per_run == 0) return kDone;
    if (part.chunk.num_buffers != 1) return "runs have another number of buffers";
    const uint8_t* bytes = part.bytes[0];
    int64_t size = part.sizes[0];
    std::unique_ptr<uint8_t[]> opened;
    for (size_t frame = 0; frame < counter.frames.size(); ++frame) {
      const LaFrameCodec& codec = *counter.frames[frame];
      const int64_t plain_bytes = codec.plain_bytes(codec.self, bytes, size);
      if (const LaRefusal refusal = check_declared(plain_bytes, counter.most_frame_bytes)) return refusal;
      if (frame + 1 < counter.frames.size()) {
        std::unique_ptr<uint8_t[]> plain(new (std::nothrow) uint8_t[static_cast<size_t>(plain_bytes) + 1]);
        if (plain == nullptr) return LA_ABOVE_LIMIT;
        if (const LaRefusal refusal = codec.decompress(codec.self, bytes, size, plain.get(), plain_bytes))
          return refusal;
        opened = std::move(plain);
        bytes = opened.get();
      }
      size = plain_bytes;
    }
    if (size % counter.bytes_per_run != 0) return "the bytes of runs are not a whole number of them";
    *out = size / counter.bytes_per_run;
    return kDone;
  }
};

}  // namespace

HeldChunkCodec* hold_encoded_runs(const LaChunkCodec* values, const LaChunkCodec* lengths, const RunCounter& of_values,
                                  const RunCounter& of_lengths, bool is_block) {
  const auto is_integer = [](int64_t bits) { return bits == 8 || bits == 16 || bits == 32 || bits == 64; };
  if (!is_integer(values->bits) || !is_integer(lengths->bits)) return nullptr;
  const int64_t parts = values->num_buffers + lengths->num_buffers;
  const bool is_ruled = of_values.bytes_per_run == 0 && of_lengths.bytes_per_run == 0;
  if (parts > 8 || (is_block && std::max(values->num_buffers, lengths->num_buffers) > 1) ||
      (is_ruled && lengths->num_buffers != 0))
    return nullptr;
  EncodedRuns form{values, lengths, of_values, of_lengths, is_block};
  return hold_one(std::move(form), values->bits, is_block ? std::min<int64_t>(parts, 1) : parts);
}

}  // namespace lance_arrow::codecs
