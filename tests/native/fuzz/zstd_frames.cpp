// Heads of Zstandard frames, which decide what a library is given to decode, and into how much memory.
#include <memory>
#include <numeric>

#include "engine/bind/compressed_chunks.hpp"
#include "input.hpp"
#include "lance_arrow_codecs/zstd/codec.hpp"
#include "lance_arrow_codecs/zstd/frames.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

// Stands for a library: touches all that it was promised.
bool touch(const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes) {
  const uint64_t sum = std::accumulate(frame, frame + size, uint64_t{0});
  std::fill(out, out + out_bytes, static_cast<uint8_t>(sum));
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const fuzz::Buffer frame = input.rest();
  static const std::unique_ptr<HeldFrameCodec> held(hold_zstd(touch));
  const LaFrameCodec& frames = *held;
  const int64_t declared = frames.plain_bytes(frames.self, frame.data(), frame.size);
  if (declared < 0 || declared > 1 << 20) return 0;
  fuzz::Buffer out(declared);
  const bool is_good = frames.decompress(frames.self, frame.data(), frame.size, out.data(), declared) == nullptr;
  if (!is_good || frame.size == 0) return 0;
  const ZstdFrame found = zstd_frame(frame.data(), frame.size);
  fuzz::require(found.bytes == frame.data() || found.bytes == frame.data() + 8, "a frame begins behind its size");
  fuzz::require(found.bytes + found.size == frame.data() + frame.size, "a frame ends where its bytes do");
  for (int64_t less = 1; less < std::min(found.size, int64_t{32}); ++less)
    fuzz::require(!is_zstd_frame_of({found.bytes, found.size - less, declared}, declared), "a cut frame is no frame");
  return 0;
}
