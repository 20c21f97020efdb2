// Encoders of chunks and of blocks.
#pragma once

#include "lance_arrow/encoder_tables.hpp"

namespace lance_arrow::codecs {

HeldChunkEncoder* hold_inline_packer(const std::string& description, const ScoreOptions& options);
HeldBlocksEncoder* hold_inline_blocks(const std::string& description, const ScoreOptions& options);

}  // namespace lance_arrow::codecs
