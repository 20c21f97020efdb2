#include "engine/encode/leaves/leaf_pages.hpp"

#include <algorithm>

namespace lance_arrow::engine {

namespace {

constexpr char kPadding = 0x48;
constexpr size_t kMostSmallBytes = 64;
constexpr int64_t kOneSumBytes = 16 << 10;
constexpr uint32_t kPageBuffer = 0, kNoColumn = 0xFFFFFFFF;

}  // namespace

void LeafPages::begin(int64_t position) {
  position_ = position;
  piece_.clear();
}

int64_t LeafPages::put(const ByteVector& bytes) {
  const int64_t start = position_ + static_cast<int64_t>(piece_.size());
  piece_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  piece_.append(static_cast<size_t>(-static_cast<int64_t>(bytes.size()) & (kAlignmentBytes - 1)), kPadding);
  return start;
}

Outcome LeafPages::place(const LeafForm& form, const PageRows& rows, const EncodedLeaf& page) {
  PlacedBuffers placed;
  std::vector<size_t> own;
  placed.positions.resize(page.buffers.size());
  // Small buffers come first, so that the others lie side by side.
  for (size_t buffer = 0; buffer < page.buffers.size(); ++buffer) {
    const ByteVector& bytes = page.buffers[buffer];
    const auto size = static_cast<int64_t>(bytes.size());
    placed.sizes.push_back(size);
    if (bytes.empty() || bytes.size() > kMostSmallBytes) {
      own.push_back(buffer);
      continue;
    }
    const std::string key(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto [found, is_new] = small_.try_emplace(key, 0);
    if (is_new) {
      found->second = put(bytes);
      if (sums_ != nullptr && !sums_->cover(kPageBuffer, kNoColumn, found->second, bytes.data(), size))
        return misuse("a buffer is placed before another");
    }
    placed.positions[buffer] = found->second;
  }
  for (const size_t buffer : own) placed.positions[buffer] = put(page.buffers[buffer]);
  std::erase_if(own, [&](size_t buffer) { return page.buffers[buffer].empty(); });
  if (sums_ != nullptr && !own.empty()) {
    const int64_t start = placed.positions[own.front()];
    const int64_t stop = placed.positions[own.back()] + placed.sizes[own.back()];
    const auto column = static_cast<uint32_t>(form.column);
    const auto* bytes = reinterpret_cast<const uint8_t*>(piece_.data());
    // One checksum covers the buffers of a small page, and the padding between them.
    const bool is_one = own.size() == 1 || stop - start <= kOneSumBytes;
    for (const size_t buffer : own) {
      const int64_t from = placed.positions[buffer];
      const int64_t size = is_one ? stop - start : placed.sizes[buffer];
      if (!sums_->cover(kPageBuffer, column, from, bytes + (from - position_), size))
        return misuse("a buffer is placed before another");
      if (is_one) break;
    }
  }
  records_->add_page(form.column, page.description, placed, rows.num_rows, rows.first_row);
  return success();
}

}  // namespace lance_arrow::engine
