// Full-zip streams: control word, optional length, value bytes, one entry after the other (spec 6).
//
// Regions are byte ranges of whole rows, one per selected run of rows; the entries of all regions are numbered through.
#pragma once

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

struct ZipForm {
  int bits_rep;
  int bits_def;
  int64_t bytes_per_value;  // fixed width; -1 when values carry a length
  int bits_per_offset;  // 32 or 64 when values carry a length, else 0
  int max_visible;  // largest def of an entry that owns a value; -1 without lists: every entry does
};

struct Regions {
  const uint8_t* data;
  int64_t data_bytes;
  const int64_t* starts;
  const int64_t* stops;
  int64_t num_regions;
};

struct ZipEntry {
  int64_t region;
  uint32_t rep;
  uint32_t def;
  bool visible;
  int64_t start;  // of the value's bytes in the data
  int64_t size;
};

inline Outcome check_form(const ZipForm& form) {
  if (form.bits_rep < 0 || form.bits_rep > 16 || form.bits_def < 0 || form.bits_def > 16)
    return misuse("levels have at most 16 bits");
  if (form.max_visible < -1) return misuse("max_visible is -1 or a level");
  if (form.bits_per_offset == 0) {
    if (form.bytes_per_value < 0) return misuse("values have neither a width nor a length");
    if (form.bytes_per_value == 0 && form.bits_rep + form.bits_def == 0) return misuse("entries have no bytes");
    return success();
  }
  if (form.bytes_per_value != -1) return misuse("values have both a width and a length");
  if (form.bits_per_offset != 32 && form.bits_per_offset != 64) return misuse("lengths have 32 or 64 bits");
  return success();
}

template <class Word>
inline uint32_t read_control(const uint8_t* at) {
  return load<Word>(at, 0);
}

// Walks the entries of all regions. `Word` is the control word's type (void: there is none), `Length` the prefix's.
template <class Word, class Length, class Visit>
Outcome walk_entries(const Regions& regions, const ZipForm& form, Visit&& visit) {
  constexpr bool kHasWord = !std::is_void_v<Word>;
  constexpr bool kHasLength = !std::is_void_v<Length>;
  const uint32_t def_mask = (uint32_t{1} << form.bits_def) - 1;
  const uint64_t word_limit = uint64_t{1} << (form.bits_rep + form.bits_def);
  for (int64_t region = 0; region < regions.num_regions; ++region) {
    int64_t at = regions.starts[region];
    const int64_t stop = regions.stops[region];
    if (at < 0 || stop < at || stop > regions.data_bytes) return misuse("a region lies outside the data", region);
    while (at < stop) {
      ZipEntry entry{region, 0, 0, true, at, 0};
      if constexpr (kHasWord) {
        if (stop - at < static_cast<int64_t>(sizeof(Word))) return corrupt("a region ends inside an entry", region);
        const uint32_t word = read_control<Word>(regions.data + at);
        if (word >= word_limit) return corrupt("a control word has bits beyond its levels", region);
        entry.rep = word >> form.bits_def;
        entry.def = word & def_mask;
        entry.visible = form.max_visible < 0 || entry.def <= static_cast<uint32_t>(form.max_visible);
        at += static_cast<int64_t>(sizeof(Word));
      }
      if (entry.visible) {
        if constexpr (kHasLength) {
          entry.start = at;
          if (entry.def == 0) {
            constexpr int64_t kPrefix = sizeof(Length);
            if (stop - at < kPrefix) return corrupt("a region ends inside an entry", region);
            const uint64_t size = load<Length>(regions.data + at, 0);
            at += kPrefix;
            if (size > static_cast<uint64_t>(stop - at)) return corrupt("a value leaves its region", region);
            entry.start = at;
            entry.size = static_cast<int64_t>(size);
          }
        } else {
          entry.start = at;
          entry.size = form.bytes_per_value;
          if (entry.size > stop - at) return corrupt("a region ends inside an entry", region);
        }
        at += entry.size;
      }
      if (!visit(entry)) return misuse("the outputs are too small for the entries", region);
    }
  }
  return success();
}

