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

// Turns ascending rows, the last of which is behind the page, into the values that are before them.
void rows_to_values(const LeafLevels& levels, std::vector<int64_t>* rows) {
  const std::vector<uint16_t>& rep = levels.rep();
  const std::vector<uint16_t>& def = levels.def();
  const auto max_rep = static_cast<uint16_t>(levels.max_rep()),
             max_visible = static_cast<uint16_t>(levels.max_visible());
  // Blocks in which no row of these begins are counted, which compilers turn into vectors.
  constexpr size_t block_entries = 1024;
  size_t next = 0;
  int64_t row = 0, value = 0;
  for (size_t first = 0; first < rep.size() && next < rows->size(); first += block_entries) {
    const size_t stop = std::min(first + block_entries, rep.size());
    uint16_t num_rows = 0, num_values = 0;
    for (size_t entry = first; entry < stop; ++entry) num_rows += rep[entry] == max_rep;
    for (size_t entry = first; entry < stop && !def.empty(); ++entry) num_values += def[entry] <= max_visible;
    if (def.empty()) num_values = static_cast<uint16_t>(stop - first);
    int64_t before = value;
    for (size_t entry = first, at = static_cast<size_t>(row); entry < stop && (*rows)[next] < row + num_rows; ++entry) {
      if (rep[entry] == max_rep && (*rows)[next] == static_cast<int64_t>(at++)) (*rows)[next++] = before;
      before += def.empty() || def[entry] <= max_visible;
    }
    row += num_rows;
    value += num_values;
  }
  for (; next < rows->size(); ++next) (*rows)[next] = value;
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

// Joins the first zone of a page to the last one before it.
Outcome join_fixed(const ZoneForm& form, const LeafBounds& page, LeafBounds* bounds) {
  if (page.values.front() == 0) return success();
  uint8_t* low = bounds->mins.data() + bounds->mins.size() - form.width;
  uint8_t* high = bounds->maxs.data() + bounds->maxs.size() - form.width;
  std::vector<uint8_t> both;
  const auto add = [&](const uint8_t* bound) { both.insert(both.end(), bound, bound + form.width); };
  if (bounds->values.back() > 0) add(low), add(high);
  add(page.mins.data()), add(page.maxs.data());
  const int64_t borders[2] = {0, static_cast<int64_t>(both.size()) / form.width};
  int64_t values = 0, nulls = 0, nans = 0;
  // Bounds of bits are whole bytes.
  return bound_fixed(both.data(), static_cast<int64_t>(both.size()), 0, form.kind == kBit ? kUnsigned : form.kind,
                     form.width, {nullptr, 0, 0}, {borders, 1}, low, high, form.width, {&values, &nulls, &nans});
}

void join_bound(const StringBound& other, bool is_low, StringBound* bound) {
  if (!other.exists) return;
  if (bound->exists && bound->bytes == other.bytes) {
    bound->is_exact |= other.is_exact;
  } else if (!bound->exists || (other.bytes < bound->bytes) == is_low) {
    *bound = other;
  }
}

void join_strings(const LeafBounds& page, LeafBounds* bounds) {
  const StringBound& other = page.highs.front();
  StringBound& high = bounds->highs.back();
  join_bound(page.lows.front(), true, &bounds->lows.back());
  // If a part has no upper bound, the whole has none.
  const bool is_unbounded = (page.values.front() > 0 && !other.exists) || (bounds->values.back() > 0 && !high.exists);
  if (is_unbounded) high = {};
  else join_bound(other, false, &high);
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

Outcome bound_leaf(const ZoneForm& form, const LeafValues& values, int64_t first_row, LeafBounds* bounds) {
  const LaBlock& block = values.block();
  const int64_t num_rows = values.levels().num_rows();
  std::vector<int64_t> starts{0};
  for (int64_t row = form.rows_per_zone - first_row % form.rows_per_zone; row < num_rows; row += form.rows_per_zone)
    starts.push_back(row);
  bounds->num_zones = static_cast<int64_t>(starts.size());
  starts.push_back(num_rows);
  if (values.levels().max_rep() > 0) rows_to_values(values.levels(), &starts);
  const auto num_zones = static_cast<size_t>(bounds->num_zones);
  for (std::vector<int64_t>* counts : {&bounds->values, &bounds->nulls, &bounds->nans}) counts->assign(num_zones, 0);
  const Validity validity{block.present, values.present_bytes(), 0};
  const Zones zones{starts.data(), bounds->num_zones};
  const ZoneCounts counts{bounds->values.data(), bounds->nulls.data(), bounds->nans.data()};
  if (block.bits == 0) return bound_strings(form, values, validity, zones, counts, bounds);
  bounds->mins.assign(num_zones * static_cast<size_t>(form.width), 0);
  bounds->maxs = bounds->mins;
  return bound_fixed(block.values, block.num_bytes, 0, form.kind, form.width, validity, zones, bounds->mins.data(),
                     bounds->maxs.data(), static_cast<int64_t>(bounds->mins.size()), counts);
}

Outcome append_bounds(const ZoneForm& form, int64_t first_row, LeafBounds&& page, LeafBounds* bounds) {
  if (bounds->num_zones == 0) {
    *bounds = std::move(page);
    return success();
  }
  const bool goes_on = first_row % form.rows_per_zone != 0;
  if (goes_on) {
    const Outcome outcome = page.mins.empty() ? success() : join_fixed(form, page, bounds);
    if (outcome.message != nullptr) return outcome;
    if (!page.lows.empty()) join_strings(page, bounds);
    bounds->values.back() += page.values.front();
    bounds->nulls.back() += page.nulls.front();
    bounds->nans.back() += page.nans.front();
  }
  const int64_t first = goes_on ? 1 : 0;
  bounds->num_zones += page.num_zones - first;
  const auto append = [&](auto& to, const auto& from, int64_t width) {
    if (!from.empty()) to.insert(to.end(), from.begin() + first * width, from.end());
  };
  append(bounds->mins, page.mins, form.width);
  append(bounds->maxs, page.maxs, form.width);
  append(bounds->lows, page.lows, 1);
  append(bounds->highs, page.highs, 1);
  append(bounds->values, page.values, 1);
  append(bounds->nulls, page.nulls, 1);
  append(bounds->nans, page.nans, 1);
  return success();
}

}  // namespace lance_arrow::engine
