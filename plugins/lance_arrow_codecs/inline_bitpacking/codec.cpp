#include "lance_arrow_codecs/inline_bitpacking/codec.hpp"

#include <memory>

#include "lance_arrow/fastlanes.hpp"

namespace lance_arrow::codecs {
namespace {

template <class T>
struct InlineBitpacking {
  static LaRefusal select(const void*, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    constexpr int64_t width = sizeof(T);
    // Below this many values, reaching each singly beats unpacking all 1024.
    constexpr int64_t few = 48;
    const uint8_t* bytes = chunk->buffers[0];
    const int64_t size = chunk->sizes[0];
    if (chunk->num_values > kBlockValues || !runs_fit(*runs, chunk->num_values) || size < width)
      return "a bit-packed chunk contradicts its number of values";
    const T packed_bits = load<T>(bytes, 0);
    if (packed_bits > 8 * width || size != width + 128 * static_cast<int64_t>(packed_bits))
      return "a bit-packed chunk's size contradicts its bit width";
    const int64_t wanted = num_selected(*runs);
    if (wanted == kBlockValues) {
      Unpackers<T>::table[packed_bits](bytes + width, out->values);
      return kDone;
    }
    if (wanted > few) {
      alignas(64) uint8_t whole[kBlockValues * sizeof(T)];
      Unpackers<T>::table[packed_bits](bytes + width, whole);
      copy_fixed_runs(whole, width, *runs, out->values);
      return kDone;
    }
    // Values lie in lines of memory of their own: all are asked for before the first is waited for.
    PackedPlace places[few];
    int64_t count = 0;
    const auto bits = static_cast<int>(packed_bits);
    for (int64_t run = 0; run < runs->num_runs; ++run)
      for (int64_t value = runs->starts[run]; value < runs->stops[run]; ++value) {
        places[count] = packed_place<T>(bits, value);
        prefetch_packed<T>(bytes + width, bits, places[count++]);
      }
    for (int64_t at = 0; at < count; ++at) store<T>(out->values, at, packed_value<T>(bytes + width, bits, places[at]));
    return kDone;
  }
};

// The width of a chunk bounds its numbers, which have no sign but in the full width.
template <class T>
struct PackedBounds {
  static LaRefusal summarise(const void*, const LaChunk* chunk, int64_t kind, uint64_t* least, uint64_t* greatest) {
    if (chunk->sizes[0] < static_cast<int64_t>(sizeof(T))) return LA_LEFT;
    const T packed_bits = load<T>(chunk->buffers[0], 0);
    // What contradicts itself is refused where it is decoded.
    if (packed_bits > 8 * sizeof(T) || (packed_bits == 8 * sizeof(T) && kind == LA_SIGNED) ||
        chunk->sizes[0] != static_cast<int64_t>(sizeof(T)) + 128 * static_cast<int64_t>(packed_bits) ||
        chunk->num_values > kBlockValues)
      return LA_LEFT;
    *least = 0;
    *greatest = packed_bits == 0 ? 0 : ~uint64_t{0} >> (64 - static_cast<int>(packed_bits));
    return kDone;
  }
};

}  // namespace

HeldChunkMarks* hold_packed_bounds(int64_t bits) {
  switch (bits) {
    case 8: return hold_marks(PackedBounds<uint8_t>{});
    case 16: return hold_marks(PackedBounds<uint16_t>{});
    case 32: return hold_marks(PackedBounds<uint32_t>{});
    case 64: return hold_marks(PackedBounds<uint64_t>{});
    default: return nullptr;
  }
}

HeldChunkCodec* hold_inline_bitpacking(int64_t bits) {
  switch (bits) {
    case 8: return hold(std::make_shared<InlineBitpacking<uint8_t>>(), bits, 1, 0);
    case 16: return hold(std::make_shared<InlineBitpacking<uint16_t>>(), bits, 1, 0);
    case 32: return hold(std::make_shared<InlineBitpacking<uint32_t>>(), bits, 1, 0);
    case 64: return hold(std::make_shared<InlineBitpacking<uint64_t>>(), bits, 1, 0);
    default: return nullptr;
  }
}

}  // namespace lance_arrow::codecs
