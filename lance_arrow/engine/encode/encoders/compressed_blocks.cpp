// Compression around other codecs of blocks.
#include <algorithm>

#include "engine/encode/encoders/encoded.hpp"
#include "engine/encode/encoders/held_encoders.hpp"
#include "engine/tables/wire_writing.hpp"
#include "lance_arrow/block_facts.hpp"

namespace lance_arrow::engine {

namespace {

std::string_view view_of(const ByteVector& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct CompressedBlocks : CompressedBlockForm {
  // Encoded by one child, and compressed.
  struct Answer {
    Encoded plain;
    ByteVector frame;

    const ByteVector& bytes() const { return plain.buffers[0]; }
    bool is_smaller() const { return frame.size() < bytes().size(); }
    size_t size() const { return std::min(frame.size(), bytes().size()); }
  };

  // False where Python must be asked; no answer if no child fits.
  bool find(const LaBlock& block, const int64_t* starts, std::vector<Answer>* best) const {
    for (const LaBlocksEncoder* child : children) {
      const double score = child->score(child->self, &block, starts, 1);
      if (score == LANCE_ARROW_ASK) return false;
      if (score < 0) continue;
      Answer answer;
      LaEncoded into = answer.plain.face();
      if (child->encode(child->self, &block, starts, 1, &into) != nullptr) return false;
      if (!answer.plain.is_whole(block.num_values) || answer.plain.buffers.size() != 1) return false;
      const auto size = static_cast<int64_t>(answer.bytes().size());
      if (size == 0 || add_frame(*frames, answer.bytes().data(), size, &answer.frame) < 0) return false;
      if (!best->empty() && answer.size() >= best->front().size()) continue;
      best->clear();
      best->push_back(std::move(answer));
    }
    return true;
  }

  bool is_sampled(const LaBlock& block) const {
    const int64_t average = std::max<int64_t>(block.num_bytes / std::max<int64_t>(block.num_values, 1), 1);
    const int64_t count = std::max<int64_t>((sampled_bytes + average - 1) / average, 1);
    return block.num_values > count * num_samples;
  }

  static double score(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks) {
    const auto* own = static_cast<const CompressedBlocks*>(self);
    const int64_t raw = raw_bytes(*block);
    if (raw < own->least_bytes) return LANCE_ARROW_UNFIT;
    std::vector<Answer> best;
    if (num_blocks != 1 || own->is_sampled(*block) || !own->find(*block, starts, &best)) return LANCE_ARROW_ASK;
    if (best.empty()) return LANCE_ARROW_UNFIT;
    const double part = static_cast<double>(best.front().size()) / static_cast<double>(raw);
    return part < own->most_part ? part * static_cast<double>(raw) : LANCE_ARROW_UNFIT;
  }

  static LaRefusal encode(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks,
                          LaEncoded* out) {
    const auto* own = static_cast<const CompressedBlocks*>(self);
    std::vector<Answer> best;
    if (num_blocks != 1 || !own->find(*block, starts, &best) || best.empty()) return "the block is not compressed";
    const Answer& answer = best.front();
    const ByteVector& bytes = answer.is_smaller() ? answer.frame : answer.bytes();
    const auto size = static_cast<int64_t>(bytes.size());
    uint8_t* room = out->room(out->host, 0, size);
    if (room == nullptr) return "there is no memory for a compressed block";
    copy_bytes(room, bytes.data(), size);
    if (const LaRefusal refusal = out->chunk(out->host, block->num_values, &size, 1)) return refusal;
    std::string message(view_of(answer.plain.description));
    if (answer.is_smaller()) message = describe_compressed(own->compression, message);
    return out->describe(out->host, reinterpret_cast<const uint8_t*>(message.data()),
                         static_cast<int64_t>(message.size()));
  }
};

// The size as a 32-bit word, then one block.
}  // namespace

int64_t add_frame(const LaFrameEncoder& frames, const uint8_t* bytes, int64_t size, ByteVector* out) {
  const int64_t room = frames.room(frames.self, size);
  if (room < 0) return -1;
  const size_t before = out->size();
  out->resize(before + static_cast<size_t>(room));
  const int64_t written = frames.compress(frames.self, bytes, size, out->data() + before);
  if (written < 0 || written > room) return -1;
  out->resize(before + static_cast<size_t>(written));
  return written;
}

// Source: lance.encodings21.General, in a CompressiveEncoding.
std::string describe_compressed(const std::string& compression, const std::string& child) {
  std::string general, outer;
  put_bytes(general, 1, compression);
  put_bytes(general, 3, child);
  put_bytes(outer, 10, general);
  return outer;
}

HeldBlocksEncoder* hold_compressed_blocks(const CompressedBlockForm& form) {
  auto held = std::make_shared<CompressedBlocks>(CompressedBlocks{form});
  return new HeldBlocksEncoder{{held.get(), &CompressedBlocks::score, &CompressedBlocks::encode}, held};
}

}  // namespace lance_arrow::engine
