// Manifests: nothing is lost when one is taken apart, and what is told of a fragment lies in it and within its limits.
#include "engine/tables/manifest_fragments.hpp"

#include "input.hpp"

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const uint64_t bases[] = {7, 9};
  const bool trusts_counts = input.flag(), has_row_ids = input.flag();
  const FragmentRules rules{trusts_counts, has_row_ids, 1000, bases, 2};
  const fuzz::Buffer held = input.rest();
  const Bytes body(reinterpret_cast<const char*>(held.data()), static_cast<size_t>(held.size));
  ManifestParts parts;
  if (!split_manifest(body, &parts)) return 0;
  fuzz::require(parts.fragments.size() % 2 == 0 && parts.schema.size() <= parts.rest.size(), "parts agree");
  size_t told = parts.rest.size();
  NamedFiles files;
  for (size_t one = 0; one < parts.fragments.size(); one += 2) {
    const int64_t start = parts.fragments[one], bytes = parts.fragments[one + 1];
    fuzz::require(start >= 0 && bytes >= 0 && start + bytes <= held.size, "fragments lie in the manifest");
    told += static_cast<size_t>(bytes);
    FragmentFacts facts;
    if (!read_fragment(body.substr(static_cast<size_t>(start), static_cast<size_t>(bytes)), rules, &facts)) continue;
    fuzz::require(facts.path >= 0 && facts.path_bytes >= 0 && facts.path + facts.path_bytes <= bytes, "paths");
    fuzz::require(facts.id >= 0 && facts.id < int64_t{1} << 32, "ids have 32 bits");
    fuzz::require(facts.num_rows >= -1 && facts.num_rows <= int64_t{1} << 32, "rows are counted with 32 bits");
    fuzz::require(facts.file_bytes >= -1 && facts.file_bytes != 0, "sizes are known or not");
    fuzz::require(facts.base_id == -1 || facts.base_id == 7 || facts.base_id == 9, "base paths are known");
    std::vector<int64_t> numbers, again;
    const Bytes message = body.substr(static_cast<size_t>(start), static_cast<size_t>(bytes));
    files.add(message, &numbers);
    files.add(message, &again);
    fuzz::require(static_cast<int64_t>(numbers.size()) == facts.num_files + facts.has_deletion, "each file is named");
    fuzz::require(numbers == again, "a fragment names the same files again");
    fuzz::require(trusts_counts || facts.num_rows == -1, "counts are believed of known writers only");
  }
  fuzz::require(told <= body.size(), "nothing is told twice");
  return 0;
}
