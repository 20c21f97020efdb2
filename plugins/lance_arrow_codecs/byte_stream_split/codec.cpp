#include "lance_arrow_codecs/byte_stream_split/codec.hpp"

#include <memory>

#include "lance_arrow_codecs/byte_stream_split/streams.hpp"

namespace lance_arrow::codecs {
namespace {

// Byte b of every value of a chunk in stream b.
template <class T>
struct ByteStreams {
  static LaRefusal select(const void*, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    constexpr auto width = static_cast<int64_t>(sizeof(T));
    // With fewer values wanted than one in so many, reaching each singly beats putting all together.
    constexpr int64_t few = 16;
    const uint8_t* bytes = chunk->buffers[0];
    const int64_t count = chunk->num_values;
    if (chunk->sizes[0] % width != 0 || chunk->sizes[0] / width != count || !runs_fit(*runs, count))
      return "byte streams have another size than their values";
    if (num_selected(*runs) > count / few)
      return select_decoded(*chunk, width, *runs, out, [&](uint8_t* to, int64_t) {
        join_streams<width>(bytes, count, width, to);
        return success();
      });
    uint8_t* to = out->values;
    for (int64_t run = 0; run < runs->num_runs; ++run)
      for (int64_t value = runs->starts[run]; value < runs->stops[run]; ++value, to += width)
        for (int64_t stream = 0; stream < width; ++stream) to[stream] = bytes[stream * count + value];
    return kDone;
  }
};

}  // namespace

HeldChunkCodec* hold_byte_streams(int64_t bits) {
  switch (bits) {
    case 32: return hold(std::make_shared<ByteStreams<uint32_t>>(), bits, 1, 0);
    case 64: return hold(std::make_shared<ByteStreams<uint64_t>>(), bits, 1, 0);
    default: return nullptr;
  }
}

}  // namespace lance_arrow::codecs
