// Who sleeps and who is woken.
//
// No wake-up is lost: a worker sets its idle bit, then looks for work once more; whoever makes work
// available publishes it, then reads the idle bits. At least one of the two sees the other, by a fence
// between the two steps of each; the one who goes to sleep pays for both (asymmetric_fence.hpp). No
// line shared by all workers is written while they are busy. A push passes over who would not pull what was
// pushed (`satisfied`); whoever changes that by taking from the look-ahead wakes its workers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/asymmetric_fence.hpp"
#include "engine/driver_table.hpp"
#include "engine/node_workers.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::engine {

// What the releasing worker does next: asks for a task, or goes on with the one that submitted.
enum class Releaser : bool { asks, goes_on };

class Sleepers {
 public:
  // The others outlive it.
  Sleepers(const MachineDescription& machine, std::span<const NodeWorkers> nodes,
           const DriverTable& drivers, bool simulated);

  // --- a worker
  void fall_asleep(WorkerId worker);  // it has to look for work once more
  // True if it was asleep: whoever gets that has the duty to wake it.
  bool rouse(WorkerId worker) {
    std::atomic<std::uint64_t>& word = idle_[worker.value / 64];
    if ((word.load(std::memory_order_seq_cst) & bit(worker)) == 0) return false;
    return (word.fetch_and(~bit(worker), std::memory_order_seq_cst) & bit(worker)) != 0;
  }
  // Its thread goes to do something else, and comes back.
  void leave(WorkerId worker);
  void come(WorkerId worker);
  bool away(WorkerId worker) const {
    return (away_[worker.value / 64].load(std::memory_order_seq_cst) & bit(worker)) != 0;
  }
  bool all_asleep_or_away() const;
  std::uint32_t asleep() const;  // how many, by now

  // --- who makes work available
  // Of ready `tasks` that the policy was given; `restricted`: some are bound to a worker.
  // If the releasing worker asks next it will take one; others are woken for the rest, and on other memory
  // nodes, where it may be that only their workers can run them, unless they are satisfied. On a node with
  // workers of several kinds all are woken.
  void wake_for(std::size_t tasks, bool restricted, WorkerId releasing, Releaser then) {
    const bool takes_one = releasing != kNoWorker && then == Releaser::asks;
    if (takes_one && tasks == 1 && !restricted && takes_any_) return;
    base::light_fence();
    if (!anyone_idle()) return;
    if (restricted) return wake_all();
    wake_the_idle(tasks, takes_one ? releasing : kNoWorker);
  }
  // Called by the policy, under its lock: the woken worker finds its task once it has that lock.
  void wake(WorkerId worker);
  bool wake_node(NodeId node);  // true: somebody was asleep
  void wake_one(NodeId node);   // the first that sleeps there
  // The node has pulled more than its own workers need at once.
  void wake_a_peer_of(NodeId node);
  void wake_all();
  // The node's only worker has a task to wait for and would pull no more: a push is not for it.
  void set_satisfied(NodeId node, bool satisfied) {
    satisfied_[node.value].store(satisfied, std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t bit(WorkerId worker) {
    return std::uint64_t{1} << (worker.value % 64);
  }
  bool anyone_idle() const {
    return std::ranges::any_of(
        idle_, [](const auto& word) { return word.load(std::memory_order_seq_cst) != 0; });
  }
  void wake_the_idle(std::size_t tasks, WorkerId takes_one);
  bool wake_one_of(std::span<const WorkerId> workers);

  const MachineDescription& machine_;
  const std::span<const NodeWorkers> nodes_;
  const DriverTable& drivers_;
  const bool simulated_;
  const bool takes_any_;  // one memory with workers of one kind: each can run what is not bound
  std::vector<std::atomic<std::uint64_t>> idle_;  // bit per worker
  std::vector<std::atomic<std::uint64_t>> away_;  // workers without a thread at present
  std::vector<std::atomic<bool>> satisfied_;      // by node
};

}  // namespace vicinal::engine
