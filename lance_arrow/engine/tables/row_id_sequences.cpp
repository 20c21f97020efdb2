#include "engine/tables/row_id_sequences.hpp"

#include <algorithm>
#include <bit>

namespace lance_arrow::engine {

namespace {

// Numbers of an EncodedU64Array, as they lie there.
class Numbers {
 public:
  uint64_t count = 0;

  bool read(Bytes message) {
    Fields fields(message);
    if (!fields.next()) return fields.is_sound;  // no numbers
    if (fields.number < 1 || fields.number > 3 || fields.type != Fields::kDelimited) return false;
    width_ = size_t{1} << fields.number;  // 2, 4, 8 bytes
    if (!read_values(fields.content)) return false;
    return !fields.next() && fields.is_sound;
  }

  uint64_t at(uint64_t index) const {
    const char* place = values_.data() + index * width_;
    switch (width_) {
      case 2: return base_ + load_at<uint16_t>(place);
      case 4: return base_ + load_at<uint32_t>(place);
      default: return load_at<uint64_t>(place);
    }
  }

 private:
  bool read_values(Bytes message) {
    Fields fields(message);
    while (fields.next()) {
      if (fields.number == 1 && fields.type == Fields::kVarint && width_ < 8) {
        base_ = fields.value;
      } else if (fields.number == 2 && fields.type == Fields::kDelimited) {
        values_ = fields.content;
      } else {
        return false;
      }
    }
    count = values_.size() / width_;
    // Numbers beyond 64 bits are for Python to tell.
    return fields.is_sound && values_.size() % width_ == 0 && (width_ == 8 || base_ <= UINT64_MAX - UINT32_MAX);
  }

  Bytes values_;
  size_t width_ = 8;
  uint64_t base_ = 0;
};

// The ids of a segment: how many, and the first number above them all.
struct Segment {
  uint64_t count = 0, stop = 0;

  // Range, RangeWithHoles, RangeWithBitmap: the bounds, and the content of the third field.
  bool read_span(Bytes message, uint64_t kind) {
    uint64_t start = 0;
    Bytes third;
    Fields fields(message);
    while (fields.next()) {
      if (fields.number == 1 && fields.type == Fields::kVarint) {
        start = fields.value;
      } else if (fields.number == 2 && fields.type == Fields::kVarint) {
        stop = fields.value;
      } else if (fields.number == 3 && fields.type == Fields::kDelimited && kind != 1 && third.empty()) {
        third = fields.content;
      } else {
        return false;
      }
    }
    if (!fields.is_sound || stop < start) return false;
    count = stop - start;
    if (kind == 2) return drop_holes(third, start);
    return kind == 1 || count_bits(third, start);
  }

  bool drop_holes(Bytes message, uint64_t start) {
    Numbers holes;
    if (!holes.read(message) || holes.count > count) return false;
    for (uint64_t i = 0; i < holes.count; ++i)
      if (holes.at(i) < start || holes.at(i) >= stop || (i != 0 && holes.at(i) <= holes.at(i - 1))) return false;
    count -= holes.count;
    for (uint64_t i = holes.count; i > 0 && holes.at(i - 1) == stop - 1; --i) --stop;
    return true;
  }

  bool count_bits(Bytes bitmap, uint64_t start) {
    const uint64_t span = stop - start;
    if (bitmap.size() != span / 8 + (span % 8 != 0)) return false;
    if (span % 8 != 0 && static_cast<uint8_t>(bitmap.back()) >> span % 8 != 0) return false;
    count = 0;
    for (size_t i = 0; i < bitmap.size(); ++i) {
      const auto byte = static_cast<uint8_t>(bitmap[i]);
      if (byte == 0) continue;
      count += std::popcount(byte);
      stop = start + 8 * i + std::bit_width(byte);
    }
    return true;
  }

  bool read_list(Bytes message, bool is_sorted) {
    Numbers values;
    if (!values.read(message)) return false;
    count = values.count;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t value = values.at(i);
      if (value == UINT64_MAX || (is_sorted && i != 0 && value < values.at(i - 1))) return false;
      stop = std::max(stop, value + 1);
    }
    return true;
  }

  bool read(Bytes message) {
    Fields fields(message);
    if (!fields.next() || fields.type != Fields::kDelimited) return false;
    const uint64_t kind = fields.number;
    if (kind < 1 || kind > 5) return false;
    const bool is_read = kind <= 3 ? read_span(fields.content, kind) : read_list(fields.content, kind == 4);
    return is_read && !fields.next() && fields.is_sound;
  }
};

}  // namespace

bool holds_row_ids(Bytes message, uint64_t num_rows, uint64_t next_id) {
  uint64_t count = 0;
  Fields fields(message);
  while (fields.next()) {
    Segment segment;
    if (fields.number != 1 || fields.type != Fields::kDelimited || !segment.read(fields.content)) return false;
    if (segment.count > kMostFragmentRows - count || (segment.count != 0 && segment.stop > next_id)) return false;
    count += segment.count;
  }
  return fields.is_sound && (num_rows == 0 || count == num_rows);
}

}  // namespace lance_arrow::engine
