// FSST: any table, any codes, values anywhere; compared with a decoder that takes one code at a time.
#include "lance_arrow_codecs/fsst/symbols.hpp"

#include <optional>

#include "input.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

std::optional<std::vector<uint8_t>> decode_slowly(const fuzz::Buffer& table, const uint8_t* codes, int64_t size) {
  std::vector<uint8_t> out;
  const int num_symbols = table.data()[0];
  if (table.data()[3] == 0) return std::vector<uint8_t>(codes, codes + size);
  for (int64_t at = 0; at < size; ++at) {
    if (codes[at] == 255) {
      if (++at == size) return std::nullopt;
      out.push_back(codes[at]);
      continue;
    }
    if (codes[at] >= num_symbols) return std::nullopt;
    const uint8_t* symbol = table.data() + 8 + 8 * codes[at];
    out.insert(out.end(), symbol, symbol + table.data()[8 + 8 * num_symbols + codes[at]]);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  // Where the table should be well-formed, symbols and sizes are the input's; else the table's bytes are.
  fuzz::Buffer table(input.number(0, 31) == 0 ? input.number(0, 3000) : SymbolTable::kBytes);
  if (input.flag() && table.size == SymbolTable::kBytes) {
    const int64_t num_symbols = input.number(0, 255);
    const uint64_t spread = input.raw(8);
    const auto code = [](int64_t at) { return static_cast<uint8_t>(at); };
    std::memcpy(table.data(), "\0\0\0\1TSSF", 8);
    table.data()[0] = code(num_symbols);
    for (int64_t at = 0; at < num_symbols; ++at) {
      for (int64_t byte = 0; byte < 8; ++byte) table.data()[8 + 8 * at + byte] = code(at * 31 + byte);
      table.data()[8 + 8 * num_symbols + at] = code(1 + ((spread >> (at % 57)) & 7));
    }
  } else {
    const fuzz::Buffer head = input.counted();
    std::memcpy(table.data(), head.data(), static_cast<size_t>(std::min(head.size, table.size)));
  }
  const int64_t num_values = input.number(1, 40);
  std::vector<int64_t> starts, sizes;
  const bool is_stream = input.flag();
  int64_t at = 0;
  for (int64_t value = 0; value < num_values; ++value) {
    starts.push_back(is_stream ? at : input.number(-1, 0x7FFF));
    sizes.push_back(input.number(0, is_stream ? 100 : 0xFFF));
    at += sizes.back();
  }
  const fuzz::Buffer codes = input.rest();
  const CodedValues values{codes.data(), codes.size, starts.data(), sizes.data(), num_values};

  SymbolTable opened;
  const bool opens = opened.open(table.data(), table.size).message == nullptr;
  int64_t total = -1;
  const bool measures = measure_symbols(table.data(), table.size, values, &total).message == nullptr;
  fuzz::require(opens || !measures, "a bad table measures nothing");
  if (!opens) return 0;

  std::vector<uint8_t> expected;
  std::vector<int64_t> ends{0};
  bool is_good = true;
  for (int64_t value = 0; value < num_values && is_good; ++value) {
    is_good = values.holds(value);
    if (!is_good) break;
    const auto one =
        decode_slowly(table, codes.data() + starts[static_cast<size_t>(value)], sizes[static_cast<size_t>(value)]);
    is_good = one.has_value();
    if (is_good) expected.insert(expected.end(), one->begin(), one->end());
    ends.push_back(static_cast<int64_t>(expected.size()));
  }
  fuzz::require(measures == is_good, "values are measured where each is good");
  if (!measures) return 0;
  fuzz::require(total == static_cast<int64_t>(expected.size()), "values have as many bytes as was measured");
  // As much room as measured, or more, so that whole symbols can be written at the end too.
  fuzz::Buffer out(total + (input.flag() ? 64 : 0));
  fuzz::Buffer offsets((num_values + 1) * 8);
  const Outcome outcome =
      expand_symbols(table.data(), table.size, values, {offsets.data(), offsets.size, 64, out.data(), out.size});
  fuzz::require(outcome.message == nullptr, "what was measured can be expanded");
  fuzz::require(std::equal(expected.begin(), expected.end(), out.data()), "both decoders give the same bytes");
  fuzz::require(std::memcmp(ends.data(), offsets.data(), static_cast<size_t>(offsets.size)) == 0,
                "values end where they should");
  return 0;
}
