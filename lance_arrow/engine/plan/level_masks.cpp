#include "engine/plan/level_masks.hpp"

#include <algorithm>

namespace lance_arrow::engine {

uint64_t mask_at_most(const uint16_t* levels, uint16_t bound) {
  uint64_t mask = 0;
#if defined(__SSE2__)
  const __m128i limit = _mm_set1_epi16(static_cast<int16_t>(bound));
  const __m128i zero = _mm_setzero_si128();
  for (int part = 0; part < 4; ++part) {
    const __m128i* const at = reinterpret_cast<const __m128i*>(levels + part * 16);
    // Unsigned saturation: nothing is left of a level that is not above the bound.
    const __m128i low = _mm_cmpeq_epi16(_mm_subs_epu16(_mm_loadu_si128(at), limit), zero);
    const __m128i high = _mm_cmpeq_epi16(_mm_subs_epu16(_mm_loadu_si128(at + 1), limit), zero);
    const auto bits = static_cast<uint16_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
    mask |= static_cast<uint64_t>(bits) << (part * 16);
  }
#else
  for (int i = 0; i < 64; ++i) mask |= static_cast<uint64_t>(levels[i] <= bound) << i;
#endif
  return mask;
}

uint64_t compress_bits(uint64_t bits, uint64_t keep) {
  bits &= keep;
  uint64_t gaps = ~keep << 1;
  for (int step = 1; step < 64; step <<= 1) {
    uint64_t parity = gaps;
    for (int shift = 1; shift < 64; shift <<= 1) parity ^= parity << shift;
    const uint64_t moved = parity & keep;
    keep = (keep ^ moved) | (moved >> step);
    const uint64_t part = bits & moved;
    bits = (bits ^ part) | (part >> step);
    gaps &= ~parity;
  }
  return bits;
}

Outcome validity_from_levels(const uint16_t* def, int64_t num_entries, int null_level, uint8_t* bits, int64_t num_bytes,
                             int64_t bit_offset, int64_t* null_count) {
  *null_count = 0;
  if (null_level < 1 || null_level > 0xFFFF) return misuse("a null level is at least 1");
  if (bit_offset < 0 || bit_offset > num_bytes * 8 || num_entries > num_bytes * 8 - bit_offset)
    return misuse("the bitmap is too small for the entries");
  BitAppender out(bits, num_bytes, bit_offset);
  int64_t valid = 0;
  for_each_mask(def, 0, num_entries, static_cast<uint16_t>(null_level - 1),
                [&](uint64_t mask, uint64_t live, int64_t start) {
                  valid += std::popcount(mask & live);
                  return out.append(mask & live, static_cast<int>(std::min(kBlock, num_entries - start)));
                });
  out.finish();
  *null_count = num_entries - valid;
  return success();
}

}  // namespace lance_arrow::engine
