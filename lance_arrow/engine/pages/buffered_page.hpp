// Pages whose bytes lie in memory: what a layout has read, and brought into the form that another page reads.
#pragma once

#include "engine/plan/pages.hpp"

namespace lance_arrow::engine {

// `page` has its index already; all that it plans lies in the `num_bytes` of `data`. Both outlive the new page, which
// the caller owns.
Page* new_buffered_page(const Page* page, const uint8_t* data, int64_t num_bytes);

}  // namespace lance_arrow::engine
