#include "engine/encode/leaves/zone_records.hpp"

namespace lance_arrow::engine {

namespace {

constexpr uint8_t kHasMin = 1, kHasMax = 2, kHasNulls = 4, kHasNans = 8, kHasValues = 16, kIsInexact = 32;

void put_count(std::string& out, int64_t count) {
  const auto word = static_cast<uint32_t>(count);
  out.append(reinterpret_cast<const char*>(&word), sizeof word);
}

void put(std::string& out, const std::vector<uint8_t>& bytes, int64_t size) {
  out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(size));
}

// Offsets of one string: 0 and its size.
void put_offsets(std::string& out, uint64_t size, int64_t offset_bits) {
  const uint64_t words[2] = {0, size};
  const auto width = static_cast<size_t>(offset_bits / 8);
  for (const uint64_t word : words) out.append(reinterpret_cast<const char*>(&word), width);
}

}  // namespace

std::string packed_zone(const LeafBounds& bounds, int64_t width, int64_t offset_bits, int64_t num_rows) {
  const int64_t values = bounds.values[0], nulls = bounds.nulls[0], nans = bounds.nans[0];
  // Within lists, rows have any number of values.
  const int64_t slots = values + nulls + nans;
  // Of one width, bounds take the bytes of a value even where there are none; these are at most 64.
  const bool is_fixed = width > 0;
  const bool has_min = is_fixed ? values > 0 : bounds.lows[0].exists;
  const bool has_max = is_fixed ? values > 0 : bounds.highs[0].exists;
  const bool min_exact = is_fixed ? has_min : bounds.lows[0].is_exact;
  const bool max_exact = is_fixed ? has_max : bounds.highs[0].is_exact;
  const std::vector<uint8_t>& low = is_fixed ? bounds.mins : bounds.lows[0].bytes;
  const std::vector<uint8_t>& high = is_fixed ? bounds.maxs : bounds.highs[0].bytes;
  const int64_t low_size = is_fixed ? width : static_cast<int64_t>(low.size());
  const int64_t high_size = is_fixed ? width : static_cast<int64_t>(high.size());
  const auto flags = static_cast<uint8_t>(
      (has_min ? kHasMin : 0) | (has_max ? kHasMax : 0) | (nulls > 0 ? kHasNulls : 0) | (nans > 0 ? kHasNans : 0) |
      (slots != num_rows ? kHasValues : 0) | (min_exact != has_min || max_exact != has_max ? kIsInexact : 0));
  const uint8_t head[8] = {
      'L', 'A', 'Z', flags, static_cast<uint8_t>(low_size), static_cast<uint8_t>(high_size), min_exact, max_exact};
  std::string out(reinterpret_cast<const char*>(head), sizeof head);
  if (!is_fixed) {
    put_offsets(out, low.size(), offset_bits);
    put_offsets(out, high.size(), offset_bits);
  }
  put(out, low, low_size);
  put(out, high, high_size);
  put_count(out, num_rows);
  if (nulls > 0) put_count(out, nulls);
  if (nans > 0) put_count(out, nans);
  if (slots != num_rows) put_count(out, slots);
  return out;
}

}  // namespace lance_arrow::engine
