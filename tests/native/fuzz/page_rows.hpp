// Rows of one page of a file in memory.
#pragma once

#include "engine/plan/leaf_reader.hpp"
#include "input.hpp"

namespace fuzz {

struct PageRows {
  lance_arrow::engine::LeafPart part;
  bool is_good;

  PageRows(const lance_arrow::engine::PageRef& ref, const Buffer& file, int64_t start, int64_t stop) {
    part.limit = 1 << 20;
    lance_arrow::engine::ReadCount count;
    const lance_arrow::engine::Reader reader{-1, file.data(), file.size, nullptr};
    is_good = read_leaf({ref}, reader, nullptr, {&start, &stop, 1}, &part, &count).message == nullptr;
  }
};

}  // namespace fuzz
