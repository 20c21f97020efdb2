// The encoder of blocks.
#pragma once

#include "lance_arrow/encoder_tables.hpp"

namespace lance_arrow::codecs {

// A description for each number of packed bits, from 0 on.
HeldBlocksEncoder* hold_packed_blocks(const std::vector<std::string>& descriptions, const ScoreOptions& options,
                                      bool packs_zeros);

}  // namespace lance_arrow::codecs
