// Arrow's own libraries behind the table of functions that the engine calls; a module of Python holds it as a capsule.
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "arrow/c/bridge.h"
#include "arrow/python/pyarrow.h"
#include "arrow/record_batch.h"
#include "arrow/table.h"

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
    return false;
  }
}

void* Wrap(const RowsImport* rows) {
  return rows->table ? arrow::py::wrap_table(rows->table) : arrow::py::wrap_batch(rows->batch);
}

const ArrowFunctions kFunctions = {
    CurrentAllocator, BeginImport, Import, Wrap, [](RowsImport* rows) { delete rows; },
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_libarrow", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace lance_arrow::engine

PyMODINIT_FUNC PyInit__libarrow() {
  if (arrow::py::import_pyarrow() != 0) return nullptr;
  PyObject* made = PyModule_Create(&lance_arrow::engine::module);
  if (made == nullptr) return nullptr;
  void* functions = const_cast<lance_arrow::engine::ArrowFunctions*>(&lance_arrow::engine::kFunctions);
  PyObject* capsule = PyCapsule_New(functions, "lance_arrow.ArrowFunctions", nullptr);
  if (capsule == nullptr || PyModule_AddObject(made, "functions", capsule) != 0) {
    Py_XDECREF(capsule);
    Py_DECREF(made);
    return nullptr;
  }
  return made;
}
