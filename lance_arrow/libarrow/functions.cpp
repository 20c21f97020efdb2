// Arrow's own libraries behind the table of functions that the engine calls; a module of Python holds it as a capsule.
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "arrow/c/bridge.h"
#include "arrow/python/pyarrow.h"
#include "arrow/record_batch.h"
#include "arrow/table.h"
#include "arrow/util/compression.h"

#include "engine/arrays/arrow_functions.hpp"
#include "libarrow/pools.hpp"

namespace lance_arrow::engine {

struct RowsImport {
  std::shared_ptr<arrow::Schema> schema;
  std::shared_ptr<arrow::RecordBatch> batch;
  std::shared_ptr<arrow::Table> table;
};

namespace {

RowsImport* BeginImport(void* schema) {
  auto found = arrow::py::unwrap_schema(static_cast<PyObject*>(schema));
  return found.ok() ? new (std::nothrow) RowsImport{*std::move(found), nullptr, nullptr} : nullptr;
}

bool Import(RowsImport* rows, ArrowArray* array, bool as_table) {
  try {
    auto imported = arrow::ImportRecordBatch(array, rows->schema);
    if (!imported.ok()) return false;
    rows->batch = *std::move(imported);
    if (!as_table) return true;
    std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
    columns.reserve(static_cast<size_t>(rows->batch->num_columns()));
    for (int column = 0; column < rows->batch->num_columns(); ++column)
      columns.push_back(std::make_shared<arrow::ChunkedArray>(rows->batch->column(column)));
    rows->table = arrow::Table::Make(rows->schema, std::move(columns), rows->batch->num_rows());
    rows->batch.reset();
    return true;
  } catch (const std::bad_alloc&) {
    if (array->release != nullptr) array->release(array);
    return false;
  }
}

void* Wrap(const RowsImport* rows) {
  return rows->table ? arrow::py::wrap_table(rows->table) : arrow::py::wrap_batch(rows->batch);
}

// The decoder of a thread: a new one for each frame would cost more than most chunks.
arrow::util::Decompressor* ReusedDecompressor() {
  thread_local std::shared_ptr<arrow::util::Decompressor> decompressor;
  if (decompressor != nullptr) return decompressor->Reset().ok() ? decompressor.get() : nullptr;
  auto codec = arrow::util::Codec::Create(arrow::Compression::ZSTD);
  if (!codec.ok()) return nullptr;
  auto made = (*codec)->MakeDecompressor();
  if (made.ok()) decompressor = *std::move(made);
  return decompressor.get();
}

bool DecompressZstd(const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes) {
  // The bits of a descriptor by which a frame tells the size of its content. It is decoded in one step then. Another
  // would have a decoder keep a window of bytes, as large as the frame asks.
  constexpr uint8_t kTellsContent = 0xE0;
  if (size > 4 && (frame[4] & kTellsContent) != 0 && out_bytes > 0) {
    arrow::util::Decompressor* decompressor = ReusedDecompressor();
    if (decompressor == nullptr) return false;
    const auto done = decompressor->Decompress(size, frame, out_bytes, out);
    return done.ok() && done->bytes_read == size && done->bytes_written == out_bytes && decompressor->IsFinished();
  }
  const auto codec = arrow::util::Codec::Create(arrow::Compression::ZSTD);
  if (!codec.ok()) return false;
  const auto written = (*codec)->Decompress(size, frame, out_bytes, out);
  return written.ok() && *written == out_bytes;
}

const ArrowFunctions* Functions() {
  static const ArrowFunctions functions = {
      CurrentAllocator,
      BeginImport,
      Import,
      Wrap,
      [](RowsImport* rows) { delete rows; },
      arrow::util::Codec::IsAvailable(arrow::Compression::ZSTD) ? DecompressZstd : nullptr,
  };
  return &functions;
}

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_libarrow", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace lance_arrow::engine

PyMODINIT_FUNC PyInit__libarrow() {
  if (arrow::py::import_pyarrow() != 0) return nullptr;
  PyObject* made = PyModule_Create(&lance_arrow::engine::module);
  if (made == nullptr) return nullptr;
  void* functions = const_cast<lance_arrow::engine::ArrowFunctions*>(lance_arrow::engine::Functions());
  PyObject* capsule = PyCapsule_New(functions, "lance_arrow.ArrowFunctions", nullptr);
  if (capsule == nullptr || PyModule_AddObject(made, "functions", capsule) != 0) {
    Py_XDECREF(capsule);
    Py_DECREF(made);
    return nullptr;
  }
  return made;
}
