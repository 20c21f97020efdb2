// Rows that wait until they are worth a call of Python, and the bytes that all open files of the process hold.
//
// Arrow gives many small slices to many open files. Each file collects its own without the GIL, and hands them over as
// few large batches. If all files together hold more than they may, a file that gets rows and holds more than its share
// hands over all, and writes pages until it holds less. So all files hold at most twice what they may.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "arrow/array/concatenate.h"
#include "arrow/memory_pool.h"
#include "arrow/record_batch.h"
#include "arrow/result.h"
#include "arrow/status.h"
#include "arrow/type.h"
#include "arrow/util/byte_size.h"

#include "per_process.hpp"

namespace lance_arrow {

struct OpenFiles {
  std::atomic<int64_t> num_files{0};
  std::atomic<int64_t> held_bytes{0};
};

// Of one file; for one thread at a time.
class WaitingRows {
 public:
  // `most_bytes`: what all open files together may hold.
  WaitingRows(const arrow::Schema& schema, int64_t most_bytes)
      : files_(&PerProcess<OpenFiles>::Get()), most_bytes_(most_bytes), can_join_(!HasDictionary(schema.fields())) {
    ++files_->num_files;
  }
  ~WaitingRows() {
    --files_->num_files;
    files_->held_bytes -= waiting_bytes_ + sink_bytes_;
  }
  WaitingRows(const WaitingRows&) = delete;
  WaitingRows& operator=(const WaitingRows&) = delete;

  arrow::Status Add(std::shared_ptr<arrow::RecordBatch> batch) {
    int64_t num_bytes = BytesOf(*batch);
    // A slice keeps all of its array, which may belong to a thousand files.
    if (num_bytes < kCopiedBytes && arrow::util::TotalBufferSize(*batch) > 2 * num_bytes && batch->Validate().ok()) {
      ARROW_ASSIGN_OR_RAISE(batch, Joined({std::move(batch)}));
      num_bytes = BytesOf(*batch);
    }
    batches_.push_back(std::move(batch));
    Count(waiting_bytes_ + num_bytes, sink_bytes_);
    return arrow::Status::OK();
  }

  // Whether the rows should be handed over now.
  bool IsDue() const { return waiting_bytes_ >= kCallBytes || (IsPressed() && waiting_bytes_ > 0); }

  // What the file may keep in memory after the rows are handed over.
  int64_t MostBytes() const { return IsPressed() ? Share() : most_bytes_; }

  // All rows, joined to as few batches as can be. The sink has them now.
  arrow::Result<arrow::RecordBatchVector> Take() {
    arrow::RecordBatchVector taken = std::exchange(batches_, {});
    Count(0, sink_bytes_ + waiting_bytes_);
    return can_join_ ? JoinedNeighbours(taken) : std::move(taken);
  }

  // How much the sink kept of what it was given.
  void SinkHolds(int64_t num_bytes) { Count(waiting_bytes_, num_bytes); }

 private:
  // A page of one column is as large. Source: DEFAULT_PAGE_BYTES.
  static constexpr int64_t kCallBytes = 8 << 20;
  // Larger slices wait for few others, so that the array they keep is kept for a short time.
  static constexpr int64_t kCopiedBytes = kCallBytes / 8;

  bool IsPressed() const { return files_->held_bytes > most_bytes_ && waiting_bytes_ + sink_bytes_ >= Share(); }

  int64_t Share() const { return most_bytes_ / std::max<int64_t>(1, files_->num_files); }

  void Count(int64_t waiting_bytes, int64_t sink_bytes) {
    files_->held_bytes += waiting_bytes - waiting_bytes_ + sink_bytes - sink_bytes_;
    waiting_bytes_ = waiting_bytes;
    sink_bytes_ = sink_bytes;
  }

  // A dictionary is not counted: it is the same for all batches as a rule.
  static int64_t BytesOf(const arrow::RecordBatch& batch) {
    int64_t num_bytes = 0;
    for (const auto& column : batch.columns()) {
      if (column->type_id() == arrow::Type::DICTIONARY) {
        const auto& type = static_cast<const arrow::DictionaryType&>(*column->type());
        num_bytes += column->length() * type.index_type()->byte_width();
        continue;
      }
      const arrow::Result<int64_t> referenced = arrow::util::ReferencedBufferSize(*column);
      num_bytes += referenced.ok() ? *referenced : arrow::util::TotalBufferSize(*column);
    }
    return num_bytes;
  }

  // Dictionaries that differ would have to be unified; the sink does so where it must.
  static bool HasDictionary(const arrow::FieldVector& fields) {
    for (const auto& field : fields) {
      const arrow::DataType* type = field->type().get();
      if (type->id() == arrow::Type::EXTENSION)
        type = static_cast<const arrow::ExtensionType*>(type)->storage_type().get();
      if (type->id() == arrow::Type::DICTIONARY || HasDictionary(type->fields())) return true;
    }
    return false;
  }

  static arrow::Result<std::shared_ptr<arrow::RecordBatch>> Joined(const arrow::RecordBatchVector& batches) {
    int64_t num_rows = 0;
    for (const auto& batch : batches) num_rows += batch->num_rows();
    arrow::ArrayVector columns;
    for (int column = 0; column < batches[0]->num_columns(); ++column) {
      arrow::ArrayVector parts;
      for (const auto& batch : batches) parts.push_back(batch->column(column));
      ARROW_ASSIGN_OR_RAISE(auto joined, arrow::Concatenate(parts, arrow::default_memory_pool()));
      columns.push_back(std::move(joined));
    }
    return arrow::RecordBatch::Make(batches[0]->schema(), num_rows, std::move(columns));
  }

  // Batches that are large alone stay as they are, and so do those that contradict themselves: the sink says how.
  static arrow::Result<arrow::RecordBatchVector> JoinedNeighbours(const arrow::RecordBatchVector& batches) {
    arrow::RecordBatchVector joined, small;
    const auto join_small = [&]() -> arrow::Status {
      if (small.size() > 1) {
        ARROW_ASSIGN_OR_RAISE(auto one, Joined(small));
        small.assign(1, std::move(one));
      }
      for (auto& one : small) joined.push_back(std::move(one));
      small.clear();
      return arrow::Status::OK();
    };
    for (const auto& batch : batches) {
      if (BytesOf(*batch) < kCallBytes / 2 && batch->Validate().ok()) {
        small.push_back(batch);
        continue;
      }
      ARROW_RETURN_NOT_OK(join_small());
      joined.push_back(batch);
    }
    ARROW_RETURN_NOT_OK(join_small());
    return joined;
  }

  OpenFiles* files_;  // kept, since a fork replaces that of the process
  int64_t most_bytes_;
  bool can_join_;
  arrow::RecordBatchVector batches_;
  int64_t waiting_bytes_ = 0;
  int64_t sink_bytes_ = 0;
};

}  // namespace lance_arrow
