#include "lance_arrow_codecs/lz4/codec.hpp"

#include <memory>

#include "lance_arrow_codecs/lz4/decoding.hpp"
#include "lance_arrow_codecs/lz4/encoding.hpp"

namespace lance_arrow::codecs {
namespace {

// The size as a 32-bit word, then one raw block. An empty frame is empty.
struct Lz4Frames {
  static constexpr int64_t kHead = 4, kLargestRatio = 255, kWrong = -2;

  static int64_t plain_bytes(const void*, const uint8_t* frame, int64_t size) {
    if (size == 0) return 0;
    if (size < kHead) return kWrong;
    const auto declared = static_cast<int64_t>(load<uint32_t>(frame, 0));
    return declared <= (size - kHead) * kLargestRatio ? declared : kWrong;
  }

  static LaRefusal decompress(const void*, const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes) {
    if (size == 0 && out_bytes == 0) return kDone;
    if (size < kHead || !decode_lz4_block(frame + kHead, size - kHead, out, out_bytes))
      return "an LZ4 block is malformed";
    return kDone;
  }

  static LaRefusal decompress_prefix(const void*, const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes,
                                     int64_t prefix_bytes) {
    if (size < kHead || !decode_lz4_prefix(frame + kHead, size - kHead, out, out_bytes, prefix_bytes))
      return "an LZ4 block is malformed";
    return kDone;
  }
};

struct SmallLz4Frames {
  static constexpr int64_t kHeaderBytes = 4;

  static int64_t room(const void*, int64_t num_bytes) {
    return num_bytes <= kMostSmallLz4Bytes ? kHeaderBytes + lz4_block_room(num_bytes) : -1;
  }

  static int64_t compress(const void*, const uint8_t* bytes, int64_t num_bytes, uint8_t* out) {
    store<uint32_t>(out, 0, static_cast<uint32_t>(num_bytes));
    return kHeaderBytes + encode_small_lz4_block(bytes, num_bytes, out + kHeaderBytes);
  }
};

}  // namespace

HeldFrameCodec* hold_lz4() {
  return new HeldFrameCodec{{nullptr, &Lz4Frames::plain_bytes, &Lz4Frames::decompress}, nullptr};
}

HeldFramePrefixes* hold_lz4_prefixes() { return new HeldFramePrefixes{{nullptr, &Lz4Frames::decompress_prefix}}; }

HeldFrameEncoder* hold_lz4_encoder() {
  return new HeldFrameEncoder{{nullptr, &SmallLz4Frames::room, &SmallLz4Frames::compress}, {}};
}

}  // namespace lance_arrow::codecs
