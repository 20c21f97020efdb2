// The way into Python for threads that are not Python's: open until the interpreter starts to end.
//
// A foreign thread that asks for the GIL while the interpreter finalizes is ended by Python in the middle of C++
// frames, and the process aborts. So every acquisition here passes a gate; at exit the gate is closed (refusing
// newcomers), those inside are waited for, and from then on Python references are leaked rather than released.
#pragma once

#include <Python.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "arrow/buffer.h"
#include "arrow/python/common.h"
#include "arrow/status.h"
#include "arrow/util/thread_pool.h"

#include "per_process.hpp"

namespace lance_arrow {

class Gate {
 public:
  bool Enter() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_closed_) return false;
    ++num_inside_;
    return true;
  }

  void Leave() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (--num_inside_ == 0) empty_.notify_all();
  }

  // To be called without the GIL, which those inside need in order to leave. False: somebody stayed.
  bool Close(double timeout_seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    is_closed_ = true;
    return empty_.wait_for(lock, std::chrono::duration<double>(timeout_seconds), [this] { return num_inside_ == 0; });
  }

  bool IsClosed() {
    std::lock_guard<std::mutex> lock(mutex_);
    return is_closed_;
  }

  // Python exceptions on their way through Arrow.
  std::atomic<int64_t> num_exceptions{0};

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  int64_t num_inside_ = 0;
  bool is_closed_ = false;
};

inline Gate& ExitGate() { return PerProcess<Gate>::Get(); }

// The right to take the GIL, as long as it lives; false when refused.
class Passage {
 public:
  Passage() : gate_(&ExitGate()), is_inside_(gate_->Enter()) {}
  ~Passage() {
    if (is_inside_) gate_->Leave();
  }
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

  explicit operator bool() const { return is_inside_; }

 private:
  Gate* gate_;  // kept, since a fork inside replaces the gate of the process
  bool is_inside_;
};

// A Python object owned by C++ code that may be destroyed on any thread, at any time.
class GuardedRef {
 public:
  GuardedRef() = default;
  // Takes over the caller's reference.
  explicit GuardedRef(PyObject* owned) : object_(owned) {}
  // Adds a reference; to be called with the GIL.
  static GuardedRef Share(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return GuardedRef(borrowed);
  }
  GuardedRef(GuardedRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  GuardedRef& operator=(GuardedRef&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~GuardedRef() {
    if (object_ == nullptr) return;
    Passage passage;
    if (!passage) return;
    arrow::py::PyAcquireGIL gil;
    Py_DECREF(object_);
  }

  // Borrowed; None when empty.
  PyObject* get() const { return object_ == nullptr ? Py_None : object_; }

 private:
  PyObject* object_ = nullptr;
};

// A Status made of a Python exception, fit to be dropped by any thread: Arrow's own would ask for the GIL unguarded.
inline arrow::Status GuardException(const arrow::Status& status) {
  if (!arrow::py::IsPyError(status)) return status;
  auto* kept = new std::shared_ptr<arrow::StatusDetail>(status.detail());
  auto* gate = &ExitGate();
  ++gate->num_exceptions;
  auto release = [kept, gate](arrow::StatusDetail*) {
    --gate->num_exceptions;
    Passage passage;
    if (!passage) return;
    arrow::py::PyAcquireGIL gil;
    delete kept;
  };
  return arrow::Status(status.code(), status.message(), std::shared_ptr<arrow::StatusDetail>(kept->get(), release));
}

// The same bytes, fit to be dropped by any thread: a buffer over a Python object asks for the GIL unguarded.
inline std::shared_ptr<arrow::Buffer> GuardBuffer(std::shared_ptr<arrow::Buffer> buffer) {
  auto* kept = new std::shared_ptr<arrow::Buffer>(std::move(buffer));
  auto release = [kept](arrow::Buffer*) {
    Passage passage;
    if (passage) delete kept;
  };
  return std::shared_ptr<arrow::Buffer>(kept->get(), release);
}

// Close the gate, then let Arrow's threads finish with the exceptions they carry, whose text they ask for (with the
// GIL) when tracing. To be called without the GIL. False: somebody stayed inside.
inline bool CloseExitGate(double timeout_seconds) {
  const bool is_empty = ExitGate().Close(timeout_seconds);
  constexpr auto kPause = std::chrono::milliseconds(1);
  for (int pauses = 0; pauses < 2000 && ExitGate().num_exceptions > 0; ++pauses) {
    if (arrow::internal::GetCpuThreadPool()->GetNumTasks() == 0) break;
    std::this_thread::sleep_for(kPause);
  }
  return is_empty;
}

// Run `call` (returning a Status or Result) with the GIL, or fail when the interpreter is ending. A Python exception
// travels inside the Status and is raised anew, the very object, by pyarrow in the thread that asked.
template <typename Call>
auto CallPython(Call&& call) -> decltype(call()) {
  Passage passage;
  if (!passage) return arrow::Status::Cancelled("the Python interpreter is ending");
  return arrow::py::SafeCallIntoPython([&]() -> decltype(call()) {
    auto outcome = call();
    if (!outcome.ok()) return GuardException(arrow::ToStatus(outcome));
    return outcome;
  });
}

}  // namespace lance_arrow
