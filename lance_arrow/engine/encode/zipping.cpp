#include "engine/encode/zipping.hpp"

#include <type_traits>

namespace lance_arrow::engine {

namespace {

// Word is void where there are no control words, Length where values have one width.
template <class Word, class Length>
Outcome zip_as(const ZipLevels& levels, const ZipValues& values, const ZipStream& out, int64_t* written) {
  constexpr int64_t kWord = [] {
    if constexpr (std::is_void_v<Word>) return int64_t{0};
    else return static_cast<int64_t>(sizeof(Word));
  }();
  constexpr int64_t kPrefix = [] {
    if constexpr (std::is_void_v<Length>) return int64_t{0};
    else return static_cast<int64_t>(sizeof(Length));
  }();
  int64_t at = 0, value = 0, row = 0;
  for (int64_t entry = 0; entry < levels.num_entries; ++entry) {
    const uint32_t rep = levels.rep == nullptr ? 0 : levels.rep[entry];
    const uint32_t def = levels.def == nullptr ? 0 : levels.def[entry];
    if (out.row_starts != nullptr && (levels.rep == nullptr || static_cast<int>(rep) == levels.max_rep)) {
      if (row + 1 >= out.num_row_starts) return misuse("there are more rows than row starts", entry);
      out.row_starts[row++] = at;
    }
    if (kWord + kPrefix > out.num_bytes - at) return misuse("the output is too small for the entries", entry);
    if constexpr (kWord != 0) {
      const auto word = static_cast<Word>(rep << levels.bits_def | def);
      std::memcpy(out.bytes + at, &word, sizeof(word));
      at += kWord;
    }
    if (levels.max_visible >= 0 && static_cast<int>(def) > levels.max_visible) continue;
    if (value == values.num_values) return misuse("there are more visible entries than values", entry);
    int64_t start = value * values.value_bytes, size = values.value_bytes;
    if constexpr (kPrefix != 0) {
      start = values.offsets[value];
      size = values.offsets[value + 1] - start;
    }
    ++value;
    if constexpr (kPrefix != 0) {
      if (def != 0) continue;
      if (!inside(start, size, values.data_bytes)) return misuse("a value leaves its data", entry);
      if (static_cast<uint64_t>(size) > static_cast<uint64_t>(static_cast<Length>(~Length{0})))
        return misuse("a value is too long for its length", entry);
      const auto length = static_cast<Length>(size);
      std::memcpy(out.bytes + at, &length, sizeof(length));
      at += kPrefix;
    }
    if (size > out.num_bytes - at) return misuse("the output is too small for the entries", entry);
    copy_bytes(out.bytes + at, values.data + start, size);
    at += size;
  }
  if (value != values.num_values) return misuse("there are fewer visible entries than values");
  if (out.row_starts != nullptr) {
    if (row + 1 != out.num_row_starts) return misuse("there are fewer rows than row starts");
    out.row_starts[row] = at;
  }
  *written = at;
  return success();
}

}  // namespace

Outcome zip_entries(const ZipLevels& levels, const ZipValues& values, const ZipStream& out, int bits_rep,
                    int length_bits, int64_t* written) {
  if (bits_rep < 0 || bits_rep > 16 || levels.bits_def < 0 || levels.bits_def > 16)
    return misuse("levels have at most 16 bits");
  if (length_bits != 0 && length_bits != 32 && length_bits != 64) return misuse("lengths have 32 or 64 bits");
  if ((length_bits != 0) != (values.offsets != nullptr)) return misuse("lengths and offsets belong together");
  if (values.value_bytes < 0 ||
      (length_bits == 0 && values.value_bytes != 0 && values.num_values > values.data_bytes / values.value_bytes))
    return misuse("the values leave their data");
  const auto pick = [&]<class Word>() {
    if (length_bits == 32) return zip_as<Word, uint32_t>(levels, values, out, written);
    if (length_bits == 64) return zip_as<Word, uint64_t>(levels, values, out, written);
    return zip_as<Word, void>(levels, values, out, written);
  };
  const int bits = bits_rep + levels.bits_def;
  if (bits == 0) return pick.template operator()<void>();
  if (bits <= 8) return pick.template operator()<uint8_t>();
  if (bits <= 16) return pick.template operator()<uint16_t>();
  return pick.template operator()<uint32_t>();
}

}  // namespace lance_arrow::engine
