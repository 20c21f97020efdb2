#include "engine/encode/zone_records.hpp"

namespace lance_arrow::engine {

namespace {

constexpr uint8_t kHasBounds = 3, kHasNulls = 4, kHasNans = 8;

void put_count(std::string& out, int64_t count) {
  const auto word = static_cast<uint32_t>(count);
  out.append(reinterpret_cast<const char*>(&word), sizeof word);
}

}  // namespace

std::string packed_zone(const LeafBounds& bounds, int64_t width, int64_t num_rows) {
  const int64_t values = bounds.counts[0], nulls = bounds.counts[1], nans = bounds.counts[2];
  const bool has_bounds = values > 0;
  const auto size = static_cast<uint8_t>(width);  // at most 64; zeros where there are no bounds
  const uint8_t flags = (has_bounds ? kHasBounds : 0) | (nulls > 0 ? kHasNulls : 0) | (nans > 0 ? kHasNans : 0);
  const uint8_t head[8] = {'L', 'A', 'Z', flags, size, size, has_bounds, has_bounds};
  std::string out(reinterpret_cast<const char*>(head), sizeof head);
  out.append(reinterpret_cast<const char*>(bounds.mins.data()), size);
  out.append(reinterpret_cast<const char*>(bounds.maxs.data()), size);
  put_count(out, num_rows);
  if (nulls > 0) put_count(out, nulls);
  if (nans > 0) put_count(out, nans);
  return out;
}

}  // namespace lance_arrow::engine
