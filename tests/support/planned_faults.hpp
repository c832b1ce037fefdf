// Faults of a disk, planned by number.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "drivers/disk/fault_injection.hpp"
#include "vicinal/units.hpp"

namespace vicinal::testing {

class PlannedFaults final : public drivers::FaultInjection {
 public:
  using IoKind = drivers::IoKind;

  // The n-th read or write from now on (from 1; a copy may take several).
  void fail(IoKind kind, std::uint64_t nth, int error) { plan(kind, nth, {.error = error}); }
  void shorten(IoKind kind, std::uint64_t nth, std::uint64_t at_most) {
    plan(kind, nth, {.at_most = at_most});
  }
  void disk_full_after(Bytes bytes) {
    const std::lock_guard lock(mutex_);
    room_ = bytes.value;
  }

  Effect before(IoKind kind, std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    auto& plans = plans_[kind];
    const auto found = plans.find(++count_[kind]);
    if (found != plans.end()) return found->second;
    if (kind != IoKind::write || !room_) return {};
    if (*room_ == 0) return {.error = ENOSPC};
    const std::uint64_t written = std::min(*room_, bytes);
    *room_ -= written;
    return {.at_most = written};
  }

 private:
  void plan(IoKind kind, std::uint64_t nth, Effect effect) {
    const std::lock_guard lock(mutex_);
    plans_[kind][count_[kind] + nth] = effect;
  }

  std::mutex mutex_;
  std::map<IoKind, std::map<std::uint64_t, Effect>> plans_;
  std::map<IoKind, std::uint64_t> count_;
  std::optional<std::uint64_t> room_;
};

}  // namespace vicinal::testing
