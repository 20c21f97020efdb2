// A page of chunks that reads for itself which chunk holds which rows, and its dictionary.
#include "engine/bind/compressed_chunks.hpp"
#include "engine/pages/chunked_page_class.hpp"
#include "engine/pages/page_buffers.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kTrustedBytes = 1 << 20, kMostExpanded = 256;

}  // namespace

Outcome ChunkedPage::load_index(const PageBuffers& buffers, Fetcher* fetcher) const {
  OwnIndex& own = own_;
  const std::lock_guard<std::mutex> guard(own.lock);
  if (is_indexed()) return success();
  const bool has_items = own.form.items != nullptr, has_rows = form_.rep != nullptr;
  if (buffers.count != size_t{2} + (has_items ? 1 : 0) + (has_rows ? 1 : 0))
    return misuse("a page has another number of buffers");
  const Leased<std::vector<uint8_t>> leased;
  std::vector<uint8_t>& stored = *leased;
  Outcome outcome = read_buffer(buffers, 0, fetcher, &stored);
  if (outcome.message != nullptr) return outcome;
  const int64_t num_bytes = buffers.sizes[0];
  if (num_bytes == 0 || num_bytes % word_bytes() != 0)
    return corrupt("a chunk table is not a whole number of words", 0);
  const int64_t num_chunks = num_bytes / word_bytes(), count = num_chunks + 1;
  own.chunk_starts.resize(static_cast<size_t>(count));
  own.value_starts.resize(static_cast<size_t>(count));
  outcome = parse_chunk_words(stored.data(), num_bytes, form_.large, own.form.num_values, buffers.sizes[1],
                              own.chunk_starts.data(), count, own.value_starts.data(), count);
  if (outcome.message != nullptr) return outcome;
  places_ = {own.chunk_starts.data(), own.value_starts.data(), nullptr, nullptr, nullptr, num_chunks};
  if (has_rows) {
    outcome = read_buffer(buffers, buffers.count - 1, fetcher, &stored);
    if (outcome.message != nullptr) return outcome;
    for (auto* table : {&own.rows_started, &own.rows_finished, &own.rows_left})
      table->resize(static_cast<size_t>(count));
    outcome = parse_row_index(stored.data(), static_cast<int64_t>(stored.size()), num_chunks, num_rows,
                              {own.rows_started.data(), own.rows_finished.data(), own.rows_left.data()});
    if (outcome.message != nullptr) return outcome;
    places_.rows_started = own.rows_started.data();
    places_.rows_finished = own.rows_finished.data();
    places_.rows_left = own.rows_left.data();
  }
  if (has_items) {
    outcome = read_buffer(buffers, 2, fetcher, &stored);
    if (outcome.message == nullptr) outcome = load_items(stored);
    if (outcome.message != nullptr) return outcome;
  }
  note_chunks();
  is_indexed_.store(true, std::memory_order_release);
  return success();
}

// Decodes a dictionary, which is one block of its codec.
Outcome ChunkedPage::load_items(const std::vector<uint8_t>& stored) const {
  OwnIndex& own = own_;
  const LaChunkCodec& codec = *own.form.items;
  const int64_t count = own.form.num_items, start = 0, size = static_cast<int64_t>(stored.size());
  const uint8_t* bytes = stored.data();
  const LaChunk block{&bytes, &size, 1, count};
  const LaRuns all{&start, &count, count > 0 ? 1 : 0};
  own.items.clear();
  own.items.limit = own.form.most_item_bytes;
  const int64_t item_bytes = std::max<int64_t>(codec.bits / 8, 8);
  if (count < 0 || count > own.items.limit / item_bytes) return above_limit(kDictionary);
  if (count * item_bytes > kTrustedBytes && count * item_bytes / kMostExpanded > size) {
    // Memory is not taken on the word of a description: what expands so much must be what its codec can hold.
    const LaRuns none{&start, &count, 0};
    LaValues nothing{nullptr, 0, nullptr, 0, nullptr, nullptr};
    const Outcome outcome = refused(codec.select(codec.self, &block, &none, &nothing), kDictionary);
    if (outcome.message != nullptr) return outcome;
  }
  LaValues place = own.items.place(count, codec.bits);
  if (count > 0 && place.values == nullptr) return above_limit(kDictionary);
  const LaRefusal refusal = count > 0 ? codec.select(codec.self, &block, &all, &place) : nullptr;
  if (refusal != nullptr) return refused(refusal, kDictionary);
  own.items.took(count, place);
  Items& items = form_.items;
  items.values = own.items.values.data();
  items.values_bytes = codec.bits == 0 ? own.items.num_bytes : (count * codec.bits + 7) / 8;
  if (codec.bits == 0) {
    own.item_offsets.assign(1, 0);
    own.item_offsets.insert(own.item_offsets.end(), own.items.ends.begin(), own.items.ends.end());
    items.offsets = reinterpret_cast<const uint8_t*>(own.item_offsets.data());
    items.offset_bits = 64;
  }
  return success();
}

// Chunks of packed numbers differ little, or so much that no guess is right. Texts, lists, runs, nulls and compressed
// bytes may become longer or shorter by and by. So do indices until most items of their dictionary have occurred.
int64_t ChunkedPage::even_chunk_bytes(const PageBuffers& buffers) const {
  const LaChunkCodec* values = CalledChunks::native_of(form_.values);
  const bool is_packed = values != nullptr && values->bits > 0 && values->num_buffers == 1 &&
                         values->select != &Compressed::select && form_.rep == nullptr && form_.def == nullptr;
  const int64_t num_chunks = buffers.count < 2 ? 0 : buffers.sizes[0] / word_bytes();
  if (!is_packed || num_chunks == 0) return 0;
  const bool is_settled = own_.form.items == nullptr || own_.form.num_items <= own_.form.num_values / num_chunks;
  return is_settled ? buffers.sizes[1] / num_chunks : 0;
}

int64_t ChunkedPage::index_bytes() const {
  if (!is_indexed()) return 0;
  const OwnIndex& own = own_;
  int64_t entries = 0;
  for (const auto* table :
       {&own.chunk_starts, &own.value_starts, &own.rows_started, &own.rows_finished, &own.rows_left, &own.item_offsets})
    entries += static_cast<int64_t>(table->capacity());
  return entries * static_cast<int64_t>(sizeof(int64_t)) + kept_bytes(own.items);
}

Page* new_chunked_page(const ChunkForm& form, const ChunkIndexForm& index) { return new ChunkedPage(form, index); }

}  // namespace lance_arrow::engine
