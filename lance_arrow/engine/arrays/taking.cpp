#include "engine/arrays/taking.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kMuch = 16 << 20;  // bytes; reading and decoding them takes some milliseconds

}  // namespace

Outcome Taking::take_some(int64_t num_rows, Request* request) {
  const int64_t before = request->count.bytes_wanted;
  while (next_ < leaves_.size() && request->count.bytes_wanted - before < kMuch) {
    const size_t leaf = next_++;
    if (!leaves_[leaf].has_value()) continue;
    const Outcome outcome = leaves_[leaf]->take(num_rows, request, memory_.get(), &done_[leaf]);
    if (outcome.message != nullptr) return outcome.in_leaf(leaf);
  }
  return success();
}

Outcome Taking::begin(const std::vector<int64_t>& part_rows) {
  for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    const Outcome outcome = leaves_[leaf].has_value() ? leaves_[leaf]->begin(part_rows, memory_.get()) : success();
    if (outcome.message != nullptr) return outcome.in_leaf(leaf);
  }
  return success();
}

Outcome Taking::run(size_t part, Request* request) {
  for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    const Outcome outcome = leaves_[leaf].has_value() ? leaves_[leaf]->run(part, request) : success();
    if (outcome.message != nullptr) return outcome.in_leaf(leaf);
  }
  return success();
}

Outcome Taking::finish() {
  for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    const Outcome outcome =
        leaves_[leaf].has_value() ? leaves_[leaf]->finish(nullptr, memory_.get(), &done_[leaf]) : success();
    if (outcome.message != nullptr) return outcome.in_leaf(leaf);
  }
  return success();
}

}  // namespace lance_arrow::engine
