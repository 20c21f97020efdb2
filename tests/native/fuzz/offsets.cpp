// Offsets of values of any length, in chunks and in blocks: measured, located, decoded; and the check of UTF-8.
//
// Promises: what can be measured can be decoded into exactly so many bytes, and located at the same ones.
#include "lance_arrow_codecs/variable/offsets.hpp"

#include "engine/common/utf8.hpp"
#include "engine/decode/located_values.hpp"
#include "input.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

template <VariableForm form>
void decode(const Chunks& chunks, int64_t num_values, int stored_bits, int offset_bits) {
  int64_t total = 0;
  if (measure_variable<form>(chunks, stored_bits, &total).message != nullptr || total > 1 << 22) return;
  fuzz::Buffer offsets((num_values + 1) * (offset_bits / 8)), data(total);
  const VariableOut out{offsets.data(), offsets.size, offset_bits, data.data(), data.size};
  fuzz::require(decode_variable<form>(chunks, stored_bits, out).message == nullptr,
                "what can be measured can be decoded");
  std::vector<int64_t> starts(static_cast<size_t>(num_values)), sizes(starts);
  fuzz::require(locate_variable<form>(chunks, stored_bits, starts.data(), sizes.data(), num_values).message == nullptr,
                "what can be measured can be located");
  fuzz::Buffer again_offsets(offsets.size), again(total);
  const VariableOut second{again_offsets.data(), offsets.size, offset_bits, again.data(), total};
  fuzz::require(
      decode_variable_values(chunks.data, chunks.data_bytes, starts.data(), sizes.data(), num_values, second).message ==
          nullptr,
      "located values lie in the data");
  fuzz::require(fuzz::same(offsets, again_offsets, offsets.size) && fuzz::same(data, again, total),
                "values are the same one by one");
  check_utf8({offsets.data(), offsets.size, offset_bits}, data.data(), data.size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const int64_t num_chunks = input.number(0, 4);
  std::vector<int64_t> starts, sizes, value_starts{0};
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    starts.push_back(input.number(-1, 1000));
    sizes.push_back(input.number(-1, 1000));
    value_starts.push_back(value_starts.back() + input.number(0, 60));
  }
  const int stored_bits = input.flag() ? 64 : 32, offset_bits = input.flag() ? 64 : 32;
  const bool is_block = input.flag(), is_text = input.flag();
  fuzz::Buffer bytes = input.rest();
  if (is_text) {
    check_utf8({bytes.data(), bytes.size / 2, offset_bits}, bytes.data() + bytes.size / 2, bytes.size - bytes.size / 2);
    return 0;
  }
  const Chunks chunks{bytes.data(), bytes.size, starts.data(), sizes.data(), value_starts.data(), num_chunks};
  if (is_block) decode<VariableForm::kBlock>(chunks, value_starts.back(), stored_bits, offset_bits);
  else decode<VariableForm::kChunk>(chunks, value_starts.back(), stored_bits, offset_bits);
  return 0;
}
