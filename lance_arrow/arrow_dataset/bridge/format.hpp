// The file format that Arrow's dataset machinery sees: every question goes to the Python handler.
#pragma once

#include <Python.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrow/compute/expression.h"
#include "arrow/dataset/file_base.h"
#include "arrow/dataset/scanner.h"
#include "arrow/type.h"
#include "arrow/type_traits.h"

#include "callbacks.hpp"
#include "file_pruners.hpp"
#include "fragment.hpp"
#include "gate.hpp"
#include "libarrow/dot_paths.hpp"
#include "ready_rows.hpp"
#include "scan.hpp"
#include "writer.hpp"

namespace lance_arrow {

class BridgeFormat : public arrow::dataset::FileFormat {
 public:
  BridgeFormat(GuardedRef handler, GuardedRef python_class)
      : FileFormat(nullptr),
        handler_(std::make_shared<const GuardedRef>(std::move(handler))),
        python_class_(std::move(python_class)) {}

  PyObject* handler() const { return handler_->get(); }
  // The Python class this format shows itself as.
  PyObject* python_class() const { return python_class_.get(); }

  std::string type_name() const override { return "lance"; }

  bool Equals(const arrow::dataset::FileFormat& other) const override {
    if (this == &other) return true;
    const auto* bridged = dynamic_cast<const BridgeFormat*>(&other);
    if (bridged == nullptr) return false;
    auto equal = CallPython([&]() -> arrow::Result<bool> {
      const int answer = PyObject_RichCompareBool(handler(), bridged->handler(), Py_EQ);
      if (answer < 0) return arrow::py::ConvertPyError();
      return answer == 1;
    });
    return equal.ok() && *equal;
  }

  arrow::Result<bool> IsSupported(const arrow::dataset::FileSource& source) const override {
    folder_.Forget();
    return CallPython([&]() -> arrow::Result<bool> {
      const int answer = callbacks.supports(handler(), source);
      if (answer < 0) return arrow::py::ConvertPyError();
      return answer == 1;
    });
  }

  arrow::Result<std::shared_ptr<arrow::Schema>> Inspect(const arrow::dataset::FileSource& source) const override {
    // It begins another dataset.
    folder_.Forget();
    return InspectSource(handler(), source, Py_None);
  }

  arrow::Result<arrow::dataset::RecordBatchGenerator> ScanBatchesAsync(
      const std::shared_ptr<arrow::dataset::ScanOptions>& options,
      const std::shared_ptr<arrow::dataset::FileFragment>& file) const override {
    auto payload = PayloadOf(*file);
    ARROW_ASSIGN_OR_RAISE(auto filter,
                          arrow::compute::SimplifyWithGuarantee(options->filter, file->partition_expression()));
    ARROW_ASSIGN_OR_RAISE(auto ready, TakeReady(options, filter, *file));
    if (ready.has_value()) return arrow::MakeVectorGenerator(*std::move(ready));
    if (payload->get() == Py_None && MayBePruned(file->source()) &&
        KnownFilePruners().Exclude(options, filter, file->source())) {
      return arrow::MakeEmptyGenerator<std::shared_ptr<arrow::RecordBatch>>();
    }
    return BatchStream(handler_, std::move(payload), options, file, std::move(filter));
  }

