// Objects that stay where they are and are used again. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/spin_lock.hpp"
#include "base/sure_memory.hpp"

namespace vicinal::memory {

template <typename T>
class StablePool {
 public:
  // As it was given back, or new. A new one that has an `id` gets its number, with which `at` finds it.
  T& take() {
    const std::lock_guard lock(lock_);
    if (unused_.empty()) {
      T& made = made_.emplace_back();
      if constexpr (requires { made.id; }) made.id = made_.size() - 1;
      return made;
    }
    T& taken = *unused_.back();
    unused_.pop_back();
    return taken;
  }
  void give_back(T& used) {
    const std::lock_guard lock(lock_);
    unused_.push_back(&used);
  }
  T& at(std::uint64_t number) {
    const std::lock_guard lock(lock_);
    return made_[number];
  }

 private:
  base::SpinLock lock_;
  base::SureDeque<T> made_;
  base::SureVector<T*> unused_;
};

}  // namespace vicinal::memory
