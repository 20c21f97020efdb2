// Scratch memory: leased by a call, given back when it ends, used again by the next call of the thread.
//
// Nested calls of one thread lease different memory. They occur: a codec's `select` calls its child's, and a codec that
// is written in Python may read another file before it returns. So no other header has variables of a thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lance_arrow {

// Bytes that a scratch object keeps allocated while no call has it. Other types bring a `kept_bytes` of their own.
template <class T>
int64_t kept_bytes(const std::vector<T>& values) {
  return static_cast<int64_t>(values.capacity() * sizeof(T));
}

// Objects of one type that a thread keeps between calls: at most kMostSpare, each of at most kMostSpareBytes.
template <class T>
class Spare {
 public:
  static std::unique_ptr<T> take() {
    Spare& spare = of_thread();
    return spare.count_ > 0 ? std::move(spare.held_[--spare.count_]) : std::make_unique<T>();
  }

  static void give_back(std::unique_ptr<T> object) {
    Spare& spare = of_thread();
    if (spare.count_ < kMostSpare && kept_bytes(*object) <= kMostSpareBytes)
      spare.held_[spare.count_++] = std::move(object);
  }

 private:
  static constexpr size_t kMostSpare = 4;  // calls nest no deeper in files that writers make
  static constexpr int64_t kMostSpareBytes = 16 << 20;

  // Objects in it belong to no call: `take` moves them out.
  static Spare& of_thread() {
    thread_local Spare spare;
    return spare;
  }

  std::array<std::unique_ptr<T>, kMostSpare> held_;
  size_t count_ = 0;
};

// Scratch of one call. Its content is what the last call left: clear or overwrite it.
template <class T>
class Leased {
 public:
  Leased() : object_(Spare<T>::take()) {}
  ~Leased() { Spare<T>::give_back(std::move(object_)); }
  Leased(const Leased&) = delete;
  Leased& operator=(const Leased&) = delete;

  T& operator*() const { return *object_; }
  T* operator->() const { return object_.get(); }

 private:
  std::unique_ptr<T> object_;
};

}  // namespace lance_arrow