  arrow::Future<std::optional<int64_t>> CountRows(
      const std::shared_ptr<arrow::dataset::FileFragment>& file, arrow::compute::Expression predicate,
      const std::shared_ptr<arrow::dataset::ScanOptions>& options) override {
    auto payload = PayloadOf(*file);
    if (payload->get() == Py_None && MayBePruned(file->source())) {
      const int64_t num_rows = KnownFilePruners().Count(options, predicate, file->source());
      if (num_rows >= 0) return arrow::Future<std::optional<int64_t>>::MakeFinished(std::optional<int64_t>(num_rows));
    }
    if (predicate == arrow::compute::literal(true)) {
      const int64_t num_rows = payload->NumRows(file->source().path());
      if (num_rows >= 0) return arrow::Future<std::optional<int64_t>>::MakeFinished(std::optional<int64_t>(num_rows));
    }
    if (KnownCountedByScan().Has(options, predicate)) {
      return arrow::Future<std::optional<int64_t>>::MakeFinished(std::optional<int64_t>());
    }
    auto call = [handler = handler_, payload = std::move(payload), file, options, predicate = std::move(predicate)] {
      return CallPython([&]() -> arrow::Result<std::optional<int64_t>> {
        int64_t num_rows = 0;
        const int is_known = callbacks.count_rows(handler->get(), file, payload->get(), options, predicate, &num_rows);
        if (is_known < 0) return arrow::py::ConvertPyError();
        if (is_known == 2) KnownCountedByScan().Keep(options, predicate, std::make_shared<CountedByScan>());
        return is_known == 1 ? std::optional<int64_t>(num_rows) : std::nullopt;
      });
    };
    // Arrow waits for each file's count before it asks for the next, in the thread of who wants to know.
    return OnArrow(*options, RunOutsideArrow(file->source(), options, true, std::move(call)));
  }

  using FileFormat::MakeFragment;

  arrow::Result<std::shared_ptr<arrow::dataset::FileFragment>> MakeFragment(
      arrow::dataset::FileSource source, arrow::compute::Expression partition_expression,
      std::shared_ptr<arrow::Schema> physical_schema) override {
    // Only a file in such a folder may stand for more than itself: the others need not wait for the GIL.
    if (source.filesystem() == nullptr || source.path().find("/data/") == std::string::npos) {
      return MakeFragment(std::move(source), std::move(partition_expression), std::move(physical_schema),
                          Payload::None());
    }
    auto payload = folder_.Find(source);
    if (payload == nullptr) {
      ARROW_RETURN_NOT_OK(CallPython([&]() -> arrow::Status {
        std::shared_ptr<FoundFiles> files;
        std::string folder;
        GuardedRef adopted(callbacks.adopt(handler(), source, &files, &folder));
        ARROW_RETURN_NOT_OK(arrow::py::CheckPyError());
        const bool is_none = adopted.get() == Py_None;
        payload = is_none ? Payload::None()
                          : std::make_shared<const Payload>(std::move(adopted), std::move(files), std::move(folder));
        return arrow::Status::OK();
      }));
      // A payload of one file alone is no answer for others.
      if (payload->files != nullptr || payload == Payload::None()) folder_.Learn(source, payload);
    }
    return MakeFragment(std::move(source), std::move(partition_expression), std::move(physical_schema),
                        std::move(payload));
  }

  std::shared_ptr<arrow::dataset::FileFragment> MakeFragment(arrow::dataset::FileSource source,
                                                             arrow::compute::Expression partition_expression,
                                                             std::shared_ptr<arrow::Schema> physical_schema,
                                                             std::shared_ptr<const Payload> payload) {
    if (source.buffer() != nullptr) {
      source = arrow::dataset::FileSource(GuardBuffer(source.buffer()), source.compression());
    }
    auto made = std::make_shared<BridgeFragment>(std::move(source), shared_from_this(), std::move(partition_expression),
                                                 std::move(physical_schema), handler_, std::move(payload));
    std::shared_ptr<BridgeFragment> last;  // may end here, which takes the GIL: not under the lock
    {
      std::lock_guard<std::mutex> lock(mutex_);
      last = last_made_.lock();
      last_made_ = made;
    }
    if (last != nullptr) last->set_next(made);
    return made;
  }

  arrow::Result<std::shared_ptr<arrow::dataset::FileWriter>> MakeWriter(
      std::shared_ptr<arrow::io::OutputStream> destination, std::shared_ptr<arrow::Schema> schema,
      std::shared_ptr<arrow::dataset::FileWriteOptions> options, arrow::fs::FileLocator locator) const override {
    if (!Equals(*options->format())) return arrow::Status::TypeError("the write options are those of another format");
    return MakeBridgeWriter(handler(), std::move(destination), std::move(schema), std::move(options),
                            std::move(locator));
  }

