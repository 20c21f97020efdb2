// Bounds and literals in the form of Arrow arrays, loaded as the types of their comparison.
//
//   kind  values                                   width in bytes         compared as
//   i     signed integers, counted time, booleans  1, 2, 4, 8; 0: bits    int64_t
//   u     unsigned integers                        1, 2, 4, 8             uint64_t
//   f     floats                                   2, 4, 8                double
//   d     decimals of more than 64 bits            16, 32                 Wide
//   b, x  bytes of any length, of one length       4, 8 (offset); any     Text
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/tables/wire.hpp"

namespace lance_arrow {

using engine::Bytes;

// Bytes in their unsigned order; trivial, so that scratch of it costs nothing.
struct Text {
  const char* data;
  size_t size;

  operator Bytes() const { return {data, size}; }
  friend bool operator<(const Text& a, const Text& b) { return Bytes(a) < Bytes(b); }
  friend bool operator==(const Text& a, const Text& b) { return Bytes(a) == Bytes(b); }
};

// A decimal of up to 256 bits, highest word first.
struct Wide {
  int64_t top;
  uint64_t rest[3];

  auto operator<=>(const Wide&) const = default;
};

// Calls `use` with a value of the type that a kind is compared as.
template <class Use>
auto WithType(char kind, Use&& use) {
  switch (kind) {
    case 'i': return use(int64_t{});
    case 'u': return use(uint64_t{});
    case 'f': return use(double{});
    case 'd': return use(Wide{});
    default: return use(Text{});
  }
}

// What kinds compare with each other.
inline char DomainOf(char kind) { return kind == 'x' ? 'b' : kind; }

struct BoundArray {
  char kind = 'i';
  int width = 8;
  int64_t slot = 0;  // of the first value
  const uint8_t* validity = nullptr;  // null: each is valid
  const char* offsets = nullptr;  // of kind b
  const char* values = nullptr;
  int64_t values_bytes = 0;

  // Bytes of the values of so many slots, of kind b of their offsets; -1 for a kind or width that there is not.
  int64_t SlotBytes(int64_t count) const {
    const bool is_number = width == 1 || width == 2 || width == 4 || width == 8;
    switch (kind) {
      case 'i': return width == 0 ? (count + 7) / 8 : is_number ? count * width : -1;
      case 'u': return is_number ? count * width : -1;
      case 'f': return is_number && width > 1 ? count * width : -1;
      case 'd': return width == 16 || width == 32 ? count * width : -1;
      case 'b': return width == 4 || width == 8 ? (count + 1) * width : -1;
      case 'x': return width > 0 && width <= 1 << 10 ? count * width : -1;
      default: return -1;
    }
  }

  bool IsThere(int64_t number) const {
    const int64_t place = slot + number;
    return validity == nullptr || ((validity[place / 8] >> (place % 8)) & 1) != 0;
  }

  // Load values from `first` on. Sets `bit` in the flags of those that are there and not NaN; the others are anything
  // that compares. False where an offset leaves the values.
  template <class T>
  bool Load(int64_t first, int count, uint8_t bit, uint8_t* flags, T* out) const {
    const int64_t at = slot + first;
    for (int one = 0; one < count; ++one) {
      if (IsThere(first + one)) flags[one] |= bit;
    }
    if constexpr (std::is_same_v<T, Text>) {
      return LoadTexts(at, count, bit, flags, out);
    } else if constexpr (std::is_same_v<T, Wide>) {
      for (int one = 0; one < count; ++one) out[one] = WideAt(values + (at + one) * width);
    } else if constexpr (std::is_same_v<T, double>) {
      if (width == 8) {
        Widen<double>(at, count, out);
      } else if (width == 4) {
        Widen<float>(at, count, out);
      } else {
        for (int one = 0; one < count; ++one) out[one] = Half(engine::load_at<uint16_t>(values + (at + one) * 2));
      }
      for (int one = 0; one < count; ++one) {
        if (std::isnan(out[one])) flags[one] &= static_cast<uint8_t>(~bit);
      }
    } else if (width == 0) {
      for (int one = 0; one < count; ++one) {
        const int64_t place = at + one;
        out[one] = (static_cast<uint8_t>(values[place / 8]) >> (place % 8)) & 1;
      }
    } else {
      constexpr bool kSigned = std::is_signed_v<T>;
      switch (width) {
        case 1: Widen<std::conditional_t<kSigned, int8_t, uint8_t>>(at, count, out); break;
        case 2: Widen<std::conditional_t<kSigned, int16_t, uint16_t>>(at, count, out); break;
        case 4: Widen<std::conditional_t<kSigned, int32_t, uint32_t>>(at, count, out); break;
        default: Widen<T>(at, count, out);
      }
    }
    return true;
  }

