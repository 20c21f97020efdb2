// Compression around other codecs of chunks, if samples of the values become small: the same choices and bytes as the
// Python half.
#include <algorithm>

#include "engine/common/bitmaps.hpp"
#include "engine/encode/encoders/encoded.hpp"
#include "engine/encode/encoders/encoder_choice.hpp"
#include "engine/encode/encoders/held_encoders.hpp"
#include "lance_arrow/block_facts.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kGroupValues = 1024;
constexpr const char* kNotCompressed = "these chunks are compressed in Python";

// Values of fixed width from `first` on, a multiple of eight.
Outcome part_of(const LaBlock& block, int64_t first, int64_t count, FactsOfBlock* facts) {
  const Outcome outcome = facts->set(block.values + first * (block.bits / 8), block.bits, count);
  if (outcome.message != nullptr || block.present == nullptr) return outcome;
  LaBlock& part = facts->block;
  part.present = block.present + first / 8;
  int64_t num_present = 0;
  count_bits(part.present, (count + 7) / 8, 0, count, &num_present);
  part.num_nulls = count - num_present;
  if (part.num_nulls == 0) part.present = nullptr;
  return outcome;
}

struct CompressedChunks : CompressedChunkForm {
  ChunkChoice choice;

  explicit CompressedChunks(const CompressedChunkForm& form) : CompressedChunkForm(form), choice{form.children} {}

  // As `spi.with_room`: chunks obey the rules even if compression makes them larger.
  LaChunkRules inner_rules(const LaChunkRules& rules) const {
    constexpr int64_t growth = 255, frame = 64;
    const int64_t fitting = std::max<int64_t>(rules.max_bytes - rules.max_bytes / growth - frame, 0);
    const int64_t most = std::min(fitting, chunk_bytes);
    return {most, rules.max_values, std::min(rules.target_bytes, most)};
  }

  // Chunks of the best child, and the frames of their first buffers.
  struct Answer {
    Encoded plain;
    ByteVector frames;
    std::vector<int64_t> frame_sizes;

    int64_t plain_bytes() const {
      int64_t total = 0;
      for (const ByteVector& buffer : plain.buffers) total += static_cast<int64_t>(buffer.size());
      return total;
    }
    int64_t num_bytes() const {
      const auto first = plain.buffers.empty() ? size_t{0} : plain.buffers[0].size();
      return plain_bytes() - static_cast<int64_t>(first) + static_cast<int64_t>(frames.size());
    }
  };

  LaRefusal answer(const LaBlock& block, const LaChunkRules& rules, Answer* found) const {
    Best<LaChunkEncoder> best;
    if (choice.choose(&block, &rules, &best) < 0) return kNotCompressed;
    LaEncoded into = found->plain.face();
    if (const LaRefusal refusal = encode_chosen(best, &block, &rules, &into)) return refusal;
    if (found->plain.buffers.empty()) return kNotCompressed;
    const uint8_t* bytes = found->plain.buffers[0].data();
    for (const int64_t size : found->plain.sizes[0]) {
      const int64_t written = size == 0 ? 0 : add_frame(*frames, bytes, size, &found->frames);
      if (written < 0) return kNotCompressed;
      found->frame_sizes.push_back(written);
      bytes += size;
    }
    return nullptr;
  }

  // The part that compression leaves of samples; negative where only Python knows.
  double sampled_part(const LaBlock& block, const LaChunkRules& rules) const {
    const int64_t width = std::max<int64_t>(block.num_bytes / std::max<int64_t>(block.num_values, 1), 1);
    const int64_t groups = ((sampled_bytes + width - 1) / width + kGroupValues - 1) / kGroupValues;
    const int64_t sampled = std::max<int64_t>(groups, 1) * kGroupValues;
    const bool is_whole = block.num_values <= sampled * num_samples;
    int64_t compressed = 0, plain = 0;
    for (int64_t sample = 0; sample < (is_whole ? 1 : num_samples); ++sample) {
      const int64_t first = sample * (block.num_values / num_samples) / kGroupValues * kGroupValues;
      FactsOfBlock facts;
      if (part_of(block, first, is_whole ? block.num_values : sampled, &facts).message != nullptr) return -1;
      Answer found;
      if (answer(facts.block, rules, &found) != nullptr) return -1;
      compressed += found.num_bytes();
      plain += found.plain_bytes();
    }
    return plain == 0 ? 1 : static_cast<double>(compressed) / static_cast<double>(plain);
  }

  static double score(const void* self, const LaBlock* block, const LaChunkRules* rules) {
    const auto* own = static_cast<const CompressedChunks*>(self);
    if (block->num_bytes < own->least_bytes) return LANCE_ARROW_UNFIT;
    Best<LaChunkEncoder> best, best_with_room;
    const double plain = own->choice.choose(block, rules, &best);
    const LaChunkRules inner = own->inner_rules(*rules);
    const double fitting = plain < 0 ? plain : own->choice.choose(block, &inner, &best_with_room);
    if (fitting < 0) return fitting;
    const double part = own->sampled_part(*block, inner);
    if (part < 0) return LANCE_ARROW_ASK;
    const double num_bytes = part * static_cast<double>(block->num_bytes);
    return num_bytes < own->most_part * plain ? num_bytes : LANCE_ARROW_UNFIT;
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const LaChunkRules* rules, LaEncoded* out) {
    const auto* own = static_cast<const CompressedChunks*>(self);
    const LaChunkRules inner = own->inner_rules(*rules);
    Answer found;
    if (const LaRefusal refusal = own->answer(*block, inner, &found)) return refusal;
    if (found.num_bytes() >= found.plain_bytes()) return kNotCompressed;
    std::vector<ByteVector>& buffers = found.plain.buffers;
    buffers[0].swap(found.frames);
    found.plain.sizes[0].swap(found.frame_sizes);
    for (size_t buffer = 0; buffer < buffers.size(); ++buffer) {
      const auto size = static_cast<int64_t>(buffers[buffer].size());
      uint8_t* room = out->room(out->host, static_cast<int64_t>(buffer), size);
      if (room == nullptr) return "there is no memory for compressed chunks";
      copy_bytes(room, buffers[buffer].data(), size);
    }
    std::vector<int64_t> sizes(buffers.size());
    for (size_t chunk = 0; chunk < found.plain.counts.size(); ++chunk) {
      for (size_t buffer = 0; buffer < sizes.size(); ++buffer) sizes[buffer] = found.plain.sizes[buffer][chunk];
      const LaRefusal refusal =
          out->chunk(out->host, found.plain.counts[chunk], sizes.data(), static_cast<int64_t>(sizes.size()));
      if (refusal != nullptr) return refusal;
    }
    const ByteVector& child = found.plain.description;
    const std::string message = describe_compressed(own->compression, std::string(child.begin(), child.end()));
    return out->describe(out->host, reinterpret_cast<const uint8_t*>(message.data()),
                         static_cast<int64_t>(message.size()));
  }
};

}  // namespace

HeldChunkEncoder* hold_compressed_chunks(const CompressedChunkForm& form) {
  auto held = std::make_shared<CompressedChunks>(form);
  return new HeldChunkEncoder{{held.get(), &CompressedChunks::score, &CompressedChunks::encode}, held};
}

}  // namespace lance_arrow::engine