  std::shared_ptr<arrow::dataset::FileWriteOptions> DefaultWriteOptions() override {
    return std::make_shared<BridgeWriteOptions>(shared_from_this(), GuardedRef());
  }

 private:
  static std::shared_ptr<const Payload> PayloadOf(const arrow::dataset::FileFragment& file) {
    const auto* bridged = dynamic_cast<const BridgeFragment*>(&file);
    return bridged == nullptr ? Payload::None() : bridged->payload();
  }

  std::shared_ptr<const GuardedRef> handler_;
  GuardedRef python_class_;
  mutable FoundFolder folder_;
  std::mutex mutex_;
  std::weak_ptr<BridgeFragment> last_made_;
};

// What Cython cannot say itself.

inline std::shared_ptr<arrow::dataset::FileFormat> MakeBridgeFormat(PyObject* handler, PyObject* python_class) {
  return std::make_shared<BridgeFormat>(GuardedRef::Share(handler), GuardedRef::Share(python_class));
}

// Null when the format is not ours.
inline const BridgeFormat* AsBridgeFormat(const arrow::dataset::FileFormat* format) {
  return dynamic_cast<const BridgeFormat*>(format);
}

inline BridgeFragment* AsBridgeFragment(arrow::dataset::Fragment* fragment) {
  return dynamic_cast<BridgeFragment*>(fragment);
}

// Without a payload (None) the handler is asked for one.
inline arrow::Result<std::shared_ptr<arrow::dataset::Fragment>> MakeBridgeFragment(
    arrow::dataset::FileFormat* format, arrow::dataset::FileSource source,
    arrow::compute::Expression partition_expression, std::shared_ptr<arrow::Schema> physical_schema,
    PyObject* payload) {
  auto* ours = static_cast<BridgeFormat*>(format);
  if (payload == Py_None) {
    return ours->MakeFragment(std::move(source), std::move(partition_expression), std::move(physical_schema));
  }
  return ours->MakeFragment(std::move(source), std::move(partition_expression), std::move(physical_schema),
                            Payload::Share(payload));
}

// A fragment of a file of known size (or -1) and schema.
inline arrow::Result<std::shared_ptr<arrow::dataset::FileFragment>> MakeKnownFragment(
    arrow::dataset::FileFormat* format, std::string path, int64_t size,
    std::shared_ptr<arrow::fs::FileSystem> filesystem, arrow::compute::Expression guarantee,
    std::shared_ptr<arrow::Schema> schema, PyObject* payload) {
  arrow::fs::FileInfo info(std::move(path));
  info.set_size(size);
  return static_cast<BridgeFormat*>(format)->MakeFragment(
      arrow::dataset::FileSource(std::move(info), std::move(filesystem)), std::move(guarantee), std::move(schema),
      Payload::Share(payload));
}

// The whole source in memory, for sources that are neither a path nor a buffer (an open file).
inline arrow::Result<std::shared_ptr<arrow::Buffer>> SourceBuffer(const arrow::dataset::FileSource& source) {
  if (source.buffer() != nullptr) return source.buffer();
  ARROW_ASSIGN_OR_RAISE(auto file, source.Open());
  ARROW_ASSIGN_OR_RAISE(int64_t size_bytes, file->GetSize());
  return file->ReadAt(0, size_bytes);
}

// Whether values of some column, at any depth, are views; what is below extension types is not looked at.
inline bool HoldViews(const arrow::FieldVector& fields) {
  return std::any_of(fields.begin(), fields.end(), [](const std::shared_ptr<arrow::Field>& field) {
    const arrow::DataType& type = *field->type();
    return arrow::is_binary_view_like(type.id()) || HoldViews(type.fields());
  });
}

// Every column the scan needs.
inline std::vector<std::string> ColumnPaths(const arrow::dataset::ScanOptions& options) {
  return DotPaths(options.MaterializedFields(), *options.dataset_schema);
}

// To be called once, before any thread exists that could hold up a fork.
inline void Install(const Callbacks& python_side) {
  callbacks = python_side;
  ExitGate();
  Tasks();
}

}  // namespace lance_arrow
