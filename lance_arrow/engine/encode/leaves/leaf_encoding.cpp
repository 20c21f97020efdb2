#include "engine/encode/leaves/leaf_encoding.hpp"

#include <algorithm>

namespace lance_arrow::engine {

namespace {

constexpr char kPadding = 0x48;
constexpr size_t kMostSmallBytes = 64;
constexpr int64_t kOneSumBytes = 16 << 10;
constexpr uint32_t kPageBuffer = 0, kNoColumn = 0xFFFFFFFF;

// What layouts ask about a page. The choice for the page's own values is kept: a layout that scores asks again.
struct PageHost {
  const EncoderSet* encoders;
  const LaBlock* values;
  LaChunkRules rules{};
  Best<LaChunkEncoder> best{};
  double score = 0;
  bool is_chosen = false;

  double choose(const LaBlock* block, const LaChunkRules* of, Best<LaChunkEncoder>* found) {
    const bool is_kept = is_chosen && block == values && of->max_bytes == rules.max_bytes &&
                         of->max_values == rules.max_values && of->target_bytes == rules.target_bytes;
    if (is_kept) {
      *found = best;
      return score;
    }
    const double own = encoders->chunks.choose(block, of, found);
    if (block == values) {
      rules = *of;
      best = *found;
      score = own;
      is_chosen = true;
    }
    return own;
  }
};

double estimate_chunks(void* host, const LaBlock* block, const LaChunkRules* rules) {
  Best<LaChunkEncoder> best;
  return static_cast<PageHost*>(host)->choose(block, rules, &best);
}

LaRefusal encode_chunks(void* host, const LaBlock* block, const LaChunkRules* rules, LaEncoded* out) {
  Best<LaChunkEncoder> best;
  if (static_cast<PageHost*>(host)->choose(block, rules, &best) < 0) return "no codec can be chosen natively";
  return encode_chosen(best, block, rules, out);
}

LaRefusal encode_blocks(void* host, const LaBlock* block, const int64_t* starts, int64_t num_blocks, LaEncoded* out) {
  return static_cast<const PageHost*>(host)->encoders->blocks.encode(block, starts, num_blocks, out);
}

}  // namespace

Outcome check_leaf(const LeafForm& form, const ArrowArray& batch, LeafLevels* levels, bool* is_refused) {
  *is_refused = false;
  const bool is_nullable = std::ranges::all_of(form.path, &PathStep::nullable);
  if (is_nullable && form.bits != 0) return success();
  if (!is_nullable) {
    const Outcome outcome = levels->open(batch, form.path, batch.length);
    *is_refused = levels->has_refused_null();
    if (outcome.message != nullptr) return outcome;
  }
  if (form.bits != 0) return success();
  ArrowArray leaf{};
  const Outcome outcome = array_of_leaf(batch, form.path, &leaf);
  if (outcome.message == nullptr) *is_refused |= offsets_go_back(leaf, batch.length, form.offset_bits);
  return outcome;
}

Outcome count_string_bytes(const LeafForm& form, const ArrowArray& batch, int64_t* num_bytes) {
  *num_bytes = 0;
  if (form.bits != 0) return success();
  ArrowArray leaf{};
  const Outcome outcome = array_of_leaf(batch, form.path, &leaf);
  if (outcome.message == nullptr) *num_bytes = string_bytes(leaf, batch.length, form.offset_bits);
  return outcome;
}

void LeafPages::begin(int64_t position) {
  position_ = position;
  piece_.clear();
}

bool LeafPages::encode(const EncoderSet& encoders, const LaPage& page, std::string* description) {
  PageHost held{&encoders, page.values};
  const LaPageHost host{&held, &estimate_chunks, &encode_chunks, &encode_blocks};
  Best<EncoderSet::Layout> best;
  for (const EncoderSet::Layout& one : encoders.layouts)
    if (!best.offer(&one, one.encoder->score(one.encoder->self, &page, &host))) return false;
  if (best.encoder == nullptr) return false;
  page_.clear();
  LaEncoded out = page_.face();
  const LaPageEncoder& layout = *best.encoder->encoder;
  // A refusal is no error: Python writes the page, or raises.
  if (layout.encode(layout.self, &page, &host, &out) != nullptr || page_.description.empty()) return false;
  const std::string_view message{reinterpret_cast<const char*>(page_.description.data()), page_.description.size()};
  *description = any_message(best.encoder->type_url, message);
  return true;
}

int64_t LeafPages::put(const ByteVector& bytes) {
  const int64_t start = position_ + static_cast<int64_t>(piece_.size());
  piece_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  piece_.append(static_cast<size_t>(-static_cast<int64_t>(bytes.size()) & (kAlignmentBytes - 1)), kPadding);
  return start;
}

Outcome LeafPages::place(const LeafForm& form, const std::string& description, int64_t num_rows, int64_t first_row) {
  PlacedBuffers placed;
  std::vector<size_t> own;
  page_bytes_ = 0;
  placed.positions.resize(page_.buffers.size());
  // Small buffers come first, so that the others lie side by side.
  for (size_t buffer = 0; buffer < page_.buffers.size(); ++buffer) {
    const ByteVector& bytes = page_.buffers[buffer];
    const auto size = static_cast<int64_t>(bytes.size());
    page_bytes_ += size;
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
  for (const size_t buffer : own) placed.positions[buffer] = put(page_.buffers[buffer]);
  std::erase_if(own, [&](size_t buffer) { return page_.buffers[buffer].empty(); });
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
  records_->add_page(form.column, description, placed, num_rows, first_row);
  return success();
}

Outcome LeafPages::add(const LeafForm& form, const EncoderSet& encoders, const ArrowArray& batch, int64_t num_rows,
                       int64_t first_row, LeafBounds* bounds, bool* is_asked) {
  Outcome outcome = values_.open(batch, form.path, num_rows, form.bits, form.offset_bits);
  if (outcome.message != nullptr) return outcome;
  bounds->column = form.column;
  // Text that is none has no bounds: Python refuses the page, and says where.
  *is_asked = form.bits == 0 && form.zones.is_text && !values_.is_text();
  if (*is_asked) return success();
  if (form.zones.rows_per_zone > 0) outcome = bound_leaf(form.zones, values_, num_rows, bounds);
  if (outcome.message != nullptr) return outcome;
  const LeafLevels& levels = values_.levels();
  const std::vector<uint8_t>& layers = levels.layers();
  const LaPage page{&values_.block(),
                    num_rows,
                    num_rows,
                    levels.max_def() == 0 ? nullptr : levels.def().data(),
                    levels.max_def(),
                    layers.data(),
                    static_cast<int64_t>(layers.size())};
  std::string description;
  *is_asked = !encode(encoders, page, &description);
  return *is_asked ? success() : place(form, description, num_rows, first_row);
}

}  // namespace lance_arrow::engine
