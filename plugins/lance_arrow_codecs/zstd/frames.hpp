// Zstandard frames behind their size, or without one (RFC 8878, 3.1.1): their heads, before a library decodes the rest.
#pragma once

#include <cstdint>

namespace lance_arrow::codecs {

struct ZstdFrame {
  const uint8_t* bytes;  // of the standard frame
  int64_t size;
  int64_t declared;  // bytes of the content, as the word before the frame says; -1 without one
};

// Tells the word from the frame: some writers leave it out.
ZstdFrame zstd_frame(const uint8_t* bytes, int64_t size);

// Bytes of the content, by the word or by the frame's own head; negative where neither tells, or where so few bytes
// cannot hold so many.
int64_t zstd_plain_bytes(const ZstdFrame& frame);

// Whether the bytes are just one frame, block behind block, whose head says nothing else than so many bytes of content.
bool is_zstd_frame_of(const ZstdFrame& frame, int64_t content);

}  // namespace lance_arrow::codecs
