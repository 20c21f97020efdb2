// Levels and values put together entry by entry: the mirror of interleave.hpp (spec 6).
#pragma once

#include "lance_arrow/outcome.hpp"

namespace lance_arrow::engine {

struct ZipLevels {
  const uint16_t* rep;  // may be null
  const uint16_t* def;  // may be null
  int64_t num_entries;
  int bits_def;
  int max_rep;
  int max_visible;  // -1: every entry owns a value
};

struct ZipValues {
  const uint8_t* data;
  int64_t data_bytes;
  const int64_t* offsets;  // null: each value has value_bytes
  int64_t num_values;
  int64_t value_bytes;
};

struct ZipStream {
  uint8_t* bytes;
  int64_t num_bytes;
  int64_t* row_starts;  // may be null; num_rows + 1
  int64_t num_row_starts;
};
Outcome zip_entries(const ZipLevels& levels, const ZipValues& values, const ZipStream& out, int bits_rep,
                    int length_bits, int64_t* written);

}  // namespace lance_arrow::engine
