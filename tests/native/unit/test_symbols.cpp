// symbols.hpp: FSST escapes at the ends of values, tables without symbols or without a use, streams and single values.
#include "lance_arrow_codecs/fsst/symbols.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;
using tests::Bytes;
using tests::refusal;

Bytes table_of(const std::vector<std::string>& symbols, uint8_t is_used = 1) {
  Bytes table(SymbolTable::kBytes);
  std::memcpy(table.data(), "\0\0\0\1TSSF", 8);
  table[0] = static_cast<uint8_t>(symbols.size());
  table[3] = is_used;
  for (size_t code = 0; code < symbols.size(); ++code) {
    std::memcpy(&table[8 + 8 * code], symbols[code].data(), std::min<size_t>(symbols[code].size(), 8));
    table[8 + 8 * symbols.size() + code] = static_cast<uint8_t>(symbols[code].size());
  }
  return table;
}

// All values of `codes` in one column; a word for a refusal.
std::vector<std::string> decoded(const Bytes& table, const std::vector<std::string>& codes, int offset_bits = 32) {
  Bytes data;
  std::vector<int64_t> starts, sizes;
  for (const std::string& one : codes) {
    starts.push_back(tests::size_of(data));
    sizes.push_back(static_cast<int64_t>(one.size()));
    data.insert(data.end(), one.begin(), one.end());
  }
  data.shrink_to_fit();
  const CodedValues values{data.data(), tests::size_of(data), starts.data(), sizes.data(),
                           static_cast<int64_t>(codes.size())};
  int64_t total = 0;
  const Outcome measured = measure_symbols(table.data(), tests::size_of(table), values, &total);
  if (measured.message != nullptr) return {measured.message};
  Bytes out(static_cast<size_t>(total)), offsets((codes.size() + 1) * static_cast<size_t>(offset_bits / 8));
  const VariableOut place{offsets.data(), tests::size_of(offsets), offset_bits, out.data(), total};
  const Outcome outcome = expand_symbols(table.data(), tests::size_of(table), values, place);
  if (outcome.message != nullptr) return {outcome.message};
  std::vector<std::string> found;
  for (size_t value = 0; value < codes.size(); ++value) {
    const auto at = [&](size_t item) -> int64_t {
      if (offset_bits == 64) return load<int64_t>(offsets.data(), static_cast<int64_t>(item));
      return load<int32_t>(offsets.data(), static_cast<int64_t>(item));
    };
    found.emplace_back(out.begin() + at(value), out.begin() + at(value + 1));
  }
  return found;
}

const std::vector<std::string> kSymbols{"ab", "c", "defghijk"};
const std::vector<std::string> kUnknown{"a value uses codes without a symbol"};

TEST_CASE("codes stand for symbols of 1 to 8 bytes") {
  const Bytes table = table_of(kSymbols);
  const std::vector<std::string> codes{std::string("\0\1", 2), "", "\2", "\1\1\1"};
  for (const int offset_bits : {32, 64})
    CHECK(decoded(table, codes, offset_bits) == std::vector<std::string>{"abc", "", "defghijk", "ccc"});
}

TEST_CASE("an escape takes the byte behind it, even another escape, and never one of the next value") {
  const Bytes table = table_of(kSymbols);
  CHECK(decoded(table, {"\xFFz", "\xFF\xFF", "\1"}) == std::vector<std::string>{"z", "\xFF", "c"});
  CHECK(decoded(table, {"\xFF", "\1"}) == kUnknown);
  CHECK(decoded(table, {"\1\xFF", "\1"}) == kUnknown);
  CHECK(decoded(table, {"\1", "\1\xFF\xFF\xFF"}) == kUnknown);
  // The same with codes enough for the loop of eight.
  const std::string eight(8, '\1');
  CHECK(decoded(table, {eight + "\xFF", eight}) == kUnknown);
  CHECK(decoded(table, {eight + "\xFF\xFF", eight}) == std::vector<std::string>{"cccccccc\xFF", "cccccccc"});
}

TEST_CASE("a table without symbols knows escapes only") {
  const Bytes table = table_of({});
  CHECK(decoded(table, {"\xFFq\xFFr", ""}) == std::vector<std::string>{"qr", ""});
  CHECK(decoded(table, {std::string("\0", 1)}) == kUnknown);
}

TEST_CASE("a table that is not used leaves values as they are") {
  const Bytes table = table_of({}, 0);
  CHECK(decoded(table, {"\xFF", "\3ab", ""}) == std::vector<std::string>{"\xFF", "\3ab", ""});
}

