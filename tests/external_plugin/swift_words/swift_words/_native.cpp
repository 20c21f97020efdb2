// FSST codes expanded, with the toolkit for native codecs and nothing else of lance-arrow.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "lance_arrow/codec_tables.hpp"

namespace {

using namespace lance_arrow;

constexpr uint8_t kEscape = 255;

struct Words {
  const LaChunkCodec* child;
  bool is_used;
  uint8_t sizes[256];  // 0: no symbol
  uint8_t symbols[256][8];

  // Bytes of a value, or -1.
  int64_t expand(const uint8_t* codes, int64_t size, uint8_t* to) const {
    if (!is_used) {
      copy_bytes(to, codes, size);
      return size;
    }
    const uint8_t* const begin = to;
    for (int64_t at = 0; at < size; ++at) {
      if (codes[at] == kEscape) {
        if (++at == size) return -1;
        *to++ = codes[at];
        continue;
      }
      if (sizes[codes[at]] == 0) return -1;
      std::memcpy(to, symbols[codes[at]], 8);
      to += sizes[codes[at]];
    }
    return to - begin;
  }

  static LaRefusal select(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out) {
    const auto& words = *static_cast<const Words*>(self);
    const int64_t count = num_selected(*runs);
    const Leased<Intermediate> codes;
    codes->ends.resize(static_cast<size_t>(count));
    LaValues place{nullptr, 0, codes->ends.data(), 0, &Intermediate::reserve, &*codes};
    if (const LaRefusal refusal = words.child->select(words.child->self, chunk, runs, &place)) return refusal;
    int64_t start = 0;
    for (int64_t value = 0; value < count; ++value) {
      const int64_t size = codes->ends[static_cast<size_t>(value)] - start;
      const uint8_t* from = codes->bytes.data() + start;
      const LaRefusal refusal = append(out, value, 8 * size + 8, "a word has a code of no symbol",
                                       [&](uint8_t* to, int64_t) { return words.expand(from, size, to); });
      if (refusal != nullptr) return refusal;
      start += size;
    }
    return kDone;
  }
};

void drop(PyObject* capsule) {
  auto* held = static_cast<HeldChunkCodec*>(PyCapsule_GetPointer(capsule, LANCE_ARROW_CHUNK_CODEC));
  Py_DECREF(static_cast<PyObject*>(held->child));
  delete held;
}

// words(child, table): a capsule, or None where the child finds no byte strings.
PyObject* words(PyObject*, PyObject* arguments) {
  PyObject* child;
  const char* table;
  Py_ssize_t size;
  if (!PyArg_ParseTuple(arguments, "Oy#", &child, &table, &size)) return nullptr;
  const auto* codec = static_cast<const LaChunkCodec*>(PyCapsule_GetPointer(child, LANCE_ARROW_CHUNK_CODEC));
  if (codec == nullptr) return nullptr;
  const int64_t count = size < 8 ? 0 : static_cast<uint8_t>(table[0]);
  if (codec->bits != 0 || size < 8 + 9 * count) Py_RETURN_NONE;
  auto form = std::make_shared<Words>();
  form->child = codec;
  form->is_used = table[3] == 1;
  for (int64_t code = 0; code < count; ++code) {
    std::memcpy(form->symbols[code], table + 8 + 8 * code, 8);
    form->sizes[code] = static_cast<uint8_t>(table[8 + 8 * count + code]);
    if (form->sizes[code] > 8) Py_RETURN_NONE;
  }
  HeldChunkCodec* held = hold(form, 0, codec->num_buffers, 0);
  Py_INCREF(child);
  held->child = child;
  return PyCapsule_New(held, LANCE_ARROW_CHUNK_CODEC, drop);
}

PyMethodDef methods[] = {{"words", words, METH_VARARGS, "A codec of FSST codes, around the codec of a capsule."},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef module_of = {PyModuleDef_HEAD_INIT, "_native", nullptr, 0, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&module_of); }
