#include "engine/encode/leaves/leaf_encoding.hpp"

#include "engine/common/layer_kinds.hpp"
#include "engine/tables/column_records.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kZippedFromBytes = 256;

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

bool LeafEncoder::choose(const EncoderSet& encoders, const LaPage& page, std::string* description) {
  PageHost held{&encoders, page.values};
  const LaPageHost host{&held, &estimate_chunks, &encode_chunks, &encode_blocks};
  Best<EncoderSet::Layout> best;
  for (const EncoderSet::Layout& one : encoders.layouts) {
    // No score is smaller, and names decide between equal ones.
    if (best.encoder != nullptr && best.score == 0) break;
    if (!best.offer(&one, one.encoder->score(one.encoder->self, &page, &host))) return false;
  }
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

Outcome LeafEncoder::encode(const LeafForm& form, const EncoderSet& encoders, const PageRows& rows, EncodedLeaf* out) {
  parts_.clear();
  for (const HeldPart& part : rows.parts) parts_.push_back(part.rows);
  Outcome outcome = values_.open(parts_, form.path, form.bits, form.offset_bits);
  if (outcome.message != nullptr) return outcome;
  // Text that is none has no bounds: Python refuses the page, and says where.
  out->is_asked = form.bits == 0 && form.zones.is_text && !values_.is_text();
  if (out->is_asked) return success();
  if (form.zones.rows_per_zone > 0) outcome = bound_leaf(form.zones, values_, rows.first_row, &out->bounds);
  if (outcome.message != nullptr) return outcome;
  const LeafLevels& levels = values_.levels();
  const std::vector<uint8_t>& layers = levels.layers();
  const int64_t largest = form.bits == 0 ? values_.block().max_value_bytes : form.bits / 8;
  // Python marks large items of lists as nullable, for releases of the reference (`arrays/readable_items.py`).
  out->is_asked = levels.max_rep() > 0 && layers[0] == kAllValidItem && largest >= kZippedFromBytes;
  if (out->is_asked) return success();
  const LaPage page{&values_.block(),
                    rows.num_rows,
                    levels.num_entries(),
                    levels.max_def() == 0 ? nullptr : levels.def().data(),
                    levels.max_def(),
                    layers.data(),
                    static_cast<int64_t>(layers.size()),
                    levels.max_rep() == 0 ? nullptr : levels.rep().data(),
                    levels.max_rep(),
                    levels.max_visible(),
                    values_.value_levels()};
  out->is_asked = !choose(encoders, page, &out->description);
  if (!out->is_asked) out->buffers = std::move(page_.buffers);
  return success();
}

}  // namespace lance_arrow::engine
