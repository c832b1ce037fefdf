// Objects of one type that stay where they are and are used again, with the room of their vectors: in the long run
// nothing is allocated. One thread at a time.
#pragma once

#include "base/sure_memory.hpp"

namespace vicinal::base {

template <typename T>
class Pool {
 public:
  // As it was given back, or new.
  T& take() {
    if (unused_.empty()) return make();
    T& taken = *unused_.back();
    unused_.pop_back();
    return taken;
  }
  // Needs no memory.
  void give_back(T& used) noexcept { unused_.push_back(&used); }

 private:
  // There is room for all in `unused_`.
  T& make() {
    if (unused_.capacity() <= made_.size()) unused_.reserve(2 * made_.size() + 1);
    return made_.emplace_back();
  }

  SureDeque<T> made_;
  SureVector<T*> unused_;
};

}  // namespace vicinal::base
