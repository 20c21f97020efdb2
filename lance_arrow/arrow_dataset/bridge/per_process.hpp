// Process-wide objects that survive exit and start afresh in a forked child.
#pragma once

#include <atomic>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace lance_arrow {

// One T per process. Never destroyed, since threads may outlive static destructors. A forked child gets a new one: the
// threads that the old one counts, or that held its mutex, exist in the parent only.
template <typename T>
class PerProcess {
 public:
  static T& Get() { return *Slot().load(); }

 private:
  static std::atomic<T*>& Slot() {
    static std::atomic<T*> slot = [] {
#if !defined(_WIN32)
      pthread_atfork(nullptr, nullptr, [] { Slot().store(new T()); });
#endif
      return new T();
    }();
    return slot;
  }
};

}  // namespace lance_arrow
