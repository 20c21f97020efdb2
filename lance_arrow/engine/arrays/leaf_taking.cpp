#include "engine/arrays/leaf_taking.hpp"

#include <algorithm>

#include "engine/arrays/blobs.hpp"
#include "engine/common/bitmaps.hpp"

namespace lance_arrow::engine {

namespace {

Outcome allocate(ResultMemory* memory, int64_t size, Region* out) {
  *out = {memory->allocate(size), size};
  return out->bytes == nullptr ? above_limit() : success();
}

// Of a bitmap, whose last bits no slot may have.
Outcome allocate_bits(ResultMemory* memory, int64_t count, Region* out) {
  const Outcome outcome = allocate(memory, (count + 7) / 8, out);
  if (outcome.message == nullptr && count > 0) out->bytes[out->size - 1] = 0;
  return outcome;
}

// Of pages, what a form for dictionaries becomes.
Form form_of(const LeafShape& shape, const std::vector<PageRef>& pages) {
  if (shape.form != Form::kStored && shape.form != Form::kJudged) return shape.form;
  const bool have_items =
      std::all_of(pages.begin(), pages.end(), [](const PageRef& ref) { return ref.page->has_few_items(); });
  if (pages.empty() || !have_items) return Form::kPlain;
  return shape.form == Form::kStored ? Form::kCodes : Form::kJudged;
}

}  // namespace

LeafTaking::LeafTaking(const LeafShape& shape, const std::vector<PageRef>& pages, const TakeLimits& limits)
    : shape_(&shape), pages_(&pages), limits_(limits), form_(form_of(shape, pages)) {}

Outcome LeafTaking::begin(std::span<const int64_t> part_rows, ResultMemory* memory) {
  const LeafShape& shape = *shape_;
  bool has_lists = false;
  int64_t num_rows = 0;
  for (const int bits : shape.offset_bits) has_lists |= bits != 0;
  for (const int64_t rows : part_rows) num_rows += rows;
  leaf_.offset_bits = shape.offset_bits;
  leaf_.value_bits = shape.value_bits;
  leaf_.field_bits = shape.field_bits;
  if (!pages_->empty() && !pages_->front().page->parts.empty()) {
    leaf_.value_bits = pages_->front().page->value_bits;
    leaf_.field_bits = pages_->front().page->parts;
  }
  leaf_.lent = leaf_.value_bits > 0 && leaf_.value_bits % 8 == 0 && !has_lists && leaf_.field_bits.empty() &&
               !shape.blobs.has_value();
  const int64_t width = leaf_.value_bits / 8;
  Outcome outcome = success();
  if (form_ != Form::kPlain && part_rows.size() != 1) return misuse("rows of such values are read as one part");
  // Every row is a value of known size, or has a code or a view: it is decoded where Arrow wants it.
  const bool has_codes = form_ == Form::kCodes && !has_lists, has_views = is_viewed() && !has_lists;
  if (leaf_.lent) outcome = allocate(memory, num_rows * width, &lent_);
  else if (has_codes) outcome = allocate(memory, num_rows * int64_t{sizeof(int32_t)}, &lent_);
  else if (has_views) outcome = allocate(memory, num_rows * kViewBytes, &lent_);
  if (outcome.message != nullptr) return outcome;
  leaf_.parts.resize(part_rows.size());
  int64_t start = 0;
  for (size_t number = 0; number < part_rows.size(); ++number) {
    if (part_rows.size() == 1) leaf_.borrow_part();
    else leaf_.parts[number] = std::make_unique<LeafPart>();
    LeafPart* part = leaf_.parts[number].get();
    part->limit = limits_.bytes;
    if (form_ == Form::kCodes) part->coded = std::make_unique<ItemCodes>();
    if (has_codes) part->coded->lend(reinterpret_cast<int32_t*>(lent_.bytes), num_rows);
    if (is_viewed())
      part->viewed =
          std::make_unique<ValueViews>(form_ == Form::kTextViews, std::max<int64_t>(1, limits_.offset / 2 + 1));
    if (has_views) part->viewed->lend(lent_.bytes, num_rows);
    if (is_judged()) part->judged = std::move(judged_);
    if (leaf_.lent) part->values.lend(lent_.bytes + start * width, part_rows[number] * width);
    start += part_rows[number];
  }
  return success();
}

Outcome LeafTaking::run(size_t part, Request* request) {
  return read_leaf(*pages_, request->reader, request->selection, request->rows, leaf_.parts[part].get(),
                   &request->count);
}

// Large values of variable width are decoded where Arrow wants them: growing and copying cost fresh pages.
Outcome LeafTaking::lend_large(const LaRuns& rows, ResultMemory* memory) {
  if (shape_->value_bits != 0 || (form_ != Form::kPlain && !is_viewed())) return success();
  const int64_t num_bytes = expected_bytes(*pages_, rows);
  if (num_bytes <= 0 || num_bytes > limits_.bytes) return success();
  Region* lent = is_viewed() ? &lent_bytes_ : &lent_;
  const Outcome outcome = allocate(memory, num_bytes, lent);
  if (outcome.message == nullptr) leaf_.parts[0]->values.lend(lent->bytes, num_bytes, true);
  return outcome;
}

Outcome LeafTaking::take(int64_t num_rows, Request* request, ResultMemory* memory, LeafOut* out) {
  Outcome outcome = begin({&num_rows, 1}, memory);
  if (outcome.message == nullptr) outcome = lend_large(request->rows, memory);
  if (outcome.message == nullptr) outcome = run(0, request);
  if (outcome.message == nullptr) outcome = finish(request, memory, out);
  if (outcome.message == nullptr) leaf_.give_back_part();
  return outcome;
}

Outcome LeafTaking::finish(Request* request, ResultMemory* memory, LeafOut* out) {
  const size_t num_nodes = shape_->offset_bits.size();
  out->form = form_;
  if (is_judged()) return lay_flags(memory, out);
  if (num_nodes > kMaxLayers) return misuse("there must be 1 to 64 layers");
  int64_t slots[kMaxLayers], num_bytes = 0;
  bool nullable[kMaxLayers];
  Outcome outcome = measure_leaf(leaf_, slots, nullable);
  if (outcome.message != nullptr) return outcome;
  for (const auto& part : leaf_.parts) {
    out->num_values += part->num_values;
    num_bytes += part->num_bytes;
  }
  out->nodes.resize(num_nodes);
  for (size_t node = 0; node < num_nodes; ++node) {
    Region validity, offsets;
    if (nullable[node] && slots[node] > 0) outcome = allocate_bits(memory, slots[node], &validity);
    if (outcome.message != nullptr) return outcome;
    const int bits = shape_->offset_bits[node];
    if (bits == 32 && node > 0 && slots[node - 1] > limits_.offset)
      return misuse("a list has more items than its offsets can count");
    if (bits != 0) outcome = allocate(memory, (slots[node] + 1) * (bits / 8), &offsets);
    if (outcome.message != nullptr) return outcome;
    out->nodes[node] = {validity.bytes, offsets.bytes, slots[node], 0};
  }
  outcome = fill_structure(leaf_, out->nodes.data());
  if (outcome.message != nullptr) return outcome;
  for (NodeOut& node : out->nodes)
    if (node.null_count == 0) node.validity = nullptr;
  if (form_ == Form::kCodes) return lay_codes(memory, out);
  if (is_viewed()) return lay_views(memory, out);
  if (shape_->blobs.has_value()) return read_blobs(request, memory, out);
  if (leaf_.value_bits == kNoValues) return success();
  if (form_ == Form::kKept) {
    outcome = lay_dictionaries(memory, out);
    if (outcome.message != nullptr) return outcome;
  }
  return leaf_.field_bits.empty() ? lay_values(num_bytes, memory, out) : lay_fields(memory, out);
}

Outcome LeafTaking::lay_values(int64_t num_bytes, ResultMemory* memory, LeafOut* out) {
  Outcome outcome = success();
  const int offset_bits = shape_->value_offset_bits;
  out->values = lent_;
  // What outgrew the loan lies elsewhere.
  const bool has_left = shape_->value_bits == 0 && lent_.bytes != nullptr && !leaf_.parts[0]->values.is_lent();
  if (has_left) out->values = {};
  else if (shape_->value_bits == 0) out->values.size = num_bytes;
  if (offset_bits != 0) {
    if (offset_bits == 32 && num_bytes > limits_.offset) return misuse("the values exceed 32-bit offsets");
    outcome = allocate(memory, (out->num_values + 1) * (offset_bits / 8), &out->offsets);
    if (outcome.message != nullptr) return outcome;
  }
  uint8_t* to = nullptr;
  if (out->values.bytes == nullptr) {
    outcome = offset_bits != 0          ? allocate(memory, num_bytes, &out->values)
              : shape_->value_bits == 1 ? allocate_bits(memory, out->num_values, &out->values)
                                        : allocate(memory, out->num_values * (shape_->value_bits / 8), &out->values);
    if (outcome.message != nullptr) return outcome;
    to = out->values.bytes;
  }
  if (to != nullptr || offset_bits != 0) copy_values(leaf_, to, out->offsets.bytes, offset_bits);
  return success();
}

Outcome LeafTaking::lay_fields(ResultMemory* memory, LeafOut* out) {
  std::vector<uint8_t*> addresses;
  for (const int64_t bits : leaf_.field_bits) {
    Region field;
    const Outcome outcome = bits == 0 ? success() : allocate(memory, (out->num_values * bits + 7) / 8, &field);
    if (outcome.message != nullptr) return outcome;
    addresses.push_back(field.bytes);
    out->fields.push_back(field);
  }
  split_fields(leaf_, addresses.data());
  return success();
}

Outcome LeafTaking::lay_codes(ResultMemory* memory, LeafOut* out) {
  const int offset_bits = shape_->value_offset_bits;
  if (leaf_.parts.size() != 1 || offset_bits == 0)
    return misuse("codes are read of values of variable width, in one part");
  LeafPart* part = leaf_.parts[0].get();
  ItemCodes* coded = part->coded.get();
  const NodeOut& node = out->nodes[0];
  if (part->num_values != node.slots || coded->num_codes() != node.slots)
    return misuse("values and slots differ in number");
  Outcome outcome = coded->settle_empty(node.validity, part->limit);
  if (outcome.message != nullptr) return outcome;
  if (offset_bits == 32 && coded->num_item_bytes() > limits_.offset) return misuse("the values exceed 32-bit offsets");
  out->num_items = coded->num_items();
  out->values = lent_;
  if (!coded->is_lent()) outcome = allocate(memory, part->num_values * int64_t{sizeof(int32_t)}, &out->values);
  if (outcome.message == nullptr) outcome = allocate(memory, coded->num_item_bytes(), &out->items);
  if (outcome.message == nullptr)
    outcome = allocate(memory, (out->num_items + 1) * (offset_bits / 8), &out->item_offsets);
  if (outcome.message != nullptr) return outcome;
  if (!coded->is_lent())
    copy_bytes(out->values.bytes, reinterpret_cast<const uint8_t*>(coded->codes()), out->values.size);
  coded->copy_items(out->items.bytes, out->item_offsets.bytes, offset_bits);
  return success();
}

// Lays the items of each page out.
Outcome LeafTaking::lay_dictionaries(ResultMemory* memory, LeafOut* out) {
  const KeptShape& kept = *shape_->kept;
  const NodeOut& node = out->nodes[0];
  if (out->num_values != node.slots) return misuse("values and slots differ in number");
  int64_t at = 0;
  for (const ItemSpan& span : leaf_.parts[0]->spans) {
    const Items* items = span.items;
    DictionaryOut dictionary{span.num_values, 0, {}, {}};
    if (items == nullptr) {
      int64_t num_valid = span.num_values;
      if (node.validity != nullptr) {
        const Outcome outcome = count_bits(node.validity, (node.slots + 7) / 8, at, span.num_values, &num_valid);
        if (outcome.message != nullptr) return outcome;
      }
      if (num_valid > 0) return misuse("a page without a dictionary has valid values");
    } else {
      const bool is_variable = items->offsets != nullptr;
      if (is_variable != (kept.item_bits == 0) || (!is_variable && items->bits != kept.item_bits) ||
          items->num_items > kept.most_items)
        return misuse("a dictionary is not what its type says");
      dictionary.num_items = items->num_items;
      if (kept.item_offset_bits == 32 && items->values_bytes > limits_.offset)
        return misuse("the values exceed 32-bit offsets");
      Outcome outcome = allocate(memory, items->values_bytes, &dictionary.items);
      if (outcome.message == nullptr && is_variable)
        outcome = allocate(memory, (items->num_items + 1) * (kept.item_offset_bits / 8), &dictionary.offsets);
      if (outcome.message == nullptr) copy_bytes(dictionary.items.bytes, items->values, items->values_bytes);
      if (outcome.message == nullptr && is_variable)
        outcome = items->copy_offsets(dictionary.offsets.bytes, kept.item_offset_bits);
      if (outcome.message != nullptr) return outcome;
    }
    out->dictionaries.push_back(dictionary);
    at += span.num_values;
  }
  return success();
}

// Lays views out, and the bytes that they point to.
Outcome LeafTaking::lay_views(ResultMemory* memory, LeafOut* out) {
  LeafPart* part = leaf_.parts[0].get();
  const ValueViews& viewed = *part->viewed;
  const int64_t num_bytes = part->num_bytes;
  if (shape_->value_bits != 0) return misuse("views are read of values of variable width");
  if (part->num_values != out->nodes[0].slots || viewed.num_views() != part->num_values)
    return misuse("values and slots differ in number");
  Outcome outcome = success();
  out->values = lent_;
  if (!viewed.is_lent()) {
    outcome = allocate(memory, part->num_values * kViewBytes, &out->values);
    if (outcome.message != nullptr) return outcome;
    copy_bytes(out->values.bytes, viewed.views(), out->values.size);
  }
  out->buffer_bytes = viewed.buffer_bytes();
  // A loan that is mostly empty would be kept as long as the views.
  if (lent_bytes_.bytes != nullptr && part->values.is_lent() && 2 * num_bytes >= lent_bytes_.size) {
    out->items = {lent_bytes_.bytes, num_bytes};
    return success();
  }
  outcome = allocate(memory, num_bytes, &out->items);
  if (outcome.message == nullptr) copy_bytes(out->items.bytes, part->values.data(), num_bytes);
  return outcome;
}

// Lays flags of rows out as bits.
Outcome LeafTaking::lay_flags(ResultMemory* memory, LeafOut* out) {
  const LeafPart& part = *leaf_.parts[0];
  if (part.judged->num_marks() != part.num_values) return misuse("values and flags differ in number");
  const Outcome outcome = allocate_bits(memory, part.num_values, &out->values);
  if (outcome.message != nullptr) return outcome;
  part.judged->copy_bits(out->values.bytes);
  out->num_values = part.num_values;
  out->nodes = {{nullptr, nullptr, part.num_values, 0}};
  return success();
}

// Reads the blobs whose places were read; of many bytes only memory and positions are there.
Outcome LeafTaking::read_blobs(Request* request, ResultMemory* memory, LeafOut* out) {
  const BlobShape& blobs = *shape_->blobs;
  if (request == nullptr) return misuse("blobs are read where all rows are one part");
  Outcome outcome = allocate(memory, (out->num_values + 1) * (blobs.offset_bits / 8), &out->offsets);
  if (outcome.message != nullptr) return outcome;
  // Places of nulls are empty by now.
  const BlobPlaces places = places_of_rows(leaf_.parts[0]->values.data(), out->num_values);
  int64_t num_bytes = 0;
  outcome = lay_out_blobs(places, blobs.data_stop, blobs.most_bytes, blobs.offset_bits, out->offsets.bytes, &num_bytes);
  if (outcome.message == nullptr) outcome = allocate(memory, num_bytes, &out->values);
  if (outcome.message != nullptr) return outcome;
  if (num_bytes <= blobs.most_at_once)
    return read_laid_out(places, blobs.offset_bits, out->offsets.bytes, 0, out->num_values, request->reader,
                         out->values.bytes, &request->count);
  outcome = allocate(memory, out->num_values * int64_t{sizeof(uint64_t)}, &out->positions);
  if (outcome.message == nullptr) copy_positions(places, out->positions.bytes);
  return outcome;
}

}  // namespace lance_arrow::engine
