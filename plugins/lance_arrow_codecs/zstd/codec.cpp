#include "lance_arrow_codecs/zstd/codec.hpp"

#include <algorithm>
#include <memory>

#include "lance_arrow_codecs/zstd/frames.hpp"

namespace lance_arrow::codecs {
namespace {

// The size as a 64-bit word, which some writers leave out, then a standard frame. An empty frame is empty.
struct ZstdFrames {
  DecodeFrame decode;

  static int64_t plain_bytes(const void*, const uint8_t* frame, int64_t size) {
    return size == 0 ? 0 : zstd_plain_bytes(zstd_frame(frame, size));
  }

  static LaRefusal decompress(const void* self, const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes) {
    if (size == 0 && out_bytes == 0) return kDone;
    const ZstdFrame found = zstd_frame(frame, size);
    if (!is_zstd_frame_of(found, out_bytes) ||
        !static_cast<const ZstdFrames*>(self)->decode(found.bytes, found.size, out, out_bytes))
      return "a zstd frame is malformed, or contradicts its declared size";
    return kDone;
  }
};

// Zstandard frames after their size, of one uncompressed block: typical for images and other compressed values. A frame
// of one segment stores its content size in 2 or 4 bytes (RFC 8878, 3.1.1.1). A block has at most 128 KiB.
struct StoredZstd {
  static constexpr int64_t kShortHead = 18, kLongHead = 20, kLeast = 256, kMostShort = 256 + 0xFFFF, kMost = 128 << 10;

  int64_t most_bytes;  // of a value: larger ones are for `expand` to refuse

  static int64_t head_bytes(const void* self, int64_t size) {
    const int64_t most = std::min(static_cast<const StoredZstd*>(self)->most_bytes, kMost);
    const int64_t head = size <= kShortHead + kMostShort ? kShortHead : kLongHead;
    const int64_t content = size - head;
    return content >= (head == kShortHead ? kLeast : kMostShort + 1) && content <= most ? head : -1;
  }

  static int64_t is_stored(const void* self, const uint8_t* head, int64_t size) {
    constexpr uint32_t magic = 0xFD2FB528;
    constexpr uint8_t one_segment = 0x20, two_bytes = 0x40, four_bytes = 0x80;
    constexpr uint32_t last_stored_block = 1;  // the last block, its type 0: raw
    const int64_t head_size = head_bytes(self, size);
    if (head_size < 0) return 0;
    const bool is_short = head_size == kShortHead;
    const auto content = static_cast<uint64_t>(size - head_size);
    const uint8_t descriptor = one_segment | (is_short ? two_bytes : four_bytes);
    const uint64_t told = is_short ? load<uint16_t>(head + 13, 0) + uint64_t{kLeast} : load<uint32_t>(head + 13, 0);
    const uint8_t* block = head + head_size - 3;
    const uint32_t block_head = block[0] | uint32_t{block[1]} << 8 | uint32_t{block[2]} << 16;
    return load<uint64_t>(head, 0) == content && load<uint32_t>(head + 8, 0) == magic && head[12] == descriptor &&
           told == content && block_head == (content << 3 | last_stored_block);
  }
};

}  // namespace

HeldFrameCodec* hold_zstd(DecodeFrame decode) {
  auto form = std::make_shared<ZstdFrames>(ZstdFrames{decode});
  return new HeldFrameCodec{{form.get(), &ZstdFrames::plain_bytes, &ZstdFrames::decompress}, form};
}

HeldStoredValues* hold_stored_zstd(int64_t most_bytes) {
  auto form = std::make_shared<StoredZstd>(StoredZstd{most_bytes});
  return new HeldStoredValues{{form.get(), &StoredZstd::head_bytes, &StoredZstd::is_stored}, form};
}

}  // namespace lance_arrow::codecs
