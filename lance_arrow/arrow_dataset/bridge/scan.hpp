// One file's scan: a plan, then its tasks in order with bounded readahead, then the batches they return.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrow/compute/expression.h"
#include "arrow/dataset/file_base.h"
#include "arrow/dataset/scanner.h"
#include "arrow/record_batch.h"
#include "arrow/util/async_generator.h"
#include "arrow/util/future.h"
#include "arrow/util/thread_pool.h"

#include "callbacks.hpp"
#include "gate.hpp"
#include "pace.hpp"
#include "pool.hpp"

namespace lance_arrow {

using BatchFuture = arrow::Future<std::shared_ptr<arrow::RecordBatch>>;
using BatchList = std::shared_ptr<arrow::RecordBatchVector>;  // what one task returns; null after the last task

inline arrow::internal::Executor* CpuExecutor(const arrow::dataset::ScanOptions& options) {
  return options.cpu_executor != nullptr ? options.cpu_executor : arrow::internal::GetCpuThreadPool();
}

// Tasks on local files are bound by the CPU; elsewhere threads mostly wait.
inline int UsualThreads(const arrow::dataset::FileSource& source) {
  const int cpu_threads = arrow::GetCpuThreadPoolCapacity();
  const auto& filesystem = source.filesystem();
  if (filesystem == nullptr || filesystem->type_name() == "local") return cpu_threads;
  return std::max(cpu_threads, arrow::io::GetIOThreadPoolCapacity());
}

// Whether Python may block here: on no thread that Arrow needs for something else.
inline bool MayBlockHere(const arrow::dataset::ScanOptions& options) {
  return !CpuExecutor(options)->OwnsThisThread() && !arrow::io::default_io_context().executor()->OwnsThisThread();
}

// Run `call` (returning a Result) where Python may block: here when `in_caller` and that may be, else on a thread of
// ours. What follows runs on the same thread, and may not block there: see `OnArrow`.
template <typename Call, typename Outcome = std::invoke_result_t<Call>>
arrow::Future<typename Outcome::ValueType> RunOutsideArrow(const arrow::dataset::FileSource& source,
                                                           const std::shared_ptr<arrow::dataset::ScanOptions>& options,
                                                           bool in_caller, Call call) {
  using FutureType = arrow::Future<typename Outcome::ValueType>;
  if (in_caller && MayBlockHere(*options)) return FutureType::MakeFinished(call());
  auto future = FutureType::Make();
  auto task = [future, options, call = std::move(call)](const arrow::Status& start) mutable {
    {
      Passage passage;  // held until delivered: an exception is to leave this thread before the gate counts as empty
      Outcome outcome = start.ok() ? call() : Outcome(start);
      if (passage && !ExitGate().IsClosed()) return future.MarkFinished(std::move(outcome));
    }
    // A daemon thread that we woke now would ask for the GIL while Python ends, and abort the process. Threads
    // that still wait while functions of atexit run get an answer in the end; later no thread can, and what would be
    // called (Arrow's executors above all) is being destroyed.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    while (!Py_IsInitialized()) std::this_thread::sleep_for(std::chrono::hours(1));
    future.MarkFinished(Outcome(arrow::Status::Cancelled("the Python interpreter is ending")));
  };
  Tasks().Spawn(options.get(), UsualThreads(source), std::move(task));
  return future;
}

// Let what follows a future that is not finished yet run on Arrow's CPU threads, as Arrow expects.
template <typename Value>
arrow::Future<Value> OnArrow(const arrow::dataset::ScanOptions& options, arrow::Future<Value> future) {
  return CpuExecutor(options)->Transfer(std::move(future));
}

// The generator Arrow pulls from, one batch at a time. Copies share one state; when the last copy dies, tasks that
// have not begun do not begin.
class BatchStream {
 public:
  BatchStream(std::shared_ptr<const GuardedRef> handler, std::shared_ptr<const Payload> payload,
              std::shared_ptr<arrow::dataset::ScanOptions> options,
              std::shared_ptr<arrow::dataset::FileFragment> fragment, arrow::compute::Expression filter)
      : state_(std::make_shared<State>()) {
    if (options->use_threads) {
      state_->pace = PaceOf(options);
      state_->pace->Enter(fragment.get());
    }
    owner_ = std::make_shared<Owner>(state_->is_abandoned, state_->leads, state_->pace);
    state_->handler = std::move(handler);
    state_->payload = std::move(payload);
    state_->options = std::move(options);
    state_->fragment = std::move(fragment);
    state_->filter = std::move(filter);
  }

