// Encoders of chunks and of blocks.
#pragma once

#include "lance_arrow/encoder_tables.hpp"

namespace lance_arrow::codecs {

HeldChunkEncoder* hold_run_encoder(const std::string& description, const ScoreOptions& options);
HeldBlocksEncoder* hold_run_blocks(const std::string& description, const ScoreOptions& options);

}  // namespace lance_arrow::codecs