template <class Word, class Visit>
Outcome walk_lengths(const Regions& regions, const ZipForm& form, Visit&& visit) {
  if (form.bits_per_offset == 0) return walk_entries<Word, void>(regions, form, visit);
  if (form.bits_per_offset == 32) return walk_entries<Word, uint32_t>(regions, form, visit);
  return walk_entries<Word, uint64_t>(regions, form, visit);
}

template <class Visit>
Outcome for_each_entry(const Regions& regions, const ZipForm& form, Visit&& visit) {
  const Outcome outcome = check_form(form);
  if (outcome.message != nullptr) return outcome;
  const int bits = form.bits_rep + form.bits_def;
  if (bits == 0) return walk_lengths<void>(regions, form, visit);
  if (bits <= 8) return walk_lengths<uint8_t>(regions, form, visit);
  if (bits <= 16) return walk_lengths<uint16_t>(regions, form, visit);
  return walk_lengths<uint32_t>(regions, form, visit);
}

inline Outcome count_entries(const Regions& regions, const ZipForm& form, int64_t* region_entries, int64_t* entries,
                             int64_t* visible) {
  int64_t num_visible = 0;
  std::fill(region_entries, region_entries + regions.num_regions, int64_t{0});
  const Outcome outcome = for_each_entry(regions, form, [&](const ZipEntry& entry) {
    ++region_entries[entry.region];
    num_visible += entry.visible;
    return true;
  });
  *visible = num_visible;
  *entries = std::accumulate(region_entries, region_entries + regions.num_regions, int64_t{0});
  return outcome;
}

struct ZipOut {
  uint16_t* rep;
  uint16_t* def;
  int64_t max_entries;
  int64_t* value_starts;
  int64_t* value_sizes;
  int64_t max_values;
};

template <bool has_rep, bool has_def, bool has_sizes>
Outcome unzip_as(const Regions& regions, const ZipForm& form, const ZipOut& out, int64_t* entries, int64_t* visible) {
  int64_t num_entries = 0;
  int64_t num_visible = 0;
  const Outcome outcome = for_each_entry(regions, form, [&](const ZipEntry& entry) {
    if ((has_rep || has_def) && num_entries == out.max_entries) return false;
    if constexpr (has_rep) out.rep[num_entries] = static_cast<uint16_t>(entry.rep);
    if constexpr (has_def) out.def[num_entries] = static_cast<uint16_t>(entry.def);
    ++num_entries;
    if (!entry.visible) return true;
    if (num_visible == out.max_values) return false;
    out.value_starts[num_visible] = entry.start;
    if constexpr (has_sizes) out.value_sizes[num_visible] = entry.size;
    ++num_visible;
    return true;
  });
  *entries = num_entries;
  *visible = num_visible;
  return outcome;
}

inline Outcome unzip(const Regions& regions, const ZipForm& form, const ZipOut& out, int64_t* entries,
                     int64_t* visible) {
  const auto pick = [&]<bool has_sizes>() {
    if (out.rep != nullptr && out.def != nullptr)
      return unzip_as<true, true, has_sizes>(regions, form, out, entries, visible);
    if (out.rep != nullptr) return unzip_as<true, false, has_sizes>(regions, form, out, entries, visible);
    if (out.def != nullptr) return unzip_as<false, true, has_sizes>(regions, form, out, entries, visible);
    return unzip_as<false, false, has_sizes>(regions, form, out, entries, visible);
  };
  return out.value_sizes != nullptr ? pick.template operator()<true>() : pick.template operator()<false>();
}

struct ZipRows {
  uint16_t* def;  // may be null
  int64_t* value_starts;
  int64_t* value_sizes;
};

// False where borders and entries disagree, or borders leave the data; outputs are unspecified then.
bool unzip_rows(const uint8_t* data, int64_t data_bytes, const int64_t* borders, int64_t num_rows, int bits_def,
                int bits_per_offset, const ZipRows& out);
Outcome read_row_index(const uint8_t* index, int64_t index_bytes, int64_t num_rows, int64_t stream_bytes, int64_t* out,
                       int64_t num_out);

}  // namespace lance_arrow::engine
