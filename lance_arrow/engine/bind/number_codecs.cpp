#include "engine/bind/number_codecs.hpp"

#include <new>
#include <utility>

#include "engine/bind/codec_tables.hpp"

namespace lance_arrow::engine {

namespace {

using Scratch = std::vector<uint8_t>;

// All values of a block, one after the other; `out` has room for them.
LaRefusal select_all(const LaChunkCodec& codec, const LaChunk& chunk, uint8_t* out) {
  const int64_t start = 0;
  const LaRuns all{&start, &chunk.num_values, chunk.num_values > 0 ? 1 : 0};
  LaValues place{out, 0, nullptr, 0, nullptr, nullptr};
  return codec.select(codec.self, &chunk, &all, &place);
}

void repeat(const uint8_t* value, int64_t width, int64_t count, uint8_t* out) {
  for (int64_t done = 0; done < count; ++done, out += width) std::memcpy(out, value, static_cast<size_t>(width));
}

struct Constant {
  int64_t bits;
  bool has_value;
  std::string value;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const Constant*>(self);
    if (!runs_fit(*runs, chunk->num_values)) return "more values are wanted than a chunk has";
    if (!form.has_value) return chunk->num_values == 0 ? kDone : "a constant block without a value has values";
    const int64_t count = num_selected(*runs);
    if (form.bits == 1) {
      const int64_t room = (out->bit_offset + count + 7) / 8;
      return fill_bits(out->values, room, out->bit_offset, count, form.value[0] != 0).message;
    }
    repeat(reinterpret_cast<const uint8_t*>(form.value.data()), form.bits / 8, count, out->values);
    return kDone;
  }

  static LaRefusal expand(const void* self, const uint8_t*, const int64_t*, const int64_t* sizes, int64_t num_values,
                          LaValues* out) {
    const auto& form = *static_cast<const Constant*>(self);
    for (int64_t value = 0; value < num_values; ++value)
      if (sizes[value] != 0) return "a constant has bytes, expected none";
    repeat(reinterpret_cast<const uint8_t*>(form.value.data()), form.bits / 8, num_values, out->values);
    return kDone;
  }
};

template <class T>
struct Range {
  T start, step;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const Range*>(self);
    if (!runs_fit(*runs, chunk->num_values)) return "more values are wanted than a chunk has";
    int64_t at = 0;
    for (int64_t run = 0; run < runs->num_runs; ++run)
      for (int64_t value = runs->starts[run]; value < runs->stops[run]; ++value)
        store<T>(out->values, at++, static_cast<T>(form.start + static_cast<T>(value) * form.step));
    return kDone;
  }
};

template <class T>
struct Delta {
  T base;
  const LaChunkCodec* deltas;

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& form = *static_cast<const Delta*>(self);
    constexpr auto width = static_cast<int64_t>(sizeof(T));
    LaRefusal refusal = kDone;
    const LaRefusal found = select_decoded(*chunk, width, *runs, out, [&](uint8_t* to, int64_t) {
      const int64_t count = chunk->num_values;
      const Leased<Scratch> scratch;
      const LaChunk below{chunk->buffers, chunk->sizes, chunk->num_buffers, std::max<int64_t>(count - 1, 0)};
      scratch->resize(static_cast<size_t>(below.num_values * width + 1));
      refusal = select_all(*form.deltas, below, scratch->data());
      T value = form.base;
      for (int64_t at = 0; at < count; ++at) {
        if (at > 0) value = static_cast<T>(value + load<T>(scratch->data(), at - 1));
        store<T>(to, at, value);
      }
      return success();
    });
    return refusal != kDone ? refusal : found;
  }
};

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

template <class Form>
HeldChunkCodec* hold_one(Form form, int64_t bits, int64_t num_buffers) {
  return hold(std::make_shared<Form>(std::move(form)), bits, num_buffers, 0);
}

}  // namespace

HeldChunkCodec* hold_constant(int64_t bits, const std::string& value) {
  return hold_one(Constant{bits, true, value}, bits, 0);
}

HeldChunkCodec* hold_nothing(int64_t bits) { return hold_one(Constant{bits, false, ""}, bits, 0); }

HeldValueCodec* hold_zipped_constant(const std::string& value) {
  const auto bits = 8 * static_cast<int64_t>(value.size());
  auto form = std::make_shared<Constant>(Constant{bits, true, value});
  return new HeldValueCodec{{bits, 0, form.get(), &Constant::expand}, form, nullptr};
}

HeldChunkCodec* hold_range(int64_t bits, uint64_t start, uint64_t step) {
  if (bits == 32) return hold_one(Range<uint32_t>{static_cast<uint32_t>(start), static_cast<uint32_t>(step)}, bits, 0);
  return hold_one(Range<uint64_t>{start, step}, 64, 0);
}

HeldChunkCodec* hold_delta(int64_t bits, uint64_t base, const LaChunkCodec* deltas) {
  if (deltas->bits != bits) return nullptr;
  if (bits == 32) return hold_one(Delta<uint32_t>{static_cast<uint32_t>(base), deltas}, bits, deltas->num_buffers);
  return hold_one(Delta<uint64_t>{base, deltas}, bits, deltas->num_buffers);
}

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

}  // namespace lance_arrow::engine
