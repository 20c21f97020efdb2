// The Python side of the bridge, as C++ sees it: functions of the Cython module, filled in when it is imported.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>

#include "arrow/compute/expression.h"
#include "arrow/dataset/file_base.h"
#include "arrow/dataset/scanner.h"
#include "arrow/io/interfaces.h"
#include "arrow/record_batch.h"
#include "arrow/type.h"

#include "found_files.hpp"

namespace lance_arrow {

// All are called with the GIL; -1 or null means that a Python exception is set. `payload` may be None.
struct Callbacks {
  // A new reference to the payload of a file that came without one, which may be None. `files` is set where other
  // files of its folder have the same payload, and `folder` then is the whole path of the folder, with a slash.
  PyObject* (*adopt)(PyObject* handler, const arrow::dataset::FileSource& source, std::shared_ptr<FoundFiles>* files,
                     std::string* folder);
  int (*inspect)(PyObject* handler, const arrow::dataset::FileSource& source, PyObject* payload,
                 std::shared_ptr<arrow::Schema>* schema);
  int (*supports)(PyObject* handler, const arrow::dataset::FileSource& source);  // 0 or 1
  // A new reference to the handler's ScanTasks, whose length is stored in num_tasks; starts_slowly is set where few
  // tasks are to begin before batches are taken. `filter` is what is left of the options' own once the guarantee of the
  // fragment is known.
  PyObject* (*plan)(PyObject* handler, const std::shared_ptr<arrow::dataset::FileFragment>& file, PyObject* payload,
                    const std::shared_ptr<arrow::dataset::ScanOptions>& options,
                    const arrow::compute::Expression& filter, int64_t* num_tasks, bool* starts_slowly);
  int (*run)(PyObject* tasks, int64_t index, int64_t batch_size, arrow::RecordBatchVector* batches);
  // 1 when the count is known, 0 when Arrow is to count by scanning the file, 2 when that goes for all that follow.
  int (*count_rows)(PyObject* handler, const std::shared_ptr<arrow::dataset::FileFragment>& file, PyObject* payload,
                    const std::shared_ptr<arrow::dataset::ScanOptions>& options,
                    const arrow::compute::Expression& filter, int64_t* num_rows);
  // A new reference to what writes one file. All such writers together may hold `most_bytes` of rows.
  PyObject* (*make_writer)(PyObject* handler, PyObject* options,
                           const std::shared_ptr<arrow::io::OutputStream>& destination,
                           const std::shared_ptr<arrow::Schema>& schema, const std::string& path, int64_t* most_bytes);
  // The writer may hold `most_bytes` afterwards; how many it does is stored in held_bytes.
  int (*write)(PyObject* writer, const arrow::RecordBatchVector& batches, int64_t most_bytes, int64_t* held_bytes);
  int (*finish)(PyObject* writer, const arrow::RecordBatchVector& batches);
};

inline Callbacks callbacks;

}  // namespace lance_arrow
