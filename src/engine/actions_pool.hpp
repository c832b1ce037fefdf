// Actions whose lists keep the room they have grown to: a copy would otherwise allocate five times.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

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
      pool_.give_back(std::move(actions_));
    }
    memory::Actions& operator*() { return *actions_; }
    memory::Actions* operator->() { return actions_.get(); }

   private:
    ActionsPool& pool_;
    std::unique_ptr<memory::Actions> actions_;
  };

 private:
  std::unique_ptr<memory::Actions> take() {
    const std::lock_guard lock(lock_);
    if (unused_.empty()) {       // rare: as many are made as are used at once
      unused_.reserve(++made_);  // so that give_back cannot fail
      return std::make_unique<memory::Actions>();
    }
    std::unique_ptr<memory::Actions> actions = std::move(unused_.back());
    unused_.pop_back();
    return actions;
  }
  void give_back(std::unique_ptr<memory::Actions> actions) noexcept {
    const std::lock_guard lock(lock_);
    unused_.push_back(std::move(actions));
  }

  base::SpinLock lock_;
  std::vector<std::unique_ptr<memory::Actions>> unused_;
  std::size_t made_ = 0;
};

}  // namespace vicinal::engine
