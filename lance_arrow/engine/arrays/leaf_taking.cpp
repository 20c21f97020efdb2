#include "engine/arrays/leaf_taking.hpp"

#include <algorithm>

#include "engine/arrays/blobs.hpp"
#include "engine/common/bitmaps.hpp"
#include "engine/common/utf8.hpp"

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

// Continues offsets, of which the first `at` and one more are there.
template <class Offset>
void add_ends(const std::vector<int64_t>& ends, int64_t base, uint8_t* offsets, int64_t at) {
  for (const int64_t end : ends) store<Offset>(offsets, ++at, static_cast<Offset>(base + end));
}

// Of pages, what a form for dictionaries becomes. A page without one, like a short last one, does not have the rows of
// all others expanded: its values are looked up one by one, and get codes as theirs. Values of one width have no codes.
Form form_of(const LeafShape& shape, const std::vector<PageRef>& pages) {
  constexpr int64_t rows_per_lookup = 16;
  if (shape.form != Form::kStored && shape.form != Form::kJudged) return shape.form;
  if (shape.numbers != nullptr) {
    const auto can_be_judged = [&](const PageRef& ref) {
      return (ref.page->has_numbers() && ref.page->value_bits == shape.numbers->bits) || ref.page->has_few_items();
    };
    return std::all_of(pages.begin(), pages.end(), can_be_judged) ? Form::kJudged : Form::kPlain;
  }
  int64_t coded = 0, others = 0;
  bool can_be_judged = shape.texts != nullptr;
  for (const PageRef& ref : pages) {
    const bool is_coded = ref.page->has_few_items();
    (is_coded ? coded : others) += ref.page->num_rows;
    can_be_judged = can_be_judged && (is_coded ? !shape.keeps_codes : ref.page->has_texts());
  }
  if (can_be_judged) return Form::kJudged;
  if (coded == 0 || others > coded / rows_per_lookup || (others > 0 && shape.value_bits != 0)) return Form::kPlain;
  return shape.form == Form::kJudged && others == 0 && !shape.keeps_codes ? Form::kJudged : Form::kCodes;
}

}  // namespace

LeafTaking::LeafTaking(const LeafShape& shape, const std::vector<PageRef>& pages, const ListPages& lists,
                       const LeafTaking* beside, const TakeLimits& limits)
    : shape_(&shape), pages_(&pages), lists_(&lists), beside_(beside), limits_(limits), form_(form_of(shape, pages)) {}

Outcome LeafTaking::begin(std::span<const int64_t> part_rows, ResultMemory* memory) {
  const LeafShape& shape = *shape_;
  bool has_lists = false;
  int64_t num_rows = 0;
  for (const int bits : shape.offset_bits) has_lists |= bits != 0;
  for (const int64_t rows : part_rows) num_rows += rows * shape.lengths_per_row;
  // Pages below columns of lists know of nothing above the leaf.
  leaf_.offset_bits = shape.offset_bits;
  if (is_below_lists()) leaf_.offset_bits = leaf_.offset_bits.first(1);
  else leaf_.dimensions = shape.dimensions;
  leaf_.value_bits = shape.value_bits;
  leaf_.field_bits = shape.field_bits;
  if (!pages_->empty() && !pages_->front().page->parts.empty()) {
    leaf_.value_bits = pages_->front().page->value_bits;
    leaf_.field_bits = pages_->front().page->parts;
  }
  leaf_.lent = leaf_.value_bits > 0 && leaf_.value_bits % 8 == 0 && !has_lists && leaf_.field_bits.empty() &&
               !shape.blobs.has_value() && !is_judged();
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
  list_parts_.resize(is_below_lists() ? part_rows.size() : 0);
  int64_t start = 0;
  for (size_t number = 0; number < part_rows.size(); ++number) {
    if (part_rows.size() == 1) leaf_.borrow_part();
    else leaf_.parts[number] = std::make_unique<LeafPart>();
    LeafPart* part = leaf_.parts[number].get();
    part->limit = limits_.bytes;
    if (form_ == Form::kCodes) part->coded = std::make_unique<ItemCodes>(shape_->is_text);
    if (has_codes) part->coded->lend(reinterpret_cast<int32_t*>(lent_.bytes), num_rows);
    if (is_viewed())
      part->viewed =
          std::make_unique<ValueViews>(form_ == Form::kTextViews, std::max<int64_t>(1, limits_.offset / 2 + 1));
    if (has_views) part->viewed->lend(lent_.bytes, num_rows);
    if (is_judged()) part->judged = std::move(judged_);
    const int64_t num_values = part_rows[number] * shape.lengths_per_row;
    if (leaf_.lent) part->values.lend(lent_.bytes + start * width, num_values * width);
    start += num_values;
  }
  return success();
}