  BatchFuture operator()() {
    if (state_->next_batch < state_->batches->size()) return BatchFuture::MakeFinished(state_->TakeBatch());
    return arrow::Loop([state = state_] {
      return OnArrow(*state->options, state->NextList())
          .Then([state](const BatchList& list) -> arrow::ControlFlow<std::shared_ptr<arrow::RecordBatch>> {
            if (list == nullptr) return arrow::Break(std::shared_ptr<arrow::RecordBatch>());
            if (list->empty()) return arrow::Continue();
            state->batches = list;
            state->next_batch = 0;
            return arrow::Break(state->TakeBatch());
          });
    });
  }

 private:
  using Flag = std::shared_ptr<std::atomic<bool>>;

  // Arrow hands out a batch when it has the next one: it tells which is the last.
  static constexpr size_t kGivenAtOnce = 2;

  struct Plan {
    GuardedRef tasks;
    int64_t num_tasks = 0;
    bool starts_slowly = false;
    BatchList first;  // what the first task returned, if it ran with the plan and was not asked for yet

    arrow::Result<BatchList> Run(int64_t index, int64_t batch_size) const {
      auto list = std::make_shared<arrow::RecordBatchVector>();
      ARROW_RETURN_NOT_OK(CallPython([&]() -> arrow::Status {
        callbacks.run(tasks.get(), index, batch_size, list.get());
        return arrow::py::CheckPyError();
      }));
      return list;
    }
  };

  struct State : std::enable_shared_from_this<State> {
    std::shared_ptr<const GuardedRef> handler;
    std::shared_ptr<const Payload> payload;
    std::shared_ptr<arrow::dataset::ScanOptions> options;
    std::shared_ptr<arrow::dataset::FileFragment> fragment;
    arrow::compute::Expression filter;  // of the options, simplified by the guarantee of the fragment
    Flag is_abandoned = std::make_shared<std::atomic<bool>>(false);
    std::shared_ptr<ScanPace> pace;  // null where nothing is asked for ahead
    Flag leads = std::make_shared<std::atomic<bool>>(false);
    bool is_probing = false;  // whether Arrow has not asked for more than a caller of a few rows has it ask for

    std::shared_ptr<Plan> plan;  // null until made
    int64_t next_task = 0;
    int64_t tasks_ahead = std::numeric_limits<int32_t>::max();
    std::deque<arrow::Future<BatchList>> in_flight;
    BatchList batches = std::make_shared<arrow::RecordBatchVector>();
    size_t next_batch = 0;

    std::shared_ptr<arrow::RecordBatch> TakeBatch() { return std::move((*batches)[next_batch++]); }

    arrow::Future<BatchList> NextList() {
      if (plan != nullptr) return NextTaskResult();
      auto self = shared_from_this();
      *leads = pace != nullptr && pace->Lead();
      auto begun = pace == nullptr || *leads ? arrow::Future<>::MakeFinished() : pace->WhenOn();
      return begun.Then([self] { return self->MakePlan(); })
          .Then(
              [self](const std::shared_ptr<Plan>& plan) {
                self->plan = plan;
                if (plan->starts_slowly) self->tasks_ahead = 1;
                if (*self->leads) self->BeginToLead();
                return self->NextTaskResult();
              },
              [self](const arrow::Status& error) -> arrow::Future<BatchList> {
                if (*self->leads) self->pace->GoOn();
                return error;
              });
    }

    // Hand out what Arrow wants before it gives a batch to a caller, and the rest of the first list after a pause.
    void BeginToLead() {
      if (!plan->starts_slowly || plan->first == nullptr || plan->first->size() <= kGivenAtOnce) return pace->GoOn();
      is_probing = true;
      auto& all = *plan->first;
      auto rest = std::make_shared<arrow::RecordBatchVector>(all.begin() + kGivenAtOnce, all.end());
      all.resize(kGivenAtOnce);
      in_flight.push_back(StartTask(next_task++));
      auto call = [pace = pace, options = options, fragment = fragment, rest]() -> arrow::Result<BatchList> {
        if (!pace->Pause()) {
          pace->GoOn();
        } else {
          // Its result is not needed: this call only ends the pause, and the scan may have ended before.
          static_cast<void>(RunOutsideArrow(fragment->source(), options, false, [pace]() -> arrow::Result<bool> {
            pace->LosePatience();
            return true;
          }));
        }
        return rest;
      };
      in_flight.push_back(RunOutsideArrow(fragment->source(), options, false, std::move(call)));
    }

