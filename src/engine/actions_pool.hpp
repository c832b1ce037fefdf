// Actions whose lists keep the room they have grown to: a copy would otherwise allocate five times.
#pragma once

#include <cstddef>
#include <mutex>

#include "base/spin_lock.hpp"
#include "base/sure_memory.hpp"
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
    if (unused_.empty()) {                // rare: as many are made as are used at once
      unused_.reserve(made_.size() + 1);  // so that give_back cannot fail
      return &made_.emplace_back();
    }
    memory::Actions* const actions = unused_.back();
    unused_.pop_back();
    return actions;
  }
  void give_back(memory::Actions* actions) noexcept {
    const std::lock_guard lock(lock_);
    unused_.push_back(actions);
  }

  base::SpinLock lock_;
  base::SureDeque<memory::Actions> made_;
  base::SureVector<memory::Actions*> unused_;
};

}  // namespace vicinal::engine
