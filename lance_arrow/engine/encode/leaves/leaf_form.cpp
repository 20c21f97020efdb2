#include "engine/encode/leaves/leaf_form.hpp"

#include <algorithm>

#include "engine/encode/leaves/leaf_values.hpp"

namespace lance_arrow::engine {

Outcome check_leaf(const LeafForm& form, const ArrowArray& batch, LeafLevels* levels, bool* is_refused) {
  *is_refused = false;
  const bool is_nullable = std::ranges::all_of(form.path, &PathStep::nullable);
  if (is_nullable && form.bits != 0) return success();
  LeafRows rows{};
  if (const Outcome found = rows_of_batch(batch, form.path, &rows); found.message != nullptr) return found;
  if (!is_nullable) {
    const Outcome outcome = levels->open({rows}, form.path);
    *is_refused = levels->has_refused_null();
    if (outcome.message != nullptr) return outcome;
  }
  if (form.bits != 0) return success();
  ArrowArray leaf{};
  const Outcome outcome = array_of_leaf(rows, &leaf);
  if (outcome.message == nullptr) *is_refused |= offsets_go_back(leaf, batch.length, form.offset_bits);
  return outcome;
}

}  // namespace lance_arrow::engine
