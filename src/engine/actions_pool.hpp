// Actions whose lists keep the room they have grown to: a copy would otherwise allocate five times.
#pragma once

#include <mutex>

#include "base/pool.hpp"
#include "base/spin_lock.hpp"
#include "memory/residency.hpp"

namespace vicinal::engine {

class ActionsPool {
 public:
  // Empty ones, of the pool until the end of the scope.
  class Lease {
   public:
    explicit Lease(ActionsPool& pool) : pool_(pool), actions_(pool.take()) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      actions_->clear();
      pool_.give_back(actions_);
    }
    memory::Actions& operator*() { return *actions_; }
    memory::Actions* operator->() { return actions_; }

   private:
    ActionsPool& pool_;
    memory::Actions* const actions_;
  };

 private:
  memory::Actions* take() {
    const std::lock_guard lock(lock_);
    return &pool_.take();
  }
  void give_back(memory::Actions* actions) noexcept {
    const std::lock_guard lock(lock_);
    pool_.give_back(*actions);
  }

  base::SpinLock lock_;
  base::Pool<memory::Actions> pool_;
};

}  // namespace vicinal::engine
