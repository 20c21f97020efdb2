// selection_bitmap.hpp: values picked by bits, few or most of them; how dense a selection is.
#include <cstring>
#include <random>
#include <vector>

#include "engine/plan/selection_bitmap.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

TEST_CASE("picked values are those whose bit is set, at any density, offset and width") {
  std::mt19937 random(1);
  for (const int64_t width : {1, 2, 3, 4, 8, 16})
    for (const double share : {0.0, 0.03, 0.5, 0.9, 0.97, 1.0})
      for (const int64_t offset : {0, 1, 63}) {
        constexpr int64_t count = 700;
        std::vector<uint8_t> values(static_cast<size_t>(count * width)), bits((count + offset + 7) / 8, 0), expected;
        for (auto& byte : values) byte = static_cast<uint8_t>(random());
        for (int64_t row = 0; row < count; ++row) {
          if (std::bernoulli_distribution(share)(random) == false) continue;
          bits[static_cast<size_t>((offset + row) / 8)] |= static_cast<uint8_t>(1u << (offset + row) % 8);
          expected.insert(expected.end(), values.begin() + row * width, values.begin() + (row + 1) * width);
        }
        // Memory of exactly the size that is needed: a byte behind it would be seen.
        std::vector<uint8_t> picked(expected.size());
        const uint8_t* end = pick_selected(width, values.data(), bits.data(), offset, count, picked.data());
        CHECK(end == picked.data() + picked.size());
        CHECK(picked == expected);
      }
}

TEST_CASE("density counts wanted rows, however long their runs are") {
  std::vector<int64_t> starts, stops;
  for (int64_t run = 0; run < 100; ++run) {
    starts.push_back(100 * run);
    stops.push_back(100 * run + 90);
  }
  SelectionBitmap dense;
  dense.select(starts.data(), stops.data(), 100);
  CHECK(dense.any());
  CHECK(dense.rows_per_wanted() == 1);
  CHECK(dense.count(0, 9990) == 9000);
  for (size_t run = 0; run < stops.size(); ++run) stops[run] = starts[run] + 1;
  SelectionBitmap sparse;
  sparse.select(starts.data(), stops.data(), 100);
  CHECK(sparse.rows_per_wanted() >= 90);
  SelectionBitmap few;
  few.select(starts.data(), stops.data(), 10);
  CHECK_FALSE(few.any());
}

}  // namespace
