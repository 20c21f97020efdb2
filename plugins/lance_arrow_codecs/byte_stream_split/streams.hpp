// Values cut apart into byte streams and put together again (spec 5.10).
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "lance_arrow/outcome.hpp"
#include "lance_arrow/parts.hpp"

namespace lance_arrow::codecs {

#if defined(__SSE2__)
// Puts 16 values together: neighbours are interleaved as bytes, pairs of those as words, and so on.
template <int kWidth>
void join_sixteen(const uint8_t* streams, int64_t count, uint8_t* values) {
  __m128i now[kWidth], next[kWidth];
  for (int stream = 0; stream < kWidth; ++stream)
    now[stream] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(streams + stream * count));
  // Registers hold `parts` bytes of each value; those of one group of streams lie side by side.
  for (int parts = 1; parts < kWidth; parts *= 2) {
    for (int group = 0; group < kWidth; group += 2 * parts) {
      for (int one = 0; one < parts; ++one) {
        const __m128i left = now[group + one], right = now[group + parts + one];
        __m128i *low = &next[group + 2 * one], *high = low + 1;
        if (parts == 1) {
          *low = _mm_unpacklo_epi8(left, right), *high = _mm_unpackhi_epi8(left, right);
        } else if (parts == 2) {
          *low = _mm_unpacklo_epi16(left, right), *high = _mm_unpackhi_epi16(left, right);
        } else {
          *low = _mm_unpacklo_epi32(left, right), *high = _mm_unpackhi_epi32(left, right);
        }
      }
    }
    for (int one = 0; one < kWidth; ++one) now[one] = next[one];
  }
  for (int part = 0; part < kWidth; ++part) _mm_storeu_si128(reinterpret_cast<__m128i*>(values) + part, now[part]);
}
#endif

// Puts `count` values together; their bytes are `count` apart.
template <int kWidth>
void join_streams(const uint8_t* __restrict streams, int64_t count, int64_t width, uint8_t* __restrict values) {
  int64_t value = 0;
#if defined(__SSE2__)
  if constexpr (kWidth == 2 || kWidth == 4 || kWidth == 8)
    for (; value + 16 <= count; value += 16) join_sixteen<kWidth>(streams + value, count, values + value * kWidth);
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
