// Raw LZ4 blocks and frames, compared with a decoder that copies one byte at a time.
#include <memory>

#include "engine/bind/compressed_chunks.hpp"
#include "input.hpp"
#include "lance_arrow_codecs/lz4/codec.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

constexpr int64_t kHeadBytes = 4;  // the size of what the block holds

// False for a malformed block, or one of another size than the room. Source: the LZ4 block format.
bool decode_slowly(const uint8_t* block, int64_t size, std::vector<uint8_t>& out, int64_t room) {
  int64_t at = 0;
  const auto length = [&](int64_t nibble, bool* ends) {
    int64_t total = nibble;
    for (int64_t byte = 255; nibble == 15 && byte == 255; total += byte) {
      if (at == size) return *ends = true, total;
      byte = block[at++];
    }
    return total;
  };
  bool ends = false;
  while (at < size) {
    const uint8_t token = block[at++];
    for (int64_t left = length(token >> 4, &ends); left > 0; --left) {
      if (ends || at == size || static_cast<int64_t>(out.size()) == room) return false;
      out.push_back(block[at++]);
    }
    if (ends) return false;
    if (at == size) return static_cast<int64_t>(out.size()) == room;
    if (size - at < 2) return false;
    const size_t offset = static_cast<size_t>(block[at] | block[at + 1] << 8);
    at += 2;
    if (offset == 0 || offset > out.size()) return false;
    const int64_t match = length(token & 15, &ends) + 4;
    if (ends || match > room - static_cast<int64_t>(out.size())) return false;
    for (int64_t left = match; left > 0; --left) out.push_back(out[out.size() - offset]);
  }
  return false;
}

// The first bytes of a frame are the same, whether the rest is decompressed or not.
void check_prefixes(const fuzz::Buffer& frame, const fuzz::Buffer& whole, bool is_good) {
  static const std::unique_ptr<HeldFramePrefixes> prefixes(hold_lz4_prefixes());
  for (const int64_t wanted : {int64_t{0}, whole.size / 3, whole.size}) {
    fuzz::Buffer out(whole.size);
    const bool is_prefix =
        prefixes->decompress(prefixes->self, frame.data(), frame.size, out.data(), whole.size, wanted) == nullptr;
    if (!is_good || frame.size < kHeadBytes) continue;
    fuzz::require(is_prefix, "what is decompressed as a whole has a beginning");
    fuzz::require(fuzz::same(whole, out, wanted), "both decoders give the same first bytes");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const fuzz::Buffer frame = input.rest();
  static const std::unique_ptr<HeldFrameCodec> frames(hold_lz4());
  const int64_t declared = frames->plain_bytes(frames->self, frame.data(), frame.size);
  if (declared < 0 || declared > 1 << 20) return 0;
  fuzz::require(declared <= 255 * frame.size, "a frame declares what its bytes can hold");
  fuzz::Buffer out(declared);
  const bool is_good = frames->decompress(frames->self, frame.data(), frame.size, out.data(), out.size) == nullptr;
  check_prefixes(frame, out, is_good);
  if (frame.size < kHeadBytes) return fuzz::require(is_good == (frame.size == 0), "only nothing is a short frame"), 0;
  std::vector<uint8_t> slowly;
  const bool is_expected = decode_slowly(frame.data() + kHeadBytes, frame.size - kHeadBytes, slowly, declared);
  fuzz::require(is_good == is_expected, "both decoders accept the same blocks");
  if (is_good) fuzz::require(std::equal(slowly.begin(), slowly.end(), out.data()), "both decoders give the same bytes");
  return 0;
}
