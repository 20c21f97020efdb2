// A file of a Lance dataset, with room for what only Python understands (a table's fragment, a list of zones).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "arrow/compute/expression.h"
#include "arrow/dataset/file_base.h"
#include "arrow/type.h"

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
                 std::shared_ptr<const GuardedRef> handler, std::shared_ptr<const GuardedRef> payload)
      : FileFragment(std::move(source), std::move(format), std::move(partition_expression), std::move(physical_schema)),
        handler_(std::move(handler)),
        payload_(std::move(payload)) {}

  const std::shared_ptr<const GuardedRef>& payload() const { return payload_; }

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
  std::shared_ptr<const GuardedRef> payload_;
};

}  // namespace lance_arrow
