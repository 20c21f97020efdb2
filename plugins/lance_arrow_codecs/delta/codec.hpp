// The C table of a first integer and the distances of neighbours.
#pragma once

#include "lance_arrow/codec_tables.hpp"

namespace lance_arrow::codecs {

// A first integer, and the distances of neighbours from `deltas`, which has as many bits. They wrap around.
HeldChunkCodec* hold_delta(int64_t bits, uint64_t base, const LaChunkCodec* deltas);

}  // namespace lance_arrow::codecs
