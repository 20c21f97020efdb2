// One file being written by Arrow's dataset machinery: rows wait, then go to a Python writer, which writes to Arrow's
// stream.
#pragma once

#include <atomic>
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
#include "waiting_rows.hpp"

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

// The file that Arrow opened under its final name, replacing an older one: removed again unless it is kept.
//
// Arrow itself leaves behind what it has written of a file when something fails.
class UnfinishedFile {
 public:
  UnfinishedFile(std::shared_ptr<arrow::io::OutputStream> stream, arrow::fs::FileLocator locator)
      : stream_(std::move(stream)), locator_(std::move(locator)) {}
  ~UnfinishedFile() { Discard(); }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  void Keep() { is_settled_ = true; }

  // What goes wrong here is not reported: an error is on its way already.
  void Discard() {
    if (is_settled_.exchange(true)) return;
    // For filesystems written in Python, and the exceptions that these raise.
    Passage passage;
    if (!passage) return;
    // An upload to S3 can be given up: nothing appears, and an older object stays.
    if (locator_.filesystem->type_name() == "s3") {
      static_cast<void>(stream_->Abort());
      return;
    }
    // Other streams would complete the file when they are dropped, so they are closed before it is removed.
    static_cast<void>(stream_->Close());
    static_cast<void>(locator_.filesystem->DeleteFile(locator_.path));
  }

 private:
  std::shared_ptr<arrow::io::OutputStream> stream_;
  arrow::fs::FileLocator locator_;
  std::atomic<bool> is_settled_{false};
};

// The Python writer of one file and the rows that wait for it.
class RowsOfFile {
 public:
  RowsOfFile(const arrow::Schema& schema, GuardedRef writer, int64_t most_bytes)
      : writer_(std::move(writer)), waiting_(schema, most_bytes) {}

  // Without the GIL as a rule.
  arrow::Status Add(const std::shared_ptr<arrow::RecordBatch>& batch) {
    ARROW_RETURN_NOT_OK(waiting_.Add(batch));
    if (!waiting_.IsDue()) return arrow::Status::OK();
    const int64_t most_bytes = waiting_.MostBytes();
    ARROW_ASSIGN_OR_RAISE(const arrow::RecordBatchVector batches, waiting_.Take());
    int64_t held_bytes = 0;
    ARROW_RETURN_NOT_OK(CallPython([&]() -> arrow::Status {
      callbacks.write(writer_.get(), batches, most_bytes, &held_bytes);
      return arrow::py::CheckPyError();
    }));
    waiting_.SinkHolds(held_bytes);
    return arrow::Status::OK();
  }

  arrow::Status Finish() {
    ARROW_ASSIGN_OR_RAISE(const arrow::RecordBatchVector batches, waiting_.Take());
    ARROW_RETURN_NOT_OK(CallPython([&]() -> arrow::Status {
      callbacks.finish(writer_.get(), batches);
      return arrow::py::CheckPyError();
    }));
    waiting_.SinkHolds(0);
    return arrow::Status::OK();
  }

 private:
  GuardedRef writer_;
  WaitingRows waiting_;
};

// Arrow calls from threads of its I/O pool, one call at a time, and closes the stream itself.
class BridgeWriter : public arrow::dataset::FileWriter {
 public:
  BridgeWriter(std::shared_ptr<arrow::Schema> schema, std::shared_ptr<arrow::dataset::FileWriteOptions> options,
               std::shared_ptr<arrow::io::OutputStream> destination, arrow::fs::FileLocator locator,
               std::shared_ptr<RowsOfFile> rows, std::shared_ptr<UnfinishedFile> file)
      : FileWriter(std::move(schema), std::move(options), std::move(destination), std::move(locator)),
        rows_(std::move(rows)),
        file_(std::move(file)) {}

  // Destroyed unfinished when anything else fails: the source of the rows, another file, a signal.
  ~BridgeWriter() override { file_->Discard(); }

  using FileWriter::Write;

  arrow::Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    arrow::Status status = rows_->Add(batch);
    if (!status.ok()) file_->Discard();
    return status;
  }

  arrow::Future<> Finish() override {
    return FileWriter::Finish().Then([file = file_]() { file->Keep(); },
                                     [file = file_](const arrow::Status& status) -> arrow::Status {
                                       file->Discard();
                                       return status;
                                     });
  }

 protected:
  arrow::Future<> FinishInternal() override {
    auto* executor = destination_locator_.filesystem->io_context().executor();
    return arrow::DeferNotOk(executor->Submit([rows = rows_]() { return rows->Finish(); }));
  }

 private:
  std::shared_ptr<RowsOfFile> rows_;
  std::shared_ptr<UnfinishedFile> file_;
};

inline arrow::Result<std::shared_ptr<arrow::dataset::FileWriter>> MakeBridgeWriter(
    PyObject* handler, std::shared_ptr<arrow::io::OutputStream> destination, std::shared_ptr<arrow::Schema> schema,
    std::shared_ptr<arrow::dataset::FileWriteOptions> options, arrow::fs::FileLocator locator) {
  auto file = std::make_shared<UnfinishedFile>(destination, locator);
  const auto* bridged = dynamic_cast<const BridgeWriteOptions*>(options.get());
  if (bridged == nullptr) return arrow::Status::TypeError("the write options are not those of a Lance format");
  PyObject* writer = nullptr;
  int64_t most_bytes = 0;
  ARROW_RETURN_NOT_OK(CallPython([&]() -> arrow::Status {
    writer = callbacks.make_writer(handler, bridged->options(), destination, schema, locator.path, &most_bytes);
    return arrow::py::CheckPyError();
  }));
  auto rows = std::make_shared<RowsOfFile>(*schema, GuardedRef(writer), most_bytes);
  return std::make_shared<BridgeWriter>(std::move(schema), std::move(options), std::move(destination),
                                        std::move(locator), std::move(rows), std::move(file));
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
