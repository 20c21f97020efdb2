// One file being written by Arrow's dataset machinery: batches go to a Python writer, which writes to Arrow's stream.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "arrow/dataset/file_base.h"
#include "arrow/filesystem/filesystem.h"
#include "arrow/io/interfaces.h"
#include "arrow/record_batch.h"
#include "arrow/util/future.h"
#include "arrow/util/thread_pool.h"
#include "callbacks.hpp"
#include "gate.hpp"

namespace lance_arrow {

// Holds what only Python understands.
class BridgeWriteOptions : public arrow::dataset::FileWriteOptions {
 public:
  BridgeWriteOptions(std::shared_ptr<arrow::dataset::FileFormat> format, GuardedRef options)
      : FileWriteOptions(std::move(format)), options_(std::move(options)) {}

  PyObject* options() const { return options_.get(); }

 private:
  GuardedRef options_;
};

// Arrow calls from threads of its I/O pool, one call at a time, and closes the stream itself.
class BridgeWriter : public arrow::dataset::FileWriter {
 public:
  BridgeWriter(std::shared_ptr<arrow::Schema> schema, std::shared_ptr<arrow::dataset::FileWriteOptions> options,
               std::shared_ptr<arrow::io::OutputStream> destination, arrow::fs::FileLocator locator, GuardedRef writer)
      : FileWriter(std::move(schema), std::move(options), std::move(destination), std::move(locator)),
        writer_(std::make_shared<const GuardedRef>(std::move(writer))) {}

  using FileWriter::Write;

  arrow::Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    return CallPython([&]() -> arrow::Status {
      callbacks.write(writer_->get(), batch);
      return arrow::py::CheckPyError();
    });
  }

 protected:
  arrow::Future<> FinishInternal() override {
    auto* executor = destination_locator_.filesystem->io_context().executor();
    return arrow::DeferNotOk(executor->Submit([writer = writer_]() -> arrow::Status {
      return CallPython([&]() -> arrow::Status {
        callbacks.finish(writer->get());
        return arrow::py::CheckPyError();
      });
    }));
  }

 private:
  std::shared_ptr<const GuardedRef> writer_;
};

inline arrow::Result<std::shared_ptr<arrow::dataset::FileWriter>> MakeBridgeWriter(
    PyObject* handler, std::shared_ptr<arrow::io::OutputStream> destination, std::shared_ptr<arrow::Schema> schema,
    std::shared_ptr<arrow::dataset::FileWriteOptions> options, arrow::fs::FileLocator locator) {
  const auto* bridged = dynamic_cast<const BridgeWriteOptions*>(options.get());
  if (bridged == nullptr) return arrow::Status::TypeError("the write options are not those of a Lance format");
  PyObject* writer = nullptr;
  ARROW_RETURN_NOT_OK(CallPython([&]() -> arrow::Status {
    writer = callbacks.make_writer(handler, bridged->options(), destination, schema, locator.path);
    return arrow::py::CheckPyError();
  }));
  return std::make_shared<BridgeWriter>(std::move(schema), std::move(options), std::move(destination),
                                        std::move(locator), GuardedRef(writer));
}

// Null when the options are not ours.
inline PyObject* BridgeOptionsOf(const arrow::dataset::FileWriteOptions* options) {
  const auto* bridged = dynamic_cast<const BridgeWriteOptions*>(options);
  PyObject* found = bridged == nullptr ? Py_None : bridged->options();
  Py_INCREF(found);
  return found;
}

inline std::shared_ptr<arrow::dataset::FileWriteOptions> MakeBridgeWriteOptions(
    std::shared_ptr<arrow::dataset::FileFormat> format, PyObject* options) {
  return std::make_shared<BridgeWriteOptions>(std::move(format), GuardedRef::Share(options));
}

}  // namespace lance_arrow
