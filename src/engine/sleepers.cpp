#include "engine/sleepers.hpp"

#include <bit>

namespace vicinal::engine {

Sleepers::Sleepers(const MachineDescription& machine, std::span<const NodeWorkers> nodes,
                   const DriverTable& drivers, bool simulated)
    : machine_(machine),
      nodes_(nodes),
      drivers_(drivers),
      simulated_(simulated),
      takes_any_(nodes.size() == 1 && nodes.front().alike),
      idle_(machine.workers.size() / 64 + 1),
      away_(idle_.size()),
      satisfied_(nodes.size()) {}

void Sleepers::fall_asleep(WorkerId worker) {
  idle_[worker.value / 64].fetch_or(bit(worker), std::memory_order_seq_cst);
  if (!simulated_) base::heavy_fence();
}

void Sleepers::leave(WorkerId worker) {
  rouse(worker);
  away_[worker.value / 64].fetch_or(bit(worker));
}

void Sleepers::come(WorkerId worker) {
  away_[worker.value / 64].fetch_and(~bit(worker));
}

bool Sleepers::all_asleep_or_away() const {
  return std::ranges::all_of(machine_.workers, [this](const WorkerDescription& worker) {
    const std::size_t word = worker.id.value / 64;
    return ((idle_[word].load() | away_[word].load()) & bit(worker.id)) != 0;
  });
}

std::uint32_t Sleepers::asleep() const {
  std::uint32_t count = 0;
  for (const auto& word : idle_) {
    count += static_cast<std::uint32_t>(std::popcount(word.load(std::memory_order_relaxed)));
  }
  return count;
}

bool Sleepers::wake_one_of(std::span<const WorkerId> workers) {
  for (const WorkerId worker : workers) {
    if (!rouse(worker)) continue;
    drivers_.of(worker).wake(worker);
    return true;
  }
  return false;
}

void Sleepers::wake(WorkerId worker) {
  base::light_fence();
  if (away(worker)) {
    if (anyone_idle()) wake_all();
  } else if (rouse(worker)) {
    drivers_.of(worker).wake(worker);
  }
}

bool Sleepers::wake_node(NodeId node) {
  base::light_fence();
  bool woken = false;
  for (const WorkerId worker : nodes_[node.value].ids) {
    if (!rouse(worker)) continue;
    drivers_.of(worker).wake(worker);
    woken = true;
  }
  return woken;
}

void Sleepers::wake_one(NodeId node) {
  base::light_fence();
  if (anyone_idle()) wake_one_of(nodes_[node.value].ids);
}

void Sleepers::wake_a_peer_of(NodeId node) {
  const std::vector<NodeId>& peers = nodes_[node.value].peers;
  if (peers.empty()) return;
  base::light_fence();
  if (!anyone_idle()) return;
  for (const NodeId peer : peers) {
    if (satisfied_[peer.value].load(std::memory_order_acquire)) continue;
    if (wake_one_of(nodes_[peer.value].ids)) return;
  }
}

[[gnu::noinline]] void Sleepers::wake_all() {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    wake_node(NodeId{static_cast<std::uint32_t>(n)});
  }
}

// `takes_one`: a worker that will take one of them, if any.
[[gnu::noinline]] void Sleepers::wake_the_idle(std::size_t tasks, WorkerId takes_one) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (!nodes_[n].alike) {  // the first sleeping worker may be unable to run the pushed task
      wake_node(NodeId{static_cast<std::uint32_t>(n)});
      continue;
    }
    if (satisfied_[n].load(std::memory_order_acquire)) continue;
    const bool own = takes_one != kNoWorker && machine_.workers[takes_one.value].node.value == n;
    for (std::size_t i = own ? 1 : 0; i < tasks && wake_one_of(nodes_[n].ids); ++i) {
    }
  }
}

}  // namespace vicinal::engine