 private:
  template <class Stored, class T>
  void Widen(int64_t at, int count, T* out) const {
    const char* place = values + at * static_cast<int64_t>(sizeof(Stored));
    for (int one = 0; one < count; ++one)
      out[one] = static_cast<T>(engine::load_at<Stored>(place + one * static_cast<int64_t>(sizeof(Stored))));
  }

  static double Half(uint16_t bits) {
    const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    const double size = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                        : exponent == 0 ? std::ldexp(fraction, -24)
                                        : std::ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 != 0 ? -size : size;
  }

  Wide WideAt(const char* place) const {
    const bool is_long = width == 32;
    const auto top = engine::load_at<int64_t>(place + width - 8);
    const uint64_t sign = top < 0 ? UINT64_MAX : 0;
    if (!is_long) return {top >> 63, {sign, static_cast<uint64_t>(top), engine::load_at<uint64_t>(place)}};
    return {top,
            {engine::load_at<uint64_t>(place + 16), engine::load_at<uint64_t>(place + 8),
             engine::load_at<uint64_t>(place)}};
  }

  bool LoadTexts(int64_t at, int count, uint8_t bit, uint8_t* flags, Text* out) const {
    bool is_sound = true;
    for (int one = 0; one < count; ++one) {
      out[one] = {"", 0};
      if ((flags[one] & bit) == 0) continue;
      int64_t start = (at + one) * width, stop = start + width;
      if (kind == 'b') {
        start =
            width == 8 ? engine::load_at<int64_t>(offsets + start) : int64_t{engine::load_at<int32_t>(offsets + start)};
        stop =
            width == 8 ? engine::load_at<int64_t>(offsets + stop) : int64_t{engine::load_at<int32_t>(offsets + stop)};
      }
      if (start < 0 || stop < start || stop > values_bytes) {
        flags[one] &= static_cast<uint8_t>(~bit);
        is_sound = false;
      } else {
        out[one] = {values + start, static_cast<size_t>(stop - start)};
      }
    }
    return is_sound;
  }
};

// What may occur among the values of a zone, and which bounds it has.
enum ZoneFlag : uint8_t { kHasValue = 1, kHasNull = 2, kHasNan = 4, kHasLow = 8, kHasHigh = 16 };

// A column of a zone map. The flags tell what may occur, not which bounds there are.
struct ZoneColumn {
  BoundArray low, high;
  const uint8_t* flags = nullptr;
  int64_t num_zones = 0;

  // What a zone map that tells all has that none can have; null for nothing.
  const char* Fault() const {
    return WithType(low.kind, [&](auto type) { return FaultOf<decltype(type)>(); });
  }

 private:
  template <class T>
  const char* FaultOf() const {
    constexpr int kStep = 64;
    T lows[kStep], highs[kStep];
    uint8_t found[kStep];
    for (int64_t first = 0; first < num_zones; first += kStep) {
      const int count = static_cast<int>(std::min<int64_t>(kStep, num_zones - first));
      std::memcpy(found, flags + first, static_cast<size_t>(count));
      if (!low.Load(first, count, kHasLow, found, lows) || !high.Load(first, count, kHasHigh, found, highs))
        return "bounds outside of their buffers";
      for (int one = 0; one < count; ++one) {
        const bool has_low = (found[one] & kHasLow) != 0, has_high = (found[one] & kHasHigh) != 0;
        const bool has_value = (found[one] & kHasValue) != 0;
        if (has_low != low.IsThere(first + one) || has_high != high.IsThere(first + one)) return "NaN as a bound";
        if (has_low != has_value || (has_high && !has_value)) return "bounds without values, or values without bounds";
        // Texts need not have one.
        if (has_high != has_value && low.kind != 'b') return "values without an upper bound";
        if (has_low && has_high && highs[one] < lows[one]) return "a lower bound above the upper one";
      }
    }
    return nullptr;
  }
};

}  // namespace lance_arrow
