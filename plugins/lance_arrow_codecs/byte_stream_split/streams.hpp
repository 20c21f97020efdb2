// Values cut apart into byte streams and put together again (spec 5.10).
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <utility>

#include "lance_arrow/outcome.hpp"
#include "lance_arrow/parts.hpp"

namespace lance_arrow::codecs {

#if defined(__SSE2__)
// Registers hold `kParts` bytes of each value; those of one group of streams lie side by side. Returns register `kAt`
// of the next step, which has twice as many.
template <int kParts, int kAt>
__m128i joined(const __m128i* now) {
  constexpr int group = kAt / (2 * kParts) * (2 * kParts), one = kAt % (2 * kParts) / 2;
  constexpr bool is_high = kAt % 2 != 0;
  const __m128i left = now[group + one], right = now[group + kParts + one];
  if constexpr (kParts == 1) return is_high ? _mm_unpackhi_epi8(left, right) : _mm_unpacklo_epi8(left, right);
  else if constexpr (kParts == 2) return is_high ? _mm_unpackhi_epi16(left, right) : _mm_unpacklo_epi16(left, right);
  else return is_high ? _mm_unpackhi_epi32(left, right) : _mm_unpacklo_epi32(left, right);
}

// Puts 16 values together: neighbours are interleaved as bytes, pairs of those as words, and so on. Each step is
// written out, so that all registers have names: compilers left loops over them in memory.
template <int kWidth, int kParts, int... at>
void join_sixteen(const __m128i* now, uint8_t* values, std::integer_sequence<int, at...> registers) {
  if constexpr (kParts == kWidth) {
    (_mm_storeu_si128(reinterpret_cast<__m128i*>(values) + at, now[at]), ...);
  } else {
    const __m128i next[] = {joined<kParts, at>(now)...};
    join_sixteen<kWidth, 2 * kParts>(next, values, registers);
  }
}

template <int kWidth, int... at>
void join_sixteen(const uint8_t* streams, int64_t count, uint8_t* values, std::integer_sequence<int, at...> registers) {
  const __m128i now[] = {_mm_loadu_si128(reinterpret_cast<const __m128i*>(streams + at * count))...};
  join_sixteen<kWidth, 1>(now, values, registers);
}
#endif

// Puts `count` values together; their bytes are `count` apart.
template <int kWidth>
void join_streams(const uint8_t* __restrict streams, int64_t count, int64_t width, uint8_t* __restrict values) {
  int64_t value = 0;
#if defined(__SSE2__)
  if constexpr (kWidth == 2 || kWidth == 4 || kWidth == 8)
    for (; value + 16 <= count; value += 16)
      join_sixteen<kWidth>(streams + value, count, values + value * kWidth, std::make_integer_sequence<int, kWidth>{});
#endif
  const int64_t num_streams = kWidth != 0 ? kWidth : width;
  for (; value < count; ++value)
    for (int64_t stream = 0; stream < num_streams; ++stream)
      values[value * num_streams + stream] = streams[stream * count + value];
}

// Stream b of a chunk holds byte b of every value.
Outcome gather_streams(const Chunks& chunks, int64_t width, uint8_t* out, int64_t out_bytes);

// The other way round: byte b of every value of a part to the part's stream b.
Outcome scatter_streams(const Parts& parts, int64_t width, uint8_t* out, int64_t out_bytes);

}  // namespace lance_arrow::codecs
