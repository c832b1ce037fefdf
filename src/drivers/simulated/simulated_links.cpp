#include "drivers/simulated/simulated_links.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace vicinal::drivers {

namespace {
constexpr std::uint32_t kNoLink = 0xffffffffU;
}  // namespace

SimulatedLinks::SimulatedLinks(const MachineDescription& machine)
    : machine_(machine),
      link_of_(machine.nodes.size() * machine.nodes.size(), kNoLink),
      paths_(machine.links.size()),
      excludes_(machine.links.size() * machine.links.size()) {
  std::vector<sim::FluidNetwork::Resource> segments;
  for (const SegmentDescription& segment : machine.segments) {
    segments.push_back(network_.add_resource(segment.bandwidth));
  }
  for (std::uint32_t l = 0; l < machine.links.size(); ++l) {
    const LinkDescription& link = machine.links[l];
    link_of_[link.from.value * machine.nodes.size() + link.to.value] = l;
    if (link.bandwidth.value > 0) paths_[l].push_back(network_.add_resource(link.bandwidth));
    for (const std::uint32_t segment : link.segments) paths_[l].push_back(segments.at(segment));
    for (const std::uint32_t other : link.serialised) {
      excludes_.at(l * machine.links.size() + other) = 1;
      excludes_.at(other * machine.links.size() + l) = 1;
    }
  }
}

SimulatedLinks::Copy SimulatedLinks::describe(const memory::Copy& copy) const {
  const std::uint32_t link =
      link_of_[copy.from.node.value * machine_.nodes.size() + copy.to.node.value];
  if (link == kNoLink) {
    throw std::logic_error("simulated copy from " + machine_.nodes[copy.from.node.value].name +
                           " to " + machine_.nodes[copy.to.node.value].name + ": no such link");
  }
  return {copy.id, link, copy.bytes()};
}

void SimulatedLinks::start(const Copy& copy, Time now) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(transfers_.size()));
    transfers_.emplace_back();
  }
  const std::uint32_t slot = unused_.back();
  unused_.pop_back();
  Transfer& transfer = transfers_[slot];
  transfer.copy = copy;
  transfer.waits_for = 0;
  transfer.holds_back.clear();
  const std::uint8_t* const excluded = &excludes_[copy.link * paths_.size()];
  for (const std::uint32_t earlier : unended_) {
    if (excluded[transfers_[earlier].copy.link] == 0) continue;
    transfers_[earlier].holds_back.push_back(slot);
    ++transfer.waits_for;
  }
  unended_.push_back(slot);
  if (transfer.waits_for == 0) begin(slot, now);
}

void SimulatedLinks::begin(std::uint32_t transfer, Time now) {
  latencies_.schedule(now + machine_.links[transfers_[transfer].copy.link].latency, transfer);
}

Time SimulatedLinks::next() const {
  Time next = kNoTime;
  if (!latencies_.empty()) next = latencies_.next();
  const double end = network_.next_end();
  // Rounded up: no copy ends before it has.
  if (end < sim::FluidNetwork::kNever) {
    constexpr double kMost = 4e18;  // a copy that is slowed down by very many others
    next = std::min(next, Time{static_cast<std::int64_t>(std::ceil(std::min(end, kMost)))});
  }
  return next;
}

bool SimulatedLinks::advance(Time now, Copy& ended) {
  sim::FluidNetwork::End flow;
  if (network_.take_end(static_cast<double>(now.ns), flow)) {
    const auto slot = static_cast<std::uint32_t>(flow.id);
    ended = transfers_[slot].copy;
    end(slot, now);
    return true;
  }
  if (!latencies_.empty() && latencies_.next() <= now) {
    const std::uint32_t slot = latencies_.take().second;
    const Copy& copy = transfers_[slot].copy;
    network_.start(slot, copy.bytes, paths_[copy.link], static_cast<double>(now.ns));
  }
  return false;
}

void SimulatedLinks::end(std::uint32_t transfer, Time now) {
  unended_.erase(std::ranges::find(unended_, transfer));
  for (const std::uint32_t held : transfers_[transfer].holds_back) {
    if (--transfers_[held].waits_for == 0) begin(held, now);
  }
  unused_.push_back(transfer);
}

}  // namespace vicinal::drivers
