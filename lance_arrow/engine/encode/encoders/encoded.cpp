#include "engine/encode/encoders/encoded.hpp"

#include <new>
#include <numeric>
#include <stdexcept>

namespace lance_arrow::engine {

namespace {

constexpr LaRefusal kNoMemory = "there is no memory for an encoded page";

}  // namespace

void Encoded::clear() {
  for (ByteVector& one : buffers) one.clear();
  for (std::vector<int64_t>& one : sizes) one.clear();
  buffers.resize(0);
  sizes.resize(0);
  counts.clear();
  description.clear();
}

LaEncoded Encoded::face() { return {this, &Encoded::room, &Encoded::chunk, &Encoded::describe}; }

bool Encoded::is_whole(int64_t num_values) const {
  if (sizes.size() != buffers.size() || description.empty()) return false;
  int64_t values = 0;
  for (const int64_t count : counts) {
    if (count < 0 || count > num_values - values) return false;
    values += count;
  }
  if (values != num_values) return false;
  for (size_t buffer = 0; buffer < buffers.size(); ++buffer) {
    auto left = static_cast<int64_t>(buffers[buffer].size());
    if (sizes[buffer].size() != counts.size()) return false;
    for (const int64_t size : sizes[buffer]) {
      if (size < 0 || size > left) return false;
      left -= size;
    }
    if (left != 0) return false;
  }
  return true;
}

Encoded* Encoded::grown(int64_t num_buffers) {
  const auto count = static_cast<size_t>(num_buffers);
  if (buffers.size() < count) buffers.resize(count);
  if (sizes.size() < count) sizes.resize(count);
  return this;
}

uint8_t* Encoded::room(void* host, int64_t buffer, int64_t num_bytes) {
  if (buffer < 0 || buffer >= kMaxBuffers || num_bytes < 0) return nullptr;
  try {
    ByteVector& own = static_cast<Encoded*>(host)->grown(buffer + 1)->buffers[static_cast<size_t>(buffer)];
    const size_t start = own.size();
    own.resize(start + static_cast<size_t>(num_bytes));
    // The address of an empty vector may be null, which would say that there is no memory.
    static uint8_t nothing;
    return own.empty() ? &nothing : own.data() + start;
  } catch (const std::bad_alloc&) {
    return nullptr;
  } catch (const std::length_error&) {
    return nullptr;
  }
}

LaRefusal Encoded::chunk(void* host, int64_t num_values, const int64_t* sizes, int64_t num_buffers) {
  if (num_buffers < 0 || num_buffers > kMaxBuffers) return "an encoder has too many buffers";
  try {
    Encoded* own = static_cast<Encoded*>(host)->grown(num_buffers);
    own->counts.push_back(num_values);
    for (size_t buffer = 0; buffer < own->sizes.size(); ++buffer)
      own->sizes[buffer].push_back(buffer < static_cast<size_t>(num_buffers) ? sizes[buffer] : 0);
    return nullptr;
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  }
}

LaRefusal Encoded::describe(void* host, const uint8_t* message, int64_t num_bytes) {
  try {
    static_cast<Encoded*>(host)->description.assign(message, message + num_bytes);
    return nullptr;
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  }
}

}  // namespace lance_arrow::engine
