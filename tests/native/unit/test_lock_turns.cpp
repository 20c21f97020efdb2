#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "engine/common/lock_turns.hpp"

using lance_arrow::engine::LockTurns;

TEST_CASE("nobody waits for a lock that no take has") {
  LockTurns turns;
  turns.wait();
  turns.entered();
  turns.leave();
  turns.wait();
}

TEST_CASE("a turn that began long ago is not waited for") {
  LockTurns turns;
  turns.entered();
  std::this_thread::sleep_for(std::chrono::nanoseconds(2 * LockTurns::kMostNanos));
  turns.wait();
}

TEST_CASE("threads take turns until all are done") {
  LockTurns turns;
  std::atomic<int> done{0};
  const auto work = [&] {
    for (int turn = 0; turn < 2000; ++turn) {
      turns.wait();
      turns.entered();
      turns.leave();
    }
    ++done;
  };
  std::thread first(work), second(work), third(work);
  first.join();
  second.join();
  third.join();
  CHECK(done == 3);
  turns.wait();
}
