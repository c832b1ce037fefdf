#include "drivers/simulated/simulated_links.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace vicinal::drivers {

namespace {
// Of an event: the transfer ends, whose bytes have moved. Else they begin to.
constexpr std::uint64_t kEnds = std::uint64_t{1} << 32;
}  // namespace

SimulatedLinks::SimulatedLinks(const MachineDescription& machine, sim::World& world,
                               const SimulatedResources& resources, Ended ended,
                               CoresBusy cores_busy)
    : machine_(machine),
      world_(world),
      resources_(resources),
      ended_(std::move(ended)),
      cores_busy_(std::move(cores_busy)),
      place_(world.enter(*this)),
      ways_(machine.nodes.size()),
      links_(machine.links.size()) {
  for (std::uint32_t l = 0; l < links_.size(); ++l) {
    const LinkDescription& link = machine.links[l];
    links_[l].latency = link.latency;
    ways_[link.from.value].push_back({link.to, l});
    if (link.bandwidth.value > 0) links_[l].path.push_back({world_.add_resource(link.bandwidth)});
    if (link.first_write.value > 0) links_[l].first_writes = world_.add_resource(link.first_write);
    for (const std::uint32_t segment : link.segments) {
      links_[l].path.push_back({resources.segment(segment)});
    }
    for (const std::uint32_t other : link.serialised) {
      links_[l].excludes.push_back(other);
      links_.at(other).excludes.push_back(l);
    }
  }
  for (auto& ways : ways_) std::ranges::stable_sort(ways, {}, &Way::to);
  for (Link& link : links_) {
    auto& excludes = link.excludes;
    std::ranges::sort(excludes);
    excludes.erase(std::unique(excludes.begin(), excludes.end()), excludes.end());
  }
}

SimulatedLinks::~SimulatedLinks() {
  world_.leave(place_);
}

SimulatedLinks::Copy SimulatedLinks::describe(const memory::Copy& copy) const {
  const auto& ways = ways_[copy.from.node.value];
  // Of several links the last.
  const auto behind = std::ranges::upper_bound(ways, copy.to.node, {}, &Way::to);
  if (behind == ways.begin() || std::prev(behind)->to != copy.to.node) {
    throw std::logic_error("simulated copy from " + machine_.nodes[copy.from.node.value].name +
                           " to " + machine_.nodes[copy.to.node.value].name + ": no such link");
  }
  Copy made{copy.id, std::prev(behind)->link, copy.bytes()};
  if (resources_.memory() && copy.handle != nullptr) {
    made.numa_node = resources_.memory()->homes().home_of(copy.handle->id.value, 0);
  }
  return made;
}

void SimulatedLinks::start(const Copy& copy) {
  const Slot slot = take_slot();
  Transfer& transfer = transfers_[slot];
  transfer.copy = copy;
  transfer.waits_for = 0;
  transfer.waiters.clear();
  for (const std::uint32_t other : links_[copy.link].excludes) {
    for (const Slot earlier : links_[other].unended) {
      transfers_[earlier].waiters.push_back(slot);
      ++transfer.waits_for;
    }
  }
  links_[copy.link].unended.push_back(slot);
  if (transfer.waits_for == 0) begin(slot);
}

SimulatedLinks::Slot SimulatedLinks::take_slot() {
  if (unused_.empty()) {
    unused_.push_back(static_cast<Slot>(transfers_.size()));
    transfers_.emplace_back();
  }
  const Slot slot = unused_.back();
  unused_.pop_back();
  return slot;
}

void SimulatedLinks::begin(Slot transfer) {
  const Copy& copy = transfers_[transfer].copy;
  const Time before = links_[copy.link].latency + copy.faults;
  world_.schedule(place_, world_.now() + before, transfer, sim::Turn::flows);
}

void SimulatedLinks::happened(std::uint64_t token) {
  const auto slot = static_cast<Slot>(token);
  (token & kEnds) != 0 ? end(slot) : flow(slot);
}

// Its content begins to flow.
void SimulatedLinks::flow(Slot transfer) {
  const Copy& copy = transfers_[transfer].copy;
  const base::SureVector<sim::Demand>& path = links_[copy.link].path;
  demands_.assign(path.begin(), path.end());
  if (copy.is_first_write) demands_.push_back({*links_[copy.link].first_writes});
  resources_.add_processors(machine_.links[copy.link], copy.bytes, demands_);
  resources_.add_memory(copy.link, copy.numa_node, demands_);
  world_.start(place_, transfer, {static_cast<double>(copy.bytes.value), demands_});
}

void SimulatedLinks::flow_ended(std::uint64_t token) {
  const auto slot = static_cast<Slot>(token);
  const Time longer = machine_.links[transfers_[slot].copy.link].busy_latency;
  if (longer.ns == 0 || !cores_busy_ || !cores_busy_()) return end(slot);
  world_.schedule(place_, world_.now() + longer, slot | kEnds);
}

void SimulatedLinks::end(Slot slot) {
  const Copy copy = transfers_[slot].copy;
  auto& unended = links_[copy.link].unended;
  unended.erase(std::ranges::find(unended, slot));
  for (const Slot waiter : transfers_[slot].waiters) {
    if (--transfers_[waiter].waits_for == 0) begin(waiter);
  }
  unused_.push_back(slot);
  ended_(copy);
}

}  // namespace vicinal::drivers
