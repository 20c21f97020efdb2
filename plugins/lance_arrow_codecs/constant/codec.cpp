#include "lance_arrow_codecs/constant/codec.hpp"

#include <memory>

#include "lance_arrow/bits.hpp"

namespace lance_arrow::codecs {
namespace {

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

}  // namespace lance_arrow::codecs
