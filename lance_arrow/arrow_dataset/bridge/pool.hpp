// The threads on which Python callbacks run, shared fairly and never exhausted by nested scans.
//
// Arrow's own pools must stay free: a callback that blocks in Arrow (reading another dataset, say) on a thread of the
// very pool it waits for would never return. The same would hold for a fixed pool of ours, so every scan is promised
// one thread at least: a task starts when fewer than `usual_threads` tasks run, or when no other task of its scan
// runs. A scan inside a callback is another scan, so it always moves on. At most usual_threads + scans in progress
// threads exist.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arrow/result.h"
#include "arrow/status.h"
#include "arrow/util/thread_pool.h"

#include "per_process.hpp"

namespace lance_arrow {

class TaskPool {
 public:
  // Called once: on a thread of the pool with OK, or at once with the reason why no thread can be had.
  using Task = std::function<void(const arrow::Status& start)>;

  // `scan` is an identity only, never followed.
  void Spawn(const void* scan, int usual_threads, Task task) {
    std::unique_lock<std::mutex> lock(mutex_);
    waiting_.push_back({scan, usual_threads, std::move(task)});
    StartWhatMay(std::move(lock));
  }

 private:
  struct Waiting {
    const void* scan;
    int usual_threads;
    Task task;
  };

  // Arrow's pool is fork-safe, ours are the books about it.
  static arrow::internal::ThreadPool* Threads() {
    static auto* threads =
        new std::shared_ptr<arrow::internal::ThreadPool>(arrow::internal::ThreadPool::MakeEternal(1).ValueOrDie());
    return threads->get();
  }

  // Never holds the mutex while a task runs or dies: both may wait for the GIL, whose holder may wait for the mutex.
  void StartWhatMay(std::unique_lock<std::mutex> lock) {
    std::vector<std::pair<Task, arrow::Status>> refused;
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      if (num_running_ < it->usual_threads || !num_running_of_.contains(it->scan)) {
        auto task = std::make_shared<Task>(std::move(it->task));
        arrow::Status started = Start(it->scan, task);
        if (!started.ok()) refused.emplace_back(std::move(*task), std::move(started));
        it = waiting_.erase(it);
      } else {
        ++it;
      }
    }
    lock.unlock();
    for (const auto& [task, reason] : refused) task(reason);
  }

  arrow::Status Start(const void* scan, const std::shared_ptr<Task>& task) {
    if (Threads()->GetCapacity() <= num_running_) ARROW_RETURN_NOT_OK(Threads()->SetCapacity(num_running_ + 1));
    ARROW_RETURN_NOT_OK(Threads()->Spawn([this, scan, task] {
      std::exchange(*task, nullptr)(arrow::Status::OK());
      Finish(scan);
    }));
    ++num_running_;
    ++num_running_of_[scan];
    return arrow::Status::OK();
  }

  void Finish(const void* scan) {
    std::unique_lock<std::mutex> lock(mutex_);
    --num_running_;
    auto of_scan = num_running_of_.find(scan);
    if (--of_scan->second == 0) num_running_of_.erase(of_scan);
    StartWhatMay(std::move(lock));
  }

  std::mutex mutex_;
  int num_running_ = 0;
  std::unordered_map<const void*, int> num_running_of_;
  std::list<Waiting> waiting_;
};

inline TaskPool& Tasks() { return PerProcess<TaskPool>::Get(); }

}  // namespace lance_arrow
