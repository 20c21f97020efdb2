#include "engine/encode/leaf_encoding.hpp"

#include <algorithm>

#include "engine/common/bitmaps.hpp"
#include "engine/encode/bounds.hpp"

namespace lance_arrow::engine {

namespace {

constexpr char kPadding = 0x48;
constexpr size_t kMostSmallBytes = 64;
constexpr int64_t kOneSumBytes = 16 << 10;
constexpr uint32_t kPageBuffer = 0, kNoColumn = 0xFFFFFFFF;
// Source: RepDefLayer.
constexpr uint8_t kAllValidItem = 1, kNullableItem = 3;

// --- choices --------------------------------------------------------------------------------------------------------

template <class Encoder>
struct Best {
  const Encoder* encoder = nullptr;
  double score = LANCE_ARROW_UNFIT;

  // False where only Python knows.
  bool offer(const Encoder* one, double found) {
    if (found == LANCE_ARROW_ASK) return false;
    if (found >= 0 && (encoder == nullptr || found < score)) {
      encoder = one;
      score = found;
    }
    return true;
  }
};

bool choose_chunks(const EncoderSet& encoders, const LaBlock* block, const LaChunkRules* rules,
                   Best<LaChunkEncoder>* best) {
  for (const LaChunkEncoder* one : encoders.chunks)
    if (!best->offer(one, one->score(one->self, block, rules))) return false;
  return true;
}

double estimate_chunks(void* host, const LaBlock* block, const LaChunkRules* rules) {
  Best<LaChunkEncoder> best;
  if (!choose_chunks(*static_cast<const EncoderSet*>(host), block, rules, &best)) return LANCE_ARROW_ASK;
  return best.encoder == nullptr ? LANCE_ARROW_UNFIT : best.score;
}

LaRefusal encode_chunks(void* host, const LaBlock* block, const LaChunkRules* rules, LaEncoded* out) {
  Best<LaChunkEncoder> best;
  if (!choose_chunks(*static_cast<const EncoderSet*>(host), block, rules, &best) || best.encoder == nullptr)
    return "no codec can be chosen natively";
  if (const LaRefusal refusal = best.encoder->encode(best.encoder->self, block, rules, out)) return refusal;
  return static_cast<const Encoded*>(out->host)->is_whole(block->num_values) ? nullptr
                                                                             : "an encoder wrote no whole chunks";
}

LaRefusal encode_blocks(void* host, const LaBlock* block, const int64_t* starts, int64_t num_blocks, LaEncoded* out) {
  Best<LaBlocksEncoder> best;
  for (const LaBlocksEncoder* one : static_cast<const EncoderSet*>(host)->blocks)
    if (!best.offer(one, one->score(one->self, block, starts, num_blocks))) return "the codec is chosen in Python";
  if (best.encoder == nullptr) return "no codec can be chosen natively";
  if (const LaRefusal refusal = best.encoder->encode(best.encoder->self, block, starts, num_blocks, out))
    return refusal;
  const auto* encoded = static_cast<const Encoded*>(out->host);
  const bool is_whole = encoded->is_whole(block->num_values) &&
                        static_cast<int64_t>(encoded->counts.size()) == num_blocks && encoded->buffers.size() <= 1;
  return is_whole ? nullptr : "an encoder did not encode each block";
}

}  // namespace

int64_t num_nulls(const ArrowArray& array, int64_t num_rows) {
  const auto* validity = static_cast<const uint8_t*>(array.n_buffers > 0 ? array.buffers[0] : nullptr);
  if (validity == nullptr || array.null_count == 0) return 0;
  int64_t num_valid = num_rows;
  count_bits(validity, (array.offset + num_rows + 7) / 8, array.offset, num_rows, &num_valid);
  return num_rows - num_valid;
}

// --- pages ----------------------------------------------------------------------------------------------------------

void LeafPages::begin(int64_t position) {
  position_ = position;
  piece_.clear();
}

Outcome LeafPages::open(const LeafForm& form, const ArrowArray& array, int64_t num_rows) {
  if (array.length < num_rows || array.n_buffers < 2) return misuse("an array has another form than its leaf");
  const auto* validity = static_cast<const uint8_t*>(array.buffers[0]);
  const auto* values = static_cast<const uint8_t*>(array.buffers[1]);
  if (values == nullptr) return misuse("an array has no values");
  const int64_t width = form.bits / 8;
  const int64_t num_valid = num_rows - num_nulls(array, num_rows);
  const auto num_bits_bytes = static_cast<size_t>((num_rows + 7) / 8);
  levels_.clear();
  if (num_valid < num_rows) {
    present_.assign(num_bits_bytes, 0);
    copy_bit_run(validity, array.offset, present_.data(), 0, num_rows);
    levels_.resize(static_cast<size_t>(num_rows));
    for (int64_t row = 0; row < num_rows; ++row)
      levels_[static_cast<size_t>(row)] =
          static_cast<uint16_t>((~present_[static_cast<size_t>(row / 8)] >> (row % 8)) & 1);
  }
  const uint8_t* block = values + array.offset * width;
  if (form.bits == 1) {
    copy_.assign(num_bits_bytes, 0);
    copy_bit_run(values, array.offset, copy_.data(), 0, num_rows);
    if (!levels_.empty())
      for (size_t byte = 0; byte < num_bits_bytes; ++byte) copy_[byte] &= present_[byte];
    block = copy_.data();
  } else if (!levels_.empty()) {
    copy_.assign(block, block + num_rows * width);
    for (int64_t row = 0; row < num_rows; ++row)
      if (levels_[static_cast<size_t>(row)] != 0)
        std::memset(copy_.data() + row * width, 0, static_cast<size_t>(width));
    block = copy_.data();
  }
  const Outcome outcome = values_.set(block, form.bits, num_rows);
  if (!levels_.empty()) {
    values_.block.present = present_.data();
    values_.block.num_nulls = num_rows - num_valid;
  }
  return outcome;
}

bool LeafPages::encode(const EncoderSet& encoders, const LaPage& page, std::string* description) {
  const LaPageHost host{const_cast<EncoderSet*>(&encoders), &estimate_chunks, &encode_chunks, &encode_blocks};
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
  for (size_t buffer = 0; buffer < page_.buffers.size(); ++buffer) {
    const ByteVector& bytes = page_.buffers[buffer];
    const auto size = static_cast<int64_t>(bytes.size());
    page_bytes_ += size;
    placed.sizes.push_back(size);
    if (bytes.empty() || bytes.size() > kMostSmallBytes) {
      if (!bytes.empty()) own.push_back(buffer);
      placed.positions.push_back(put(bytes));
      continue;
    }
    const std::string key(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto [found, is_new] = small_.try_emplace(key, 0);
    if (is_new) {
      found->second = put(bytes);
      if (sums_ != nullptr && !sums_->cover(kPageBuffer, kNoColumn, found->second, bytes.data(), size))
        return misuse("a buffer is placed before another");
    }
    placed.positions.push_back(found->second);
  }
  if (sums_ != nullptr && !own.empty()) {
    const int64_t start = placed.positions[own.front()];
    const int64_t stop = placed.positions[own.back()] + placed.sizes[own.back()];
    const auto column = static_cast<uint32_t>(form.column);
    const auto* bytes = reinterpret_cast<const uint8_t*>(piece_.data());
    // One checksum covers the buffers of a small page, and the padding between them.
    const bool is_one = own.size() == 1 || (stop - start <= kOneSumBytes && own.size() == own.back() - own.front() + 1);
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

Outcome LeafPages::add(const LeafForm& form, const EncoderSet& encoders, const ArrowArray& array, int64_t num_rows,
                       int64_t first_row, LeafBounds* bounds, bool* is_asked) {
  Outcome outcome = open(form, array, num_rows);
  if (outcome.message != nullptr) return outcome;
  const LaBlock& block = values_.block;
  if (form.rows_per_zone > 0) {
    bounds->column = form.column;
    bounds->num_zones = (num_rows + form.rows_per_zone - 1) / form.rows_per_zone;
    const auto num_zones = static_cast<size_t>(bounds->num_zones);
    std::vector<int64_t> starts;
    for (int64_t row = 0; row < num_rows; row += form.rows_per_zone) starts.push_back(row);
    starts.push_back(num_rows);
    bounds->mins.assign(num_zones * static_cast<size_t>(form.zone_width), 0);
    bounds->maxs = bounds->mins;
    bounds->counts.assign(3 * num_zones, 0);
    const Validity validity{block.present, static_cast<int64_t>(present_.size()), 0};
    const ZoneCounts counts{bounds->counts.data(), bounds->counts.data() + num_zones,
                            bounds->counts.data() + 2 * num_zones};
    outcome = bound_fixed(block.values, block.num_bytes, 0, form.zone_kind, form.zone_width, validity,
                          {starts.data(), bounds->num_zones}, bounds->mins.data(), bounds->maxs.data(),
                          static_cast<int64_t>(bounds->mins.size()), counts);
    if (outcome.message != nullptr) return outcome;
  }
  const uint8_t layer = levels_.empty() ? kAllValidItem : kNullableItem;
  const LaPage page{&block,           num_rows, num_rows, levels_.empty() ? nullptr : levels_.data(),
                    !levels_.empty(), &layer,   1};
  std::string description;
  *is_asked = !encode(encoders, page, &description);
  return *is_asked ? success() : place(form, description, num_rows, first_row);
}

}  // namespace lance_arrow::engine
