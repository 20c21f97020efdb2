// The C tables of zipped values (LaValueCodec) and of stored Zstandard frames (LaStoredValues): any places in any
// bytes.
#include <memory>

#include "engine/bind/codec_holders.hpp"
#include "input.hpp"
#include "lance_arrow/codec_tables.hpp"
#include "lance_arrow_codecs/fsst/codec.hpp"
#include "lance_arrow_codecs/fsst/symbols.hpp"
#include "lance_arrow_codecs/zstd/codec.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using namespace lance_arrow;
using namespace lance_arrow::codecs;
using namespace lance_arrow::engine;

constexpr int64_t kMostBytes = 1 << 22;

uint8_t* reserve(void* host, int64_t end, int64_t num_bytes) {
  auto& bytes = *static_cast<std::vector<uint8_t>*>(host);
  if (num_bytes < 0 || num_bytes > kMostBytes - end) return nullptr;
  bytes.resize(static_cast<size_t>(end));
  bytes.shrink_to_fit();
  bytes.reserve(static_cast<size_t>(end + num_bytes) + (end + num_bytes == 0));
  bytes.resize(static_cast<size_t>(end + num_bytes));
  return bytes.data() + end;
}

void expand(fuzz::Input& input) {
  constexpr int64_t widths[] = {0, 0, 8, 16, 32, 64, 128, 24};
  const int64_t bits = input.one_of(widths);
  fuzz::Buffer table(SymbolTable::kBytes);
  const bool has_table = bits == 0 && input.flag();
  if (has_table) {
    const fuzz::Buffer head = input.counted();
    std::memcpy(table.data(), head.data(), static_cast<size_t>(std::min(head.size, table.size)));
  }
  Outcome outcome;
  const std::unique_ptr<HeldValueCodec> codec(has_table ? hold_zipped_symbols(table.data(), table.size, &outcome)
                                                        : hold_plain_values(bits));
  if (codec == nullptr) return;
  const int64_t num_values = input.number(1, 64);
  std::vector<int64_t> shares(static_cast<size_t>(2 * num_values));
  for (int64_t& share : shares) share = input.number(0, 0xFFFF);
  const fuzz::Buffer data = input.rest();
  // The engine has checked that each value lies inside the data.
  std::vector<int64_t> starts, sizes;
  for (int64_t value = 0; value < num_values; ++value) {
    const int64_t start = shares[static_cast<size_t>(2 * value)] % (data.size + 1);
    starts.push_back(start);
    sizes.push_back(std::min(data.size - start,
                             bits != 0 && value % 8 != 7 ? bits / 8 : shares[static_cast<size_t>(2 * value + 1)]));
  }
  fuzz::Buffer fixed(num_values * bits / 8);
  std::vector<uint8_t> bytes;
  std::vector<int64_t> ends(static_cast<size_t>(num_values));
  LaValues out{fixed.data(), 0, ends.data(), 0, &reserve, &bytes};
  if (codec->expand(codec->self, data.data(), starts.data(), sizes.data(), num_values, &out) != nullptr) return;
  int64_t start = 0;
  for (size_t value = 0; bits == 0 && value < ends.size(); ++value) {
    fuzz::require(ends[value] >= start && ends[value] <= out.end, "ends ascend");
    if (codec->is_plain != 0) fuzz::require(ends[value] - start == sizes[value], "plain values keep their size");
    start = ends[value];
  }
}

void look_at_frames(fuzz::Input& input) {
  const std::unique_ptr<HeldStoredValues> codec(hold_stored_zstd(input.number(0, 1 << 20)));
  const int64_t size = input.number(0, 1 << 18);
  const int64_t head_bytes = codec->head_bytes(codec->self, size);
  if (head_bytes < 0) return;
  fuzz::require(head_bytes <= size, "a head is part of its value");
  fuzz::Buffer head(head_bytes);
  const fuzz::Buffer found = input.rest();
  std::memcpy(head.data(), found.data(), static_cast<size_t>(std::min(found.size, head.size)));
  codec->is_stored(codec->self, head.data(), size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  if (input.number(0, 7) == 0) look_at_frames(input);
  else expand(input);
  return 0;
}
