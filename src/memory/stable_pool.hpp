// Objects that stay where they are and are used again. One thread at a time.
#pragma once

#include "base/sure_memory.hpp"

namespace vicinal::memory {

template <typename T>
class StablePool {
 public:
  // As it was given back, or new.
  T& take() {
    if (unused_.empty()) return made_.emplace_back();
    T& taken = *unused_.back();
    unused_.pop_back();
    return taken;
  }
  void give_back(T& used) { unused_.push_back(&used); }

 private:
  base::SureDeque<T> made_;
  base::SureVector<T*> unused_;
};

}  // namespace vicinal::memory
