// What encoders of pages share: their buffers, descriptions and levels, and who holds them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/encode/encoders/encoded.hpp"
#include "engine/encode/encoders/held_encoders.hpp"
#include "engine/tables/wire_writing.hpp"

namespace lance_arrow::engine {

constexpr LaRefusal kNoRoomForPage = "there is no memory for a page";

inline std::string_view view_of(const ByteVector& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline LaRefusal describe_page(const std::string& message, LaEncoded* out) {
  return out->describe(out->host, reinterpret_cast<const uint8_t*>(message.data()),
                       static_cast<int64_t>(message.size()));
}

inline LaRefusal put_buffer(LaEncoded& out, int64_t buffer, const void* bytes, size_t size) {
  uint8_t* room = out.room(out.host, buffer, static_cast<int64_t>(size));
  if (room == nullptr) return kNoRoomForPage;
  copy_bytes(room, static_cast<const uint8_t*>(bytes), static_cast<int64_t>(size));
  return nullptr;
}

inline std::vector<uint8_t> layers_of(const LaPage& page) { return {page.layers, page.layers + page.num_layers}; }

inline int64_t num_valid(const LaPage& page) { return page.values->num_values - page.values->num_nulls; }

template <class Form>
HeldPageEncoder* hold_pages(std::shared_ptr<Form> form) {
  return new HeldPageEncoder{{form.get(), &Form::score, &Form::encode}, form};
}

}  // namespace lance_arrow::engine