    arrow::Future<std::shared_ptr<Plan>> MakePlan() {
      auto call = [handler = handler, payload = payload, options = options, fragment = fragment, filter = filter,
                   is_abandoned = is_abandoned]() -> arrow::Result<std::shared_ptr<Plan>> {
        if (*is_abandoned) return Abandoned();
        auto plan = std::make_shared<Plan>();
        ARROW_RETURN_NOT_OK(CallPython([&]() -> arrow::Status {
          plan->tasks = GuardedRef(callbacks.plan(handler->get(), fragment, payload->get(), options, filter,
                                                  &plan->num_tasks, &plan->starts_slowly));
          return arrow::py::CheckPyError();
        }));
        // Nothing else is to be done meanwhile: another thread would only have to be woken.
        if ((plan->num_tasks == 1 || plan->starts_slowly) && !*is_abandoned) {
          ARROW_ASSIGN_OR_RAISE(plan->first, plan->Run(0, options->batch_size));
        }
        return plan;
      };
      return RunOutsideArrow(fragment->source(), options, !options->use_threads, std::move(call));
    }

    // Right after the plan this runs on the thread that planned, which is then free for the first task.
    arrow::Future<BatchList> NextTaskResult() {
      // A caller of a few rows is known by what it does not take: after a slow start, each list doubles the readahead.
      const int64_t most_ahead = options->use_threads ? std::max(1, options->batch_readahead) : 1;
      if (is_probing && in_flight.empty()) {
        is_probing = false;
        tasks_ahead = most_ahead;
        pace->GoOn();
      }
      const size_t readahead = is_probing ? 0 : std::min(most_ahead, tasks_ahead);
      if (!is_probing) tasks_ahead = 2 * std::min(most_ahead, tasks_ahead);
      while (in_flight.size() < readahead && next_task < plan->num_tasks) in_flight.push_back(StartTask(next_task++));
      if (in_flight.empty()) return arrow::Future<BatchList>::MakeFinished(BatchList());
      auto result = std::move(in_flight.front());
      in_flight.pop_front();
      return result.Then([](const BatchList& list) { return list; },
                         [self = shared_from_this()](const arrow::Status& error) { return self->FailWith(error); });
    }

    arrow::Future<BatchList> StartTask(int64_t index) {
      if (plan->first != nullptr) return arrow::Future<BatchList>::MakeFinished(std::exchange(plan->first, nullptr));
      auto call = [plan = plan, index, batch_size = options->batch_size,
                   is_abandoned = is_abandoned]() -> arrow::Result<BatchList> {
        if (*is_abandoned) return Abandoned();
        return plan->Run(index, batch_size);
      };
      return RunOutsideArrow(fragment->source(), options, !options->use_threads, std::move(call));
    }

    // Nothing of a failed scan runs on: the caller may now free what tasks use, the memory pool above all.
    arrow::Future<BatchList> FailWith(const arrow::Status& error) {
      *is_abandoned = true;
      std::vector<arrow::Future<>> others;
      for (auto& future : std::exchange(in_flight, {})) others.emplace_back(future);
      next_task = plan->num_tasks;
      return arrow::AllFinished(others).Then(
          [error]() -> arrow::Result<BatchList> { return error; },
          [error](const arrow::Status&) -> arrow::Result<BatchList> { return error; });
    }

    static arrow::Status Abandoned() { return arrow::Status::Cancelled("the scan was abandoned"); }
  };

  // Held by the generator alone, never by a task, so that its end means that nobody will pull again.
  struct Owner {
    Owner(Flag abandoned, Flag leading, std::shared_ptr<ScanPace> of_scan)
        : is_abandoned(std::move(abandoned)), leads(std::move(leading)), pace(std::move(of_scan)) {}
    ~Owner() {
      *is_abandoned = true;
      if (*leads) pace->Stop();
    }
    Flag is_abandoned;
    Flag leads;
    std::shared_ptr<ScanPace> pace;
  };

  std::shared_ptr<State> state_;
  std::shared_ptr<Owner> owner_;
};

}  // namespace lance_arrow
