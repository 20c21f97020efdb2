// Encoders of chunks and of blocks.
#pragma once

#include "lance_arrow/encoder_tables.hpp"

namespace lance_arrow::codecs {

HeldChunkEncoder* hold_flat_encoder(const std::string& description);
HeldBlocksEncoder* hold_flat_blocks(const std::string& description);

}  // namespace lance_arrow::codecs
