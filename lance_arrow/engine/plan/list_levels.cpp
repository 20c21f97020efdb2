#include "engine/plan/list_levels.hpp"

namespace lance_arrow::engine {

namespace {

LaRuns items_of(const LeafPart& part) {
  return {part.item_starts.data(), part.item_stops.data(), static_cast<int64_t>(part.item_starts.size())};
}

// Reads the lists of one column, and finds their items.
Outcome read_level(const std::vector<PageRef>& pages, const Reader& reader, int64_t limit, LaRuns* rows, ListParts* out,
                   ReadCount* count) {
  out->push_back(std::make_shared<LeafPart>());
  out->back()->limit = limit;
  const Outcome outcome = read_leaf(pages, reader, nullptr, *rows, out->back().get(), count);
  *rows = items_of(*out->back());
  return outcome;
}

}  // namespace

size_t num_shared(const ListPages& left, const ListPages& right) {
  size_t level = 0;
  const auto is_same = [](const PageRef& one, const PageRef& other) { return one.page == other.page; };
  while (level < std::min(left.size(), right.size()) &&
         std::equal(left[level].begin(), left[level].end(), right[level].begin(), right[level].end(), is_same))
    ++level;
  return level;
}

Outcome read_lists(const ListPages& lists, const Reader& reader, const LaRuns& rows, int64_t limit, ListParts* out,
                   LaRuns* values, ReadCount* count) {
  *values = out->empty() ? rows : items_of(*out->back());
  for (size_t level = out->size(); level < lists.size(); ++level) {
    const Outcome outcome = read_level(lists[level], reader, limit, values, out, count);
    if (outcome.message != nullptr) return outcome.in_list(level);
  }
  return success();
}

Outcome want_below_lists(const ListPages& lists, const std::vector<PageRef>& pages, const Reader& reader,
                         const LaRuns& rows, int64_t limit, Wanted* out) {
  LaRuns wanted = rows;
  ListParts parts;
  ReadCount count;
  const size_t before = out->starts.size();
  for (size_t level = 0; level < lists.size(); ++level) {
    Outcome outcome = want_leaf(lists[level], reader, nullptr, wanted, false, limit, out);
    if (outcome.message != nullptr || out->starts.size() > before) return outcome.in_list(level);
    outcome = read_level(lists[level], reader, limit, &wanted, &parts, &count);
    if (outcome.message != nullptr) return outcome.in_list(level);
  }
  return want_leaf(pages, reader, nullptr, wanted, false, limit, out);
}

}  // namespace lance_arrow::engine
