#include "sched/policies/planned_memories.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace vicinal::sched::packaged {

namespace {

// What several copies pass, numbered as they are met.
class Bridges {
 public:
  explicit Bridges(const MachineDescription& machine) : machine_(machine) {}
  std::uint64_t passed_by(const LinkDescription& link) {
    std::uint64_t bits = 0;
    for (const std::uint32_t segment : link.segments) {
      const auto known = std::ranges::find(segments_, segment);
      const auto number = static_cast<std::size_t>(known - segments_.begin());
      if (number == kMost) continue;
      if (known == segments_.end()) segments_.push_back(segment);
      bits |= std::uint64_t{1} << number;
    }
    return bits;
  }
  std::vector<BytesPerSecond> bandwidths() const {
    std::vector<BytesPerSecond> bandwidths;
    for (const std::uint32_t segment : segments_) {
      bandwidths.push_back(machine_.segments[segment].bandwidth);
    }
    return bandwidths;
  }

 private:
  static constexpr std::size_t kMost = 64;  // a bit each
  const MachineDescription& machine_;
  std::vector<std::uint32_t> segments_;
};

// Where none is known, as PolicyContext::transfer_time.
constexpr BytesPerSecond kUnknownBandwidth{1e9};

}  // namespace

Bytes memory_of(const MachineDescription& machine, NodeId node) {
  constexpr Bytes kAll{std::numeric_limits<std::uint64_t>::max()};
  return machine.nodes[node.value].limit.value_or(kAll);
}

const WorkerDescription& worker_of(const Nodes& nodes, NodeIndex node) {
  return nodes.machine().workers[nodes[node].workers.front().value];
}

orders::horizon::Memories memories_of(const Nodes& nodes, std::span<const NodeIndex> indices) {
  const NodeId first = nodes[indices.front()].id;
  const MachineDescription& machine = nodes.machine();
  const std::size_t count = indices.size();
  orders::horizon::Memories memories{
      .count = static_cast<std::uint32_t>(count),
      .bytes = memory_of(machine, first).value,
      .workers = static_cast<std::uint32_t>(nodes.workers(indices.front())),
      .in_passes = std::vector<std::uint64_t>(count),
      .out_passes = std::vector<std::uint64_t>(count),
      .between = std::vector<BytesPerSecond>(count * count),
      .between_passes = std::vector<std::uint64_t>(count * count)};
  const auto number_of = [&](NodeId node) {
    const auto is_it = [&](NodeIndex index) { return nodes[index].id == node; };
    return static_cast<std::size_t>(std::ranges::find_if(indices, is_it) - indices.begin());
  };
  Bridges bridges(machine);
  for (const LinkDescription& link : machine.links) {
    const std::size_t from = number_of(link.from);
    const std::size_t to = number_of(link.to);
    if (from < count && to < count) {
      memories.between[from * count + to] = link.bandwidth;
      memories.between_passes[from * count + to] = bridges.passed_by(link);
      continue;
    }
    // Home: RAM, or what is behind it.
    if (first != kRam && link.from != kRam && link.to != kRam) continue;
    if (to < count) memories.in_passes[to] |= bridges.passed_by(link);
    if (from < count) memories.out_passes[from] |= bridges.passed_by(link);
    if (link.from == first) memories.out = std::max(memories.out, link.bandwidth);
    if (link.to == first && link.bandwidth > memories.in) {
      memories.in = link.bandwidth;
      memories.latency = link.latency + worker_of(nodes, indices.front()).copy_overhead;
    }
  }
  memories.bridges = bridges.bandwidths();
  if (memories.in.value <= 0) memories.in = kUnknownBandwidth;
  if (memories.out.value <= 0) memories.out = kUnknownBandwidth;
  return memories;
}

void spread_over_bridges(std::vector<NodeIndex>& indices, const Nodes& nodes) {
  const std::vector<std::uint64_t> passes = memories_of(nodes, indices).in_passes;
  std::vector<std::pair<std::ptrdiff_t, NodeIndex>> turns;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    turns.emplace_back(
        std::count(passes.begin(), passes.begin() + static_cast<std::ptrdiff_t>(i), passes[i]),
        indices[i]);
  }
  std::ranges::sort(turns);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = turns[i].second;
}

}  // namespace vicinal::sched::packaged
