// Threads that take rows in turns: how they get the interpreter's lock back without going to sleep for it.
//
// A hot take has the lock for about as long as it reads without it. A thread that comes back while another one has the
// lock would be put to sleep, and be woken by a call of the system that takes longer than the take. It looks again for
// a few microseconds instead, while a take that began just now has the lock. Others are not waited for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lance_arrow::engine {

class LockTurns {
 public:
  // Longer than a take of one row has the lock; most that is lost where its thread has begun something else.
  static constexpr int64_t kMostNanos = 25'000;

  // While a thread still has the lock, right before it lets go of it.
  void leave() { begun_.store(kNobody, std::memory_order_relaxed); }

  // Before a thread takes the lock again. One thread waits so; the lock itself puts others to sleep.
  void wait() {
    if (begun_.load(std::memory_order_relaxed) == kNobody || !has_processors()) return;
    if (!is_waiting_.exchange(true, std::memory_order_relaxed)) {
      int64_t begun = begun_.load(std::memory_order_relaxed);
      while (begun != kNobody && now() - begun <= kMostNanos) {
        pause();
        begun = begun_.load(std::memory_order_relaxed);
      }
      pause();  // a turn ends a moment before the lock is free
      is_waiting_.store(false, std::memory_order_relaxed);
    }
  }

  // Right after it has taken the lock.
  void entered() { begun_.store(now(), std::memory_order_relaxed); }

 private:
  static constexpr int64_t kNobody = 0;

  static bool has_processors() {
    static const bool several = std::thread::hardware_concurrency() > 1;
    return several;
  }

  static int64_t now() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

  // Leaves the processor to the other thread of its core.
  static void pause() {
#if defined(__x86_64__)
    for (int turn = 0; turn < 8; ++turn) _mm_pause();
#elif defined(__aarch64__) && !defined(_MSC_VER)
    asm volatile("isb");
#else
    std::this_thread::yield();
#endif
  }

  std::atomic<int64_t> begun_{kNobody};
  std::atomic<bool> is_waiting_{false};
};

// Of the one interpreter of the process.
inline LockTurns lock_turns;

}  // namespace lance_arrow::engine