Outcome LeafTaking::run(size_t part, Request* request) {
  if (!is_below_lists()) {
    const CountedRows rows(request->rows, shape_->lengths_per_row);
    const SelectionBitmap* selection = rows.are_rows() ? request->selection : nullptr;
    return read_leaf(*pages_, request->reader, selection, rows.view(), leaf_.parts[part].get(), &request->count);
  }
  LaRuns values{};
  const Outcome outcome = descend(part, request, &values);
  return outcome.message != nullptr
             ? outcome
             : read_leaf(*pages_, request->reader, nullptr, values, leaf_.parts[part].get(), &request->count);
}

// Reads the columns of lists above the leaf.
Outcome LeafTaking::descend(size_t part, Request* request, LaRuns* values) {
  ListParts* parts = &list_parts_[part];
  if (parts->empty() && beside_ != nullptr && beside_->list_parts_.size() > part) {
    const ListParts& others = beside_->list_parts_[part];
    const size_t count = std::min(num_shared(*lists_, *beside_->lists_), others.size());
    parts->assign(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return read_lists(*lists_, request->reader, request->rows, limits_.bytes, parts, values, &request->count);
}

// Makes room for values below lists, once these are known; those of one width are decoded where Arrow wants them.
Outcome LeafTaking::make_room(ResultMemory* memory) {
  const int64_t width = leaf_.value_bits / 8, num_values = list_parts_[0].back()->num_bytes;
  LeafPart* part = leaf_.parts[0].get();
  if (leaf_.value_bits == 0 && num_values <= limits_.bytes / 8) {
    part->ends.reserve(static_cast<size_t>(num_values));
    part->def.reserve(static_cast<size_t>(num_values));
  }
  if (leaf_.value_bits <= 0 || leaf_.value_bits % 8 != 0 || !leaf_.field_bits.empty() || shape_->blobs.has_value())
    return success();
  if (num_values > limits_.bytes / width) return above_limit();
  const Outcome outcome = allocate(memory, num_values * width, &lent_);
  leaf_.lent = outcome.message == nullptr;
  if (leaf_.lent) part->values.lend(lent_.bytes, lent_.size);
  return outcome;
}

// Large values of variable width are decoded where Arrow wants them: growing and copying cost fresh pages. Where pages
// do not tell how much memory they need, the first of them do.
Outcome LeafTaking::lend_large(const LaRuns& rows, ResultMemory* memory) {
  if (shape_->value_bits != 0 || (form_ != Form::kPlain && !is_viewed())) return success();
  LeafPart* part = leaf_.parts[0].get();
  const int64_t num_bytes = expected_bytes(*pages_, rows);
  if (num_bytes > limits_.bytes) return success();
  if (num_bytes <= 0) {
    const auto lend = [](void* self, int64_t size) {
      auto* taking = static_cast<LeafTaking*>(self);
      taking->lent_ = {taking->memory_->allocate(size), size};
      return taking->lent_.bytes;
    };
    const bool is_one_each = leaf_.offset_bits.size() == 1 && leaf_.offset_bits[0] == 0;
    if (form_ == Form::kPlain && is_one_each && !shape_->blobs.has_value())
      part->lender = {num_selected(rows), lend, this};
    memory_ = memory;
    return success();
  }
  Region* lent = is_viewed() ? &lent_bytes_ : &lent_;
  const Outcome outcome = allocate(memory, num_bytes, lent);
  if (outcome.message == nullptr) part->values.lend(lent->bytes, num_bytes, true);
  return outcome;
}

Outcome LeafTaking::take(int64_t num_rows, Request* request, ResultMemory* memory, LeafOut* out) {
  Outcome outcome = begin({&num_rows, 1}, memory);
  LaRuns values = request->rows;
  if (outcome.message == nullptr && is_below_lists()) {
    outcome = descend(0, request, &values);
    if (outcome.message == nullptr) outcome = make_room(memory);
  }
  if (outcome.message == nullptr) outcome = lend_large(CountedRows(values, shape_->lengths_per_row).view(), memory);
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
  Outcome outcome = share_levels(&leaf_);
  if (outcome.message == nullptr) outcome = measure_leaf(leaf_, slots, nullable);
  if (outcome.message != nullptr) return outcome;
  for (const auto& part : leaf_.parts) {
    out->num_values += part->num_values;
    num_bytes += part->num_bytes;
  }
  out->nodes.resize(num_nodes);
  for (size_t node = 0; node < leaf_.offset_bits.size(); ++node) {
    Region validity, offsets;
    if (nullable[node] && slots[node] > 0) outcome = allocate_bits(memory, slots[node], &validity);
    if (outcome.message != nullptr) return outcome;
    const int bits = shape_->offset_bits[node];
    if (bits == 32 && node > 0 && slots[node - 1] > limits_.offset) return beyond_offsets();
    if (bits != 0) outcome = allocate(memory, (slots[node] + 1) * (bits / 8), &offsets);
    if (outcome.message != nullptr) return outcome;
    out->nodes[node] = {validity.bytes, offsets.bytes, slots[node], 0};
  }
  outcome = fill_structure(leaf_, out->nodes.data());
  if (outcome.message == nullptr && is_below_lists()) outcome = lay_lists(memory, out);
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

// Lays the nodes above the leaf out: structs, of which none is null, and lists whose ends were read.
Outcome LeafTaking::lay_lists(ResultMemory* memory, LeafOut* out) {
  size_t level = lists_->size();
  for (size_t node = 1; node < out->nodes.size(); ++node) {
    const int bits = shape_->offset_bits[node];
    const int64_t num_inner = out->nodes[node - 1].slots;
    out->nodes[node] = {nullptr, nullptr, num_inner, 0};
    if (bits == 0) continue;
    if (level == 0) return misuse("lists and nodes differ in number");
    --level;
    int64_t num_lists = 0, num_items = 0;
    for (const ListParts& parts : list_parts_) {
      num_lists += parts[level]->num_values;
      num_items += parts[level]->num_bytes;
    }
    if (num_items != num_inner) return corrupt("lists hold more or fewer items than there are", -1);
    if (bits == 32 && num_items > limits_.offset) return beyond_offsets();
    Region offsets, validity;
    Outcome outcome = allocate(memory, (num_lists + 1) * (bits / 8), &offsets);
    if (outcome.message == nullptr && num_lists > 0) outcome = allocate_bits(memory, num_lists, &validity);
    if (outcome.message != nullptr) return outcome;
    NodeOut& laid = out->nodes[node];
    laid = {validity.bytes, offsets.bytes, num_lists, 0};
    if (bits == 32) store<int32_t>(offsets.bytes, 0, 0);
    else store<int64_t>(offsets.bytes, 0, 0);
    int64_t at = 0, base = 0;
    for (const ListParts& parts : list_parts_) {
      const LeafPart& part = *parts[level];
      if (bits == 32) add_ends<int32_t>(part.ends, base, offsets.bytes, at);
      else add_ends<int64_t>(part.ends, base, offsets.bytes, at);
      int64_t nulls = 0;
      if (part.num_values > 0)
        outcome =
            validity_from_levels(part.def.data(), part.num_values, 1, laid.validity, (num_lists + 7) / 8, at, &nulls);
      if (outcome.message != nullptr) return outcome;
      laid.null_count += nulls;
      at += part.num_values;
      base += part.num_bytes;
    }
  }
  return level == 0 ? success() : misuse("lists and nodes differ in number");
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
    if (offset_bits == 32 && num_bytes > limits_.offset) return beyond_offsets();
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
  return shape_->is_text && offset_bits != 0 ? check_text(*out) : success();
}

// All values are one text; a wrong one tells its page.
Outcome LeafTaking::check_text(const LeafOut& out) const {
  const Outcome outcome =
      check_utf8({out.offsets.bytes, out.offsets.size, shape_->value_offset_bits}, out.values.bytes, out.values.size);
  if (outcome.message == nullptr) return outcome;
  int64_t value = outcome.index;
  for (const auto& part : leaf_.parts)
    for (const ItemSpan& span : part->spans) {
      if (value < span.num_values) return outcome.in_page(span.page_row);
      value -= span.num_values;
    }
  return outcome;
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
  if (offset_bits == 32 && coded->num_item_bytes() > limits_.offset) return misuse("the items exceed 32-bit offsets");
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
      if (num_valid > 0) return corrupt("a page without a dictionary has valid values", -1);
    } else {
      const bool is_variable = items->offsets != nullptr;
      if (is_variable != (kept.item_bits == 0) || (!is_variable && items->bits != kept.item_bits) ||
          items->num_items > kept.most_items)
        return corrupt("a dictionary is not what its type says", -1);
      dictionary.num_items = items->num_items;
      if (kept.item_offset_bits == 32 && items->values_bytes > limits_.offset)
        return misuse("the items exceed 32-bit offsets");
      Outcome outcome = allocate(memory, items->values_bytes, &dictionary.items);
      if (outcome.message == nullptr && is_variable)
        outcome = allocate(memory, (items->num_items + 1) * (kept.item_offset_bits / 8), &dictionary.offsets);
      if (outcome.message == nullptr) copy_bytes(dictionary.items.bytes, items->values, items->values_bytes);
      if (outcome.message == nullptr && is_variable)
        outcome = items->copy_offsets(dictionary.offsets.bytes, kept.item_offset_bits);
      if (outcome.message == nullptr && is_variable && shape_->is_text)
        outcome = check_utf8({dictionary.offsets.bytes, dictionary.offsets.size, kept.item_offset_bits},
                             dictionary.items.bytes, dictionary.items.size);
      if (outcome.message != nullptr) return outcome.in_page(span.page_row);
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

// Lays flags of rows out as bits, or tells how many are set.
Outcome LeafTaking::lay_flags(ResultMemory* memory, LeafOut* out) {
  const LeafPart& part = *leaf_.parts[0];
  if (part.judged->num_rows() != part.num_values) return misuse("values and flags differ in number");
  if (part.judged->counts()) {
    out->num_flagged = part.judged->num_marked();
    return success();
  }
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
