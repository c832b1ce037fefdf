// Keeps the decisions that it hears.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "trace/decision.hpp"

namespace vicinal::testing {

class Listener final : public trace::DecisionListener {
 public:
  void hear(trace::Decision decision) noexcept override {
    const std::lock_guard lock(mutex_);
    heard_.push_back(std::move(decision));
  }
  const std::vector<trace::Decision>& heard() const { return heard_; }
  std::vector<trace::Decision> of(trace::DecisionKind kind) const {
    std::vector<trace::Decision> some;
    for (const trace::Decision& decision : heard_) {
      if (trace::entry(decision.reason).kind == kind) some.push_back(decision);
    }
    return some;
  }

 private:
  std::mutex mutex_;
  std::vector<trace::Decision> heard_;
};

}  // namespace vicinal::testing
