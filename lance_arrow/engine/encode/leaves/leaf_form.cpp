#include "engine/encode/leaves/leaf_form.hpp"

#include <algorithm>

#include "engine/encode/leaves/leaf_values.hpp"

namespace lance_arrow::engine {

Outcome check_leaf(const LeafForm& form, const ArrowArray& batch, LeafLevels* levels, bool* is_refused) {
  *is_refused = false;
  const bool is_nullable = std::ranges::all_of(form.path, &PathStep::nullable);
  const bool has_lists = std::ranges::any_of(form.path, [](const PathStep& step) { return step.list_bits != 0; });
  if (is_nullable && form.bits != 0 && !has_lists) return success();
  LeafRows rows{};
  if (const Outcome found = rows_of_batch(batch, form.path, &rows); found.message != nullptr) return found;
  if (form.bits == 0 || has_lists) {
    LeafPath path;
    if (const Outcome found = path.open(rows, form.path); found.message != nullptr) return found;
    *is_refused = path.lists_go_back() ||
                  (form.bits == 0 && offsets_go_back(path.leaf(), path.ranges().back(), form.offset_bits));
  }
  if (is_nullable || *is_refused) return success();
  const Outcome outcome = levels->open({rows}, form.path);
  *is_refused = levels->has_refused_null();
  return outcome;
}

}  // namespace lance_arrow::engine
