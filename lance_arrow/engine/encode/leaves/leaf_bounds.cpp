#include "engine/encode/leaves/leaf_bounds.hpp"

#include <algorithm>

#include "engine/encode/bounds.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kMostBoundBytes = 64;
constexpr uint32_t kLastCodePoint = 0x10FFFF, kFirstSurrogate = 0xD800, kBehindSurrogates = 0xE000;

bool continues(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// Bytes of a bound: whole characters of text.
int64_t fitting(const uint8_t* bytes, int64_t size, bool is_text) {
  if (size <= kMostBoundBytes) return size;
  int64_t kept = kMostBoundBytes;
  if (is_text)
    while (kept > 0 && continues(bytes[kept])) --kept;
  return kept;
}

// The last character of text that ends at `end`, and where it begins.
uint32_t last_character(const uint8_t* bytes, int64_t end, int64_t* start) {
  int64_t at = end - 1;
  while (at > 0 && continues(bytes[at])) --at;
  *start = at;
  const uint32_t head = bytes[at];
  uint32_t found = head < 0x80 ? head : head < 0xE0 ? head & 0x1F : head < 0xF0 ? head & 0x0F : head & 0x07;
  for (++at; at < end; ++at) found = found << 6 | (bytes[at] & 0x3F);
  return found;
}

void put_character(std::vector<uint8_t>& to, uint32_t code) {
  const auto put = [&](uint32_t byte) { to.push_back(static_cast<uint8_t>(byte)); };
  const auto rest = [&](int shift) { put(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6), rest(0);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12), rest(6), rest(0);
  } else {
    put(0xF0 | code >> 18), rest(12), rest(6), rest(0);
  }
}

// Makes a prefix the smallest value above all that begin with it; false if there is none.
bool raise_text(std::vector<uint8_t>& prefix) {
  while (!prefix.empty()) {
    int64_t start = 0;
    uint32_t following = last_character(prefix.data(), static_cast<int64_t>(prefix.size()), &start) + 1;
    if (following >= kFirstSurrogate && following < kBehindSurrogates) following = kBehindSurrogates;
    prefix.resize(static_cast<size_t>(start));
    if (following <= kLastCodePoint) {
      put_character(prefix, following);
      return true;
    }
  }
  return false;
}

bool raise_bytes(std::vector<uint8_t>& prefix) {
  while (!prefix.empty() && prefix.back() == 0xFF) prefix.pop_back();
  if (prefix.empty()) return false;
  ++prefix.back();
  return true;
}

Outcome bound_strings(const ZoneForm& form, const LeafValues& values, const Validity& validity, const Zones& zones,
                      const ZoneCounts& counts, LeafBounds* bounds) {
  const LaBlock& block = values.block();
  const auto num_zones = static_cast<size_t>(zones.count);
  std::vector<int64_t> lows(num_zones), highs(num_zones);
  constexpr int64_t width = sizeof(int64_t);
  const Outcome outcome =
      bound_variable(reinterpret_cast<const uint8_t*>(block.offsets), (block.num_values + 1) * width, 64, block.values,
                     block.num_bytes, validity, zones, lows.data(), highs.data(), counts);
  if (outcome.message != nullptr) return outcome;
  bounds->lows.assign(num_zones, {});
  bounds->highs.assign(num_zones, {});
  const auto bound = [&](int64_t at, auto cut) {
    const int64_t start = block.offsets[at];
    return cut(block.values + start, block.offsets[at + 1] - start, form.is_text);
  };
  for (size_t zone = 0; zone < num_zones; ++zone) {
    if (lows[zone] < 0) continue;
    bounds->lows[zone] = bound(lows[zone], cut_down);
    bounds->highs[zone] = bound(highs[zone], cut_up);
  }
  return success();
}

}  // namespace

StringBound cut_down(const uint8_t* bytes, int64_t size, bool is_text) {
  const int64_t kept = fitting(bytes, size, is_text);
  return {{bytes, bytes + kept}, true, kept == size};
}

StringBound cut_up(const uint8_t* bytes, int64_t size, bool is_text) {
  StringBound found = cut_down(bytes, size, is_text);
  if (found.is_exact) return found;
  found.exists = is_text ? raise_text(found.bytes) : raise_bytes(found.bytes);
  if (!found.exists) found.bytes.clear();
  return found;
}

Outcome bound_leaf(const ZoneForm& form, const LeafValues& values, int64_t num_rows, LeafBounds* bounds) {
  const LaBlock& block = values.block();
  bounds->num_zones = (num_rows + form.rows_per_zone - 1) / form.rows_per_zone;
  const auto num_zones = static_cast<size_t>(bounds->num_zones);
  std::vector<int64_t> starts;
  for (int64_t row = 0; row < num_rows; row += form.rows_per_zone) starts.push_back(row);
  starts.push_back(num_rows);
  bounds->counts.assign(3 * num_zones, 0);
  const Validity validity{block.present, values.present_bytes(), 0};
  const Zones zones{starts.data(), bounds->num_zones};
  const ZoneCounts counts{bounds->counts.data(), bounds->counts.data() + num_zones,
                          bounds->counts.data() + 2 * num_zones};
  if (block.bits == 0) return bound_strings(form, values, validity, zones, counts, bounds);
  bounds->mins.assign(num_zones * static_cast<size_t>(form.width), 0);
  bounds->maxs = bounds->mins;
  return bound_fixed(block.values, block.num_bytes, 0, form.kind, form.width, validity, zones, bounds->mins.data(),
                     bounds->maxs.data(), static_cast<int64_t>(bounds->mins.size()), counts);
}

}  // namespace lance_arrow::engine
