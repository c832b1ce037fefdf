// On a machine with processors of several kinds: for which of them the policy has tasks. A worker whose kind could run none
// does not ask: the policy would look at all of them, each time that the worker is woken.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/eligibility.hpp"
#include "graph/task.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::engine {

// Any thread. A task is counted before the policy has it, until after it has come out: a worker that finds none here, once
// it counts as asleep, is woken for what comes.
class ReadyByKind {
 public:
  // `counts`: `count` is asked for.
  ReadyByKind(const MachineDescription& machine, const Eligibility& eligibility, bool counts)
      : machine_(machine), eligibility_(eligibility) {
    std::array<bool, kProcessorKinds> there{};
    for (const WorkerDescription& worker : machine.workers) {
      bool& known = there[static_cast<std::size_t>(worker.kind)];
      if (!known) kinds_.push_back(worker.kind);
      known = true;
    }
    if (kinds_.size() < 2 && !counts) kinds_.clear();
  }

  void add(const graph::Task& task) {
    if (!kinds_.empty()) [[unlikely]]
      change(task, 1);
  }
  void remove(const graph::Task& task) {
    if (!kinds_.empty()) [[unlikely]]
      change(task, -1);
  }
  // The policy has tasks, and none of them has a kernel for the worker.
  bool all_for_others(WorkerId worker) const {
    return !kinds_.empty() && are_all_for_others(worker);
  }

  // Tasks that the policy has; none: they are not counted.
  std::optional<std::uint64_t> count() const {
    if (kinds_.empty()) return std::nullopt;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(all_.load(), 0));
  }

 private:
  [[gnu::noinline]] bool are_all_for_others(WorkerId worker) const {
    return of(machine_.workers[worker.value].kind).load(std::memory_order_seq_cst) == 0 &&
           all_.load(std::memory_order_seq_cst) > 0;
  }
  using Count = std::atomic<std::int64_t>;
  const Count& of(ProcessorKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  [[gnu::noinline]] void change(const graph::Task& task, std::int64_t by) {
    all_.fetch_add(by, std::memory_order_seq_cst);
    for (const ProcessorKind kind : kinds_) {
      if (!eligibility_.is_implemented(task, kind)) continue;
      counts_[static_cast<std::size_t>(kind)].fetch_add(by, std::memory_order_seq_cst);
    }
  }

  const MachineDescription& machine_;
  const Eligibility& eligibility_;
  std::vector<ProcessorKind> kinds_;  // of the workers; none where nothing is counted
  std::array<Count, kProcessorKinds> counts_{};
  Count all_{0};
};

}  // namespace vicinal::engine
