#include "engine/decode/json_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "engine/common/utf8.hpp"

namespace lance_arrow::engine {

namespace {

constexpr uint32_t kArray = 0x80000000, kObject = 0x40000000, kScalar = 0x20000000;
constexpr uint32_t kCountBits = 0x1FFFFFFF, kSizeBits = 0x0FFFFFFF;
constexpr uint32_t kNull = 0, kString = 0x10000000, kNumber = 0x20000000, kFalse = 0x30000000, kTrue = 0x40000000,
                   kContainer = 0x50000000;

uint32_t word_at(const uint8_t* place) {
  return uint32_t{place[0]} << 24 | uint32_t{place[1]} << 16 | uint32_t{place[2]} << 8 | uint32_t{place[3]};
}

// A big-endian number of 1, 2, 4 or 8 bytes; its sign in the first bit where it has one.
uint64_t integer_at(const uint8_t* place, int64_t width, bool is_signed) {
  uint64_t found = is_signed && (place[0] & 0x80) != 0 ? UINT64_MAX : 0;
  for (int64_t i = 0; i < width; ++i) found = found << 8 | place[i];
  return found;
}

bool is_width(int64_t width) { return width == 1 || width == 2 || width == 4 || width == 8; }

template <class Number>
void append_integer(Number value, std::string* out) {
  char digits[24];
  out->append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

// The fewest digits that mean a finite double, as `d.ddde+xx`.
std::string_view scientific(double value, char (&digits)[40]) {
#if defined(__cpp_lib_to_chars)
  const char* end = std::to_chars(digits, digits + sizeof(digits), value, std::chars_format::scientific).ptr;
  return {digits, static_cast<size_t>(end - digits)};
#else
  int size = 0;
  for (int precision = 0; precision <= 16; ++precision) {
    size = std::snprintf(digits, sizeof(digits), "%.*e", precision, value);
    if (std::strtod(digits, nullptr) == value) break;
  }
  return {digits, static_cast<size_t>(size)};
#endif
}

void append_double(double value, std::string* out) {
  if (!std::isfinite(value)) {
    out->append("null");
    return;
  }
  char buffer[40];
  std::string_view text = scientific(value, buffer);
  if (text.front() == '-') {
    out->push_back('-');
    text.remove_prefix(1);
  }
  const size_t mark = text.find('e');
  int exponent = 0;
  for (const char one : text.substr(mark + 2)) exponent = 10 * exponent + (one - '0');
  if (text[mark + 1] == '-') exponent = -exponent;
  char digits[24];
  int num_digits = 0;
  for (const char one : text.substr(0, mark))
    if (one >= '0' && one <= '9') digits[num_digits++] = one;
  if (exponent < -5 || exponent > 15) {
    out->push_back(digits[0]);
    if (num_digits > 1) out->append(".").append(digits + 1, static_cast<size_t>(num_digits - 1));
    out->append(exponent < 0 ? "e-" : "e+");
    append_integer(std::abs(exponent), out);
    return;
  }
  if (exponent < 0) {
    out->append("0.").append(static_cast<size_t>(-exponent - 1), '0').append(digits, static_cast<size_t>(num_digits));
    return;
  }
  const int whole = exponent + 1;
  if (num_digits <= whole) {
    out->append(digits, static_cast<size_t>(num_digits)).append(static_cast<size_t>(whole - num_digits), '0');
    out->append(".0");
    return;
  }
  out->append(digits, static_cast<size_t>(whole)).append(".");
  out->append(digits + whole, static_cast<size_t>(num_digits - whole));
}

// A big-endian integer of 8, 16 or 32 bytes, of which the last `scale` digits are behind the point.
void append_decimal(const uint8_t* bytes, int64_t width, size_t scale, std::string* out) {
  uint32_t limbs[8];  // the greatest first
  const int64_t count = width / 4;
  const bool is_negative = (bytes[0] & 0x80) != 0;
  uint64_t carry = 1;
  for (int64_t i = count - 1; i >= 0; --i) {
    limbs[i] = word_at(bytes + 4 * i);
    if (!is_negative) continue;
    carry += uint32_t(~limbs[i]);
    limbs[i] = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  std::string reversed;
  for (bool is_zero = false; !is_zero || reversed.size() <= scale;) {
    uint64_t rest = 0;
    is_zero = true;
    for (int64_t i = 0; i < count; ++i) {
      rest = rest << 32 | limbs[i];
      limbs[i] = static_cast<uint32_t>(rest / 10);
      rest %= 10;
      is_zero = is_zero && limbs[i] == 0;
    }
    reversed.push_back(static_cast<char>('0' + rest));
  }
  if (is_negative) out->push_back('-');
  for (size_t i = reversed.size(); i > 0; --i) {
    if (i == scale) out->push_back('.');
    out->push_back(reversed[i - 1]);
  }
  if (scale == 0) out->append(".0");
}

bool append_number(const uint8_t* bytes, int64_t size, std::string* out) {
  if (size == 0) return false;
  const int64_t width = size - 1;
  switch (bytes[0]) {
    case 0x00:
      if (width != 0) return false;
      out->push_back('0');
      return true;
    case 0x10:
    case 0x20:
    case 0x30:
      // No number, and the infinities: JSON has none.
      out->append("null");
      return width == 0;
    case 0x40:
      if (!is_width(width)) return false;
      append_integer(static_cast<int64_t>(integer_at(bytes + 1, width, true)), out);
      return true;
    case 0x50:
      if (!is_width(width)) return false;
      append_integer(integer_at(bytes + 1, width, false), out);
      return true;
    case 0x60:
      if (width != 8) return false;
      append_double(std::bit_cast<double>(integer_at(bytes + 1, 8, false)), out);
      return true;
    case 0x70:
      if (width != 9 && width != 17 && width != 33) return false;
      append_decimal(bytes + 1, width - 1, bytes[width], out);
      return true;
    default: return false;
  }
}

void append_string(const uint8_t* bytes, int64_t size, std::string* out) {
  static constexpr char hex[] = "0123456789abcdef";
  const auto* text = reinterpret_cast<const char*>(bytes);
  out->push_back('"');
  int64_t start = 0;
  for (int64_t i = 0; i < size; ++i) {
    const uint8_t one = bytes[i];
    if (one >= 0x20 && one != '"' && one != '\\') continue;
    out->append(text + start, static_cast<size_t>(i - start));
    start = i + 1;
    switch (one) {
      case '"': out->append("\\\""); break;
      case '\\': out->append("\\\\"); break;
      case '\b': out->append("\\b"); break;
      case '\f': out->append("\\f"); break;
      case '\n': out->append("\\n"); break;
      case '\r': out->append("\\r"); break;
      case '\t': out->append("\\t"); break;
      default: out->append("\\u00").append({hex[one >> 4], hex[one & 15]});
    }
  }
  out->append(text + start, static_cast<size_t>(size - start));
  out->push_back('"');
}

// An array or object that is being written.
struct Level {
  const uint8_t* key;  // the entry of the next key, and its content; null in arrays
  const uint8_t* key_content;
  const uint8_t* entry;  // the next value's, and its content
  const uint8_t* content;
  const uint8_t* end;  // behind all contents
  uint32_t left;  // values
  bool is_first;
};

class Writer {
 public:
  explicit Writer(std::string* out) : out_(out) {}

  // Null where the bytes are written; else what is wrong with them.
  const char* value(const uint8_t* bytes, int64_t size) {
    if (size == 0) {
      // So the reference package reads them.
      out_->append("null");
      return nullptr;
    }
    if (size < 4) return "a JSON value ends within its header";
    levels_.clear();
    if (word_at(bytes) == kScalar) {
      if (size < 8) return "a JSON value ends within its entry";
      const uint8_t* content = bytes + 8;
      const char* wrong = entry(word_at(bytes + 4), &content, bytes + size, false);
      return wrong == nullptr && content != bytes + size ? kTooLong : wrong;
    }
    const char* wrong = open(bytes, size);
    while (wrong == nullptr && !levels_.empty()) wrong = step();
    return wrong;
  }

 private:
  static constexpr const char* kTooLong = "the parts of a JSON value take fewer bytes than it has";
  static constexpr const char* kTooShort = "the parts of a JSON value take more bytes than it has";

  const char* open(const uint8_t* bytes, int64_t size) {
    if (size < 4) return kTooShort;
    const uint32_t header = word_at(bytes), kind = header & ~kCountBits, count = header & kCountBits;
    if (kind != kArray && kind != kObject) return "a JSON value is no array, object or scalar";
    const bool is_object = kind == kObject;
    const int64_t num_entries = is_object ? 2 * int64_t{count} : int64_t{count};
    if (num_entries > (size - 4) / 4) return "a JSON value has more entries than bytes";
    Level level{};
    level.entry = bytes + 4;
    level.content = bytes + 4 + 4 * num_entries;
    level.end = bytes + size;
    level.left = count;
    level.is_first = true;
    if (is_object) {
      level.key = level.entry;
      level.key_content = level.content;
      level.entry += 4 * int64_t{count};
      for (uint32_t i = 0; i < count; ++i) {
        const uint32_t key = word_at(level.key + 4 * int64_t{i});
        if ((key & ~kSizeBits) != kString) return "a key of a JSON object is no string";
        if (int64_t{key & kSizeBits} > level.end - level.content) return kTooShort;
        level.content += key & kSizeBits;
      }
    }
    out_->push_back(is_object ? '{' : '[');
    levels_.push_back(level);
    return nullptr;
  }

  const char* step() {
    Level& level = levels_.back();
    if (level.left == 0) {
      if (level.content != level.end) return kTooLong;
      out_->push_back(level.key != nullptr ? '}' : ']');
      levels_.pop_back();
      return nullptr;
    }
    if (!level.is_first) out_->push_back(',');
    level.is_first = false;
    --level.left;
    if (level.key != nullptr) {
      const int64_t size = word_at(level.key) & kSizeBits;
      if (!valid_utf8(level.key_content, size)) return kNotUtf8;
      append_string(level.key_content, size, out_);
      out_->push_back(':');
      level.key += 4;
      level.key_content += size;
    }
    const uint32_t word = word_at(level.entry);
    level.entry += 4;
    // This may add a level, which moves them all.
    return entry(word, &level.content, level.end, true);
  }

  // Writes the value of an entry and moves behind its content.
  const char* entry(uint32_t word, const uint8_t** content, const uint8_t* end, bool is_inner) {
    const uint8_t* bytes = *content;
    const int64_t size = word & kSizeBits;
    if (size > end - bytes) return kTooShort;
    *content += size;
    switch (word & ~kSizeBits) {
      case kNull: out_->append("null"); return size == 0 ? nullptr : kTooLong;
      case kFalse: out_->append("false"); return size == 0 ? nullptr : kTooLong;
      case kTrue: out_->append("true"); return size == 0 ? nullptr : kTooLong;
      case kNumber: return append_number(bytes, size, out_) ? nullptr : "a JSON number has an unknown form";
      case kString:
        if (!valid_utf8(bytes, size)) return kNotUtf8;
        append_string(bytes, size, out_);
        return nullptr;
      case kContainer:
        if (is_inner) return open(bytes, size);
        [[fallthrough]];
      default: return "a JSON value has an unknown kind";
    }
  }

  static constexpr const char* kNotUtf8 = "a JSON string is not UTF-8";

  std::string* out_;
  std::vector<Level> levels_;
};

}  // namespace

Outcome json_texts(StoredOffsets stored, const uint8_t* data, int64_t data_bytes, const uint8_t* validity,
                   JsonTexts* out) {
  return with_offset_type(stored.bits, [&]<class Offset>() -> Outcome {
    const int64_t num_values = stored.num_bytes / static_cast<int64_t>(sizeof(Offset)) - 1;
    if (num_values < 0) return misuse("there are no offsets");
    out->ends.reserve(static_cast<size_t>(num_values));
    out->text.reserve(static_cast<size_t>(data_bytes));
    Writer writer(&out->text);
    for (int64_t i = 0; i < num_values; ++i) {
      if (validity == nullptr || (validity[i / 8] >> i % 8 & 1) != 0) {
        const auto start = static_cast<int64_t>(load<Offset>(stored.bytes, i));
        const auto stop = static_cast<int64_t>(load<Offset>(stored.bytes, i + 1));
        if (start < 0 || stop < start || stop > data_bytes) return corrupt("offsets descend, or leave the data", i);
        if (const char* wrong = writer.value(data + start, stop - start)) return corrupt(wrong, i);
      }
      out->ends.push_back(static_cast<int64_t>(out->text.size()));
    }
    return success();
  });
}

}  // namespace lance_arrow::engine