TEST_CASE("tables that are none are refused") {
  SymbolTable table;
  Bytes good = table_of(kSymbols);
  const auto opened = [&](const Bytes& bytes) { return refusal(table.open(bytes.data(), tests::size_of(bytes))); };
  CHECK(opened(good) == "");
  CHECK(opened({}) == "a symbol table has the wrong size");
  CHECK(opened(Bytes(good.begin(), good.end() - 1)) == "a symbol table has the wrong size");
  CHECK(opened(table_of(kSymbols, 2)) == "a symbol table's switch is neither 0 nor 1");
  CHECK(opened(table_of({"ab", ""})) == "a symbol's length is not 1..8");
  CHECK(opened(table_of({"ab", "123456789"})) == "a symbol's length is not 1..8");
  good[4] ^= 1;
  CHECK(opened(good) == "a symbol table has the wrong signature");
}

TEST_CASE("unknown codes are found in streams and in long values") {
  const Bytes table = table_of(kSymbols);
  for (const size_t size : {1, 7, 8, 9, 63, 64, 65, 5000})
    for (const size_t place : {size_t{0}, size / 2, size - 1}) {
      std::string codes(size, '\2');
      CHECK(decoded(table, {codes, "\1"})[0].size() == 8 * size);
      codes[place] = '\3';
      CAPTURE(size);
      CHECK(decoded(table, {"\1", codes}) == kUnknown);
    }
}

TEST_CASE("values are expanded into exactly the bytes that they take") {
  const Bytes table = table_of(kSymbols);
  tests::Random random(18);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> codes, expected;
    for (int64_t value = random.below(400); value >= 0; --value) {
      codes.emplace_back();
      expected.emplace_back();
      for (int64_t left = random.below(30); left > 0; --left) {
        const int64_t code = random.below(4);
        codes.back() += code == 3 ? std::string("\xFF\xFE") : std::string(1, static_cast<char>(code));
        expected.back() += code == 3 ? "\xFE" : kSymbols[static_cast<size_t>(code)];
      }
    }
    REQUIRE(decoded(table, codes) == expected);
  }
}

TEST_CASE("a value outside its page is refused") {
  const Bytes table = table_of(kSymbols), data(4);
  int64_t total = 0;
  for (const auto& [start, size] :
       {std::pair<int64_t, int64_t>{-1, 2}, {3, 2}, {0, -1}, {INT64_MAX, 1}, {1, INT64_MAX}}) {
    const CodedValues values{data.data(), 4, &start, &size, 1};
    CHECK(refusal(measure_symbols(table.data(), tests::size_of(table), values, &total)) ==
          "a value lies outside its page");
  }
}

// The sign of what `compare` says of codes and a bound, in memory that ends 8 bytes behind the bound.
int order_of(const SymbolTable& table, const std::string& codes, std::string bound) {
  const auto size = static_cast<int64_t>(bound.size());
  bound.append(8, '\xA5');
  const auto* bytes = reinterpret_cast<const uint8_t*>(bound.data());
  const auto* own = reinterpret_cast<const uint8_t*>(codes.data());
  const int found = table.compare(own, static_cast<int64_t>(codes.size()), {bytes, size});
  return found < 0 ? -1 : found > 0 ? 1 : 0;
}

TEST_CASE("codes are compared as the values that they stand for") {
  const std::vector<std::string> symbols{"a",       "ab", "abcdefgh", std::string("\0", 1), std::string("b\0", 2),
                                         "\xff\xfe"};
  const Bytes bytes = table_of(symbols);
  SymbolTable table;
  REQUIRE(table.open(bytes.data(), tests::size_of(bytes)).message == nullptr);
  std::vector<std::pair<std::string, std::string>> coded{{"", ""}};
  for (int step = 0; step < 3; ++step) {
    const size_t count = coded.size();
    for (size_t one = 0; one < count; ++one) {
      const auto [codes, value] = coded[one];
      for (size_t code = 0; code < symbols.size(); ++code)
        coded.emplace_back(codes + static_cast<char>(code), value + symbols[code]);
      coded.emplace_back(codes + "\xff" + "b", value + "b");
      coded.emplace_back(codes + "\xff" + "\xff", value + "\xff");
    }
    if (coded.size() > 600) break;
  }
  int64_t compared = 0;
  for (const auto& [codes, value] : coded) {
    for (size_t other = 0; other < coded.size(); other += 7) {
      const std::string& bound = coded[other].second;
      const int expected = value < bound ? -1 : value > bound ? 1 : 0;
      REQUIRE(order_of(table, codes, bound) == expected);
      ++compared;
    }
  }
  CHECK(compared > 10000);
}

TEST_CASE("codes of a table that is not used are the values") {
  const Bytes bytes = table_of({}, 0);
  SymbolTable table;
  REQUIRE(table.open(bytes.data(), tests::size_of(bytes)).message == nullptr);
  CHECK(order_of(table, "abc", "abc") == 0);
  CHECK(order_of(table, "abc", "abd") == -1);
  CHECK(order_of(table, "abc", "ab") == 1);
  CHECK(table.all_known(bytes.data(), tests::size_of(bytes)));
}

}  // namespace
