#include "lance_arrow_codecs/zstd/frames.hpp"

#include "lance_arrow/variable.hpp"
#include "lance_arrow_native.h"

namespace lance_arrow::codecs {

namespace {

constexpr int64_t kWord = 8, kMagicBytes = 4, kBlockHead = 3, kMostOfBlock = 128 << 10, kUnknown = LA_UNTOLD,
                  kWrong = -2;
constexpr uint32_t kMagic = 0xFD2FB528;
// Bits of the byte behind the magic.
constexpr uint8_t kOneSegment = 0x20, kUnused = 0x10, kReserved = 0x08, kChecksum = 0x04;

struct Head {
  int64_t content;  // kUnknown where the head does not tell it, kWrong where it is no head
  int64_t size;
  bool has_checksum;
};

Head head_of(const uint8_t* frame, int64_t size) {
  const Head wrong{kWrong, 0, false};
  if (size <= kMagicBytes || load<uint32_t>(frame, 0) != kMagic) return wrong;
  const uint8_t descriptor = frame[kMagicBytes];
  if ((descriptor & kReserved) != 0) return wrong;
  const bool is_one_segment = (descriptor & kOneSegment) != 0;
  constexpr int64_t of_dictionary[] = {0, 1, 2, 4};
  const int64_t of_content[] = {is_one_segment ? 1 : 0, 2, 4, 8};
  const int64_t content_bytes = of_content[descriptor >> 6];
  const int64_t at = kMagicBytes + 1 + (is_one_segment ? 0 : 1) + of_dictionary[descriptor & 3];
  Head head{kUnknown, at + content_bytes, (descriptor & kChecksum) != 0};
  if (head.size > size) return wrong;
  switch (content_bytes) {
    case 1: head.content = frame[at]; break;
    case 2: head.content = int64_t{load<uint16_t>(frame + at, 0)} + 256; break;
    case 4: head.content = load<uint32_t>(frame + at, 0); break;
    case 8: {
      const auto content = load<uint64_t>(frame + at, 0);
      if (content > static_cast<uint64_t>(INT64_MAX)) return wrong;
      head.content = static_cast<int64_t>(content);
      break;
    }
    default: break;
  }
  return head;
}

}  // namespace

ZstdFrame zstd_frame(const uint8_t* bytes, int64_t size) {
  // Every frame leaves a bit of its descriptor clear: where it is set, the magic is a size.
  const bool begins = size >= kMagicBytes && load<uint32_t>(bytes, 0) == kMagic;
  if (size < kWord || (begins && (bytes[kMagicBytes] & kUnused) == 0)) return {bytes, size, kUnknown};
  const auto declared = load<uint64_t>(bytes, 0);
  const int64_t content = declared > static_cast<uint64_t>(INT64_MAX) ? kWrong : static_cast<int64_t>(declared);
  return {bytes + kWord, size - kWord, content};
}

int64_t zstd_plain_bytes(const ZstdFrame& frame) {
  const int64_t content = frame.declared == kUnknown ? head_of(frame.bytes, frame.size).content : frame.declared;
  return content <= (frame.size / kBlockHead + 1) * kMostOfBlock ? content : kWrong;
}

bool is_zstd_frame_of(const ZstdFrame& frame, int64_t content) {
  const Head head = head_of(frame.bytes, frame.size);
  if (head.content != content && head.content != kUnknown) return false;
  for (int64_t at = head.size; frame.size - at >= kBlockHead;) {
    const uint8_t* block = frame.bytes + at;
    const int64_t told = block[0] | block[1] << 8 | block[2] << 16;
    const int64_t kind = told >> 1 & 3;  // as they are, one byte repeated, compressed
    const int64_t stored = kind == 1 ? 1 : told >> 3;
    if (kind == 3 || stored > frame.size - at - kBlockHead) return false;
    at += kBlockHead + stored;
    if ((told & 1) != 0) return frame.size - at == (head.has_checksum ? 4 : 0);
  }
  return false;
}

}  // namespace lance_arrow::codecs
