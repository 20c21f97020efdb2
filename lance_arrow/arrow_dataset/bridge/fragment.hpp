// A file of a Lance dataset, with room for what only Python understands (a table's fragment, a list of zones).
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "arrow/compute/expression.h"
#include "arrow/dataset/file_base.h"
#include "arrow/filesystem/filesystem.h"
#include "arrow/type.h"
#include "arrow/util/compression.h"

#include "callbacks.hpp"
#include "gate.hpp"

namespace lance_arrow {

inline arrow::Result<std::shared_ptr<arrow::Schema>> InspectSource(PyObject* handler,
                                                                   const arrow::dataset::FileSource& source,
                                                                   PyObject* payload) {
  std::shared_ptr<arrow::Schema> schema;
  ARROW_RETURN_NOT_OK(CallPython([&]() -> arrow::Status {
    callbacks.inspect(handler, source, payload, &schema);
    return arrow::py::CheckPyError();
  }));
  return schema;
}

class BridgeFragment : public arrow::dataset::FileFragment {
 public:
  BridgeFragment(arrow::dataset::FileSource source, std::shared_ptr<arrow::dataset::FileFormat> format,
                 arrow::compute::Expression partition_expression, std::shared_ptr<arrow::Schema> physical_schema,
                 std::shared_ptr<const GuardedRef> handler, std::shared_ptr<const Payload> payload)
      : FileFragment(std::move(source), std::move(format), std::move(partition_expression), std::move(physical_schema)),
        handler_(std::move(handler)),
        payload_(std::move(payload)) {}

  const std::shared_ptr<const GuardedRef>& handler() const { return handler_; }
  const std::shared_ptr<const Payload>& payload() const { return payload_; }

  // The file that the format made after this one, most likely its neighbour in a dataset; null when it is gone.
  std::shared_ptr<BridgeFragment> next() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return next_.lock();
  }
  void set_next(const std::shared_ptr<BridgeFragment>& next) {
    std::lock_guard<std::mutex> lock(mutex_);
    next_ = next;
  }

  // Null when the file has not been asked yet.
  std::shared_ptr<arrow::Schema> known_physical_schema() {
    if (given_physical_schema_ != nullptr) return given_physical_schema_;
    auto lock = physical_schema_mutex_.Lock();
    return physical_schema_;
  }

 protected:
  arrow::Result<std::shared_ptr<arrow::Schema>> ReadPhysicalSchemaImpl() override {
    if (given_physical_schema_ != nullptr) return given_physical_schema_;
    return InspectSource(handler_->get(), source_, payload_->get());
  }

 private:
  std::shared_ptr<const GuardedRef> handler_;
  std::shared_ptr<const Payload> payload_;
  mutable std::mutex mutex_;
  std::weak_ptr<BridgeFragment> next_;
};

// Whether a fragment is a file of a filesystem as it lies there.
inline bool IsWholeFile(const arrow::dataset::FileFragment& file) {
  const auto& source = file.source();
  return source.filesystem() != nullptr && source.compression() == arrow::Compression::UNCOMPRESSED;
}

// Where rows read ahead belong: one scan may read files of one path from several filesystems, versions or formats.
class FileOrigin {
 public:
  explicit FileOrigin(const BridgeFragment& file)
      : handler_(file.handler()), payload_(file.payload()), filesystem_(file.source().filesystem()) {}

  bool Has(const BridgeFragment& file) const {
    const auto filesystem = filesystem_.lock();
    if (handler_.lock() != file.handler() || payload_.lock() != file.payload() || filesystem == nullptr) return false;
    const auto& other = file.source().filesystem();
    return filesystem == other || (filesystem->type_name() == "local" && other->type_name() == "local");
  }

 private:
  // Weak: open files are let go with their dataset.
  std::weak_ptr<const GuardedRef> handler_;
  std::weak_ptr<const Payload> payload_;
  std::weak_ptr<arrow::fs::FileSystem> filesystem_;
};

// Whether it is all of that file, and stands for nothing else.
inline bool IsBareFile(const arrow::dataset::FileFragment& file) {
  const auto* bridged = dynamic_cast<const BridgeFragment*>(&file);
  return bridged != nullptr && bridged->payload()->get() == Py_None && IsWholeFile(file);
}

}  // namespace lance_arrow
