// Tables of chunks and headers of chunks, packed rows: everything they say lies where they say it may.
#include "engine/tables/chunk_tables.hpp"

#include "engine/decode/packed_fields.hpp"
#include "input.hpp"
#include "lance_arrow/located_fields.hpp"
#include "lance_arrow_codecs/byte_stream_split/streams.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

using Numbers = std::vector<int64_t>;

void parse_chunks(fuzz::Input& input) {
  const bool has_rep = input.flag(), has_def = input.flag(), is_large = input.flag();
  const int64_t num_buffers = input.number(0, 4), num_values = input.number(0, 100000);
  const fuzz::Buffer table = input.bytes(input.number(0, 64));
  const fuzz::Buffer data = input.rest();
  const int64_t num_chunks = table.size / (is_large ? 4 : 2);
  Numbers starts(static_cast<size_t>(num_chunks) + 1), value_starts(starts);
  const Outcome found = parse_chunk_words(table.data(), table.size, is_large, num_values, data.size, starts.data(),
                                          num_chunks + 1, value_starts.data(), num_chunks + 1);
  if (found.message != nullptr) return;
  fuzz::require(starts.back() == data.size && value_starts.back() == num_values, "chunks are the page");
  const auto places = static_cast<size_t>(num_chunks * std::max<int64_t>(num_buffers, 1));
  Numbers levels(static_cast<size_t>(num_chunks)), rep_starts(levels), rep_sizes(levels), def_starts(levels),
      def_sizes(levels);
  Numbers buffer_starts(places), buffer_sizes(places);
  const Outcome parsed = parse_chunk_headers(data.data(), data.size, starts.data(), starts.data() + 1, num_chunks,
                                             {has_rep, has_def, num_buffers, is_large},
                                             {levels.data(), rep_starts.data(), rep_sizes.data(), def_starts.data(),
                                              def_sizes.data(), buffer_starts.data(), buffer_sizes.data()});
  if (parsed.message != nullptr) return;
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk)
    for (int64_t buffer = 0; buffer < num_buffers; ++buffer) {
      const auto at = static_cast<size_t>(buffer * num_chunks + chunk), one = static_cast<size_t>(chunk);
      fuzz::require(buffer_starts[at] >= starts[one] && inside(buffer_starts[at], buffer_sizes[at], starts[one + 1]),
                    "buffers lie in their chunk");
    }
}

void locate_rows(fuzz::Input& input) {
  constexpr int64_t forms[] = {-4, -8, 1, 4, 8, 0, -3};
  Numbers fields, starts, sizes;
  for (int64_t count = input.number(1, 4); count > 0; --count) fields.push_back(input.one_of(forms));
  for (int64_t count = input.number(1, 20); count > 0; --count) {
    starts.push_back(input.number(-1, 300));
    sizes.push_back(input.number(-1, 80));
  }
  const fuzz::Buffer data = input.rest();
  const auto num_fields = static_cast<int64_t>(fields.size()), num_rows = static_cast<int64_t>(starts.size());
  Numbers out_starts(fields.size() * starts.size()), out_sizes(out_starts);
  int64_t num_valid = 0;
  const Outcome found = locate_fields(data.data(), data.size, starts.data(), sizes.data(), num_rows, fields.data(),
                                      num_fields, out_starts.data(), out_sizes.data(), &num_valid);
  if (found.message != nullptr || num_valid == 0) return;
  for (size_t at = 0; at < out_starts.size(); ++at)
    fuzz::require(inside(out_starts[at], out_sizes[at], data.size), "fields lie in the data");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  if (input.flag()) parse_chunks(input);
  else locate_rows(input);
  return 0;
}
