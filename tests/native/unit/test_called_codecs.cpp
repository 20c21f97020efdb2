// called_codecs.hpp: what a C side leaves goes to the method behind it, and what that decoded to the wanted places.
#include <string>
#include <vector>

#include "engine/bind/called_codecs.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;

using namespace lance_arrow::codecs;

using namespace lance_arrow::engine;

// A method "in Python": values are the bytes of the chunks plus one; `calls` counts.
struct Method {
  int calls = 0;
  LaRefusal says = nullptr;

  static LaRefusal decode(const void* self, const LaChunk* chunks, int64_t num_chunks, DecodedChunks* out) {
    auto* method = static_cast<Method*>(const_cast<void*>(self));
    ++method->calls;
    out->values.clear();
    out->offsets.assign(1, 0);
    for (int64_t chunk = 0; chunk < num_chunks; ++chunk)
      for (int64_t value = 0; value < chunks[chunk].num_values; ++value) {
        out->values.push_back(static_cast<uint8_t>(chunks[chunk].buffers[0][value] + 1));
        out->offsets.push_back(static_cast<int64_t>(out->values.size()));
      }
    return method->says;
  }
};

LaRefusal leave(const void*, const LaChunk*, const LaRuns*, LaValues* out) {
  out->end += 5;  // what it began to write is taken back
  return LA_LEFT;
}

LaRefusal refuse(const void*, const LaChunk*, const LaRuns*, LaValues*) { return "wrong bytes"; }

struct Memory {
  std::vector<uint8_t> bytes;
  int64_t most = 1 << 20;

  static uint8_t* reserve(void* host, int64_t end, int64_t num_bytes) {
    auto* memory = static_cast<Memory*>(host);
    if (end + num_bytes > memory->most) return nullptr;
    memory->bytes.resize(static_cast<size_t>(end + num_bytes + 1));
    return memory->bytes.data() + end;
  }
};

const std::vector<uint8_t> kBytes{10, 20, 30, 40, 50};

LaChunk chunk_of(const uint8_t* const* data, const int64_t* size) { return {data, size, 1, *size}; }

TEST_CASE("the method decodes what the C side leaves, and only that") {
  const uint8_t* data = kBytes.data();
  const int64_t size = 5, start = 1, stop = 3;
  const LaChunk chunk = chunk_of(&data, &size);
  const LaRuns runs{&start, &stop, 1};
  Method method;
  const LaChunkCodec leaving{8, 1, 0, nullptr, &leave}, refusing{8, 1, 0, nullptr, &refuse};
  const CalledChunks left{8, &leaving, &method, &Method::decode, nullptr},
      wrong{8, &refusing, &method, &Method::decode, nullptr};
  uint8_t out[2] = {};
  LaValues place{out, 0, nullptr, 0, nullptr, nullptr};
  CHECK(CalledChunks::select(&left, &chunk, &runs, &place) == nullptr);
  CHECK((out[0] == 21 && out[1] == 31));
  CHECK((method.calls == 1 && place.end == 0));
  CHECK(CalledChunks::select(&wrong, &chunk, &runs, &place) == std::string("wrong bytes"));
  CHECK(method.calls == 1);
  method.says = "rejected";
  CHECK(CalledChunks::select(&left, &chunk, &runs, &place) == std::string("rejected"));
}

TEST_CASE("values of any length go behind each other, within a limit") {
  const uint8_t* data = kBytes.data();
  const int64_t size = 5, starts[] = {0, 3}, stops[] = {1, 5};
  const LaChunk chunk = chunk_of(&data, &size);
  const LaRuns runs{starts, stops, 2};
  Method method;
  const CalledChunks called{0, nullptr, &method, &Method::decode, nullptr};
  Memory memory;
  memory.bytes = {9, 9};
  int64_t ends[3] = {};
  LaValues place{nullptr, 0, ends, 2, &Memory::reserve, &memory};
  CHECK(CalledChunks::select(&called, &chunk, &runs, &place) == nullptr);
  CHECK((ends[0] == 3 && ends[1] == 4 && ends[2] == 5 && place.end == 5));
  CHECK((memory.bytes[2] == 11 && memory.bytes[3] == 41 && memory.bytes[4] == 51));
  memory.most = 6;
  CHECK(CalledChunks::select(&called, &chunk, &runs, &place) == std::string(LA_ABOVE_LIMIT));
  const int64_t beyond = 6;
  const LaRuns outside{starts, &beyond, 1};
  CHECK(CalledChunks::select(&called, &chunk, &outside, &place) != nullptr);
}

TEST_CASE("a codec without a C side is known, but for single bits") {
  Method method;
  const CalledChunks called{32, nullptr, &method, &Method::decode, nullptr},
      bits{1, nullptr, &method, &Method::decode, nullptr};
  const LaChunkCodec one{32, 1, 0, &called, &CalledChunks::select}, other{1, 1, 0, &bits, &CalledChunks::select};
  const LaChunkCodec native{32, 1, 0, nullptr, &refuse};
  CHECK(CalledChunks::of(&one) == &called);
  CHECK(CalledChunks::of(&other) == nullptr);
  CHECK(CalledChunks::of(&native) == nullptr);
}

TEST_CASE("what a codec says of its numbers is that of the codec which asks Python") {
  Method method;
  const LaChunkMarks marks{};
  const CalledChunks said{32, nullptr, &method, &Method::decode, &marks};
  const CalledChunks silent{32, nullptr, &method, &Method::decode, nullptr};
  const LaChunkCodec one{32, 1, 0, &said, &CalledChunks::select}, other{32, 1, 0, &silent, &CalledChunks::select};
  const LaChunkCodec native{32, 1, 0, nullptr, &refuse};
  CHECK(CalledChunks::marks_of(&one) == &marks);
  CHECK(CalledChunks::marks_of(&other) == nullptr);
  CHECK(CalledChunks::marks_of(&native) == nullptr);
}

TEST_CASE("offsets ascend within the values") {
  CHECK(are_offsets({{1, 2, 3}, {0, 1, 3}}, 2));
  CHECK(are_offsets({{1, 2, 3}, {1, 1, 2}}, 2));
  CHECK(!are_offsets({{1, 2, 3}, {0, 1, 3}}, 3));
  CHECK(!are_offsets({{1, 2, 3}, {0, 2, 1}}, 2));
  CHECK(!are_offsets({{1, 2, 3}, {0, 1, 4}}, 2));
  CHECK(!are_offsets({{1, 2, 3}, {-1, 1, 3}}, 2));
}

}  // namespace
