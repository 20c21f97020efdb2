// Stable row ids of a fragment as a manifest stores them: how many there are, and whether all are in use.
#pragma once

#include "engine/tables/wire.hpp"

namespace lance_arrow::engine {

constexpr uint64_t kMostFragmentRows = uint64_t{1} << 32;  // their offsets have 32 bits

// Whether a RowIdSequence surely is one of `num_rows` ids (0: of any number), all of them below `next_id`.
bool holds_row_ids(Bytes message, uint64_t num_rows, uint64_t next_id);

}  // namespace lance_arrow::engine
