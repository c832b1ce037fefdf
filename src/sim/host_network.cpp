#include "sim/host_network.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace vicinal::sim {

HostNetwork::HostNetwork(World& world, const machine::NetworkModel& model, Listener& listener)
    : world_(world),
      model_(model),
      listener_(listener),
      place_(world.enter(*this)),
      links_(model.links()),
      busy_until_(model.hosts) {}

void HostNetwork::use_memory(std::uint32_t host, std::shared_ptr<HostMemory> memory) {
  if (memories_.empty()) {
    if (!memory) return;
    memories_.resize(model_.hosts);
  }
  memories_.at(host) = std::move(memory);
}

void HostNetwork::send(const Message& message) {
  if (message.from >= model_.hosts || message.to >= model_.hosts) {
    throw std::invalid_argument("a message from host " + std::to_string(message.from) + " to " +
                                std::to_string(message.to) + " in a network of " +
                                std::to_string(model_.hosts) + " hosts");
  }
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot] = {message};
  if (message.in_order) fall_in(slot);
  const Time sent = spend(message.from, model_.send_overhead);
  schedule(slot, Step::flow, sent + model_.latency_between(message.from, message.to));
}

// When the host has done with it.
Time HostNetwork::spend(std::uint32_t host, Time overhead) {
  busy_until_[host] = std::max(busy_until_[host], world_.now()) + overhead;
  return busy_until_[host];
}

void HostNetwork::happened(std::uint64_t token) {
  const auto slot = static_cast<std::uint32_t>(token / 2);
  if (token % 2 == static_cast<std::uint64_t>(Step::arrive)) {
    arrive(slot);
  } else if (slots_[slot].message.in_order) {
    fall_due(slot);
  } else {
    flow(slot);
  }
}

// --- lines

void HostNetwork::fall_in(std::uint32_t slot) {
  Line& line = lines_[pair(slots_[slot].message)];
  (line.last == kNone ? line.first : slots_[line.last].behind) = slot;
  line.last = slot;
}

// One more of its line may flow. Those of one nanosecond may fall due in any order.
void HostNetwork::fall_due(std::uint32_t slot) {
  Line& line = lines_.find(pair(slots_[slot].message))->second;
  if (line.flows) {
    ++line.due;
    return;
  }
  line.flows = true;
  flow(line.first);
}

// The next one begins when all flows of this nanosecond have ended.
void HostNetwork::fall_out(std::uint32_t slot) {
  Line& line = lines_.find(pair(slots_[slot].message))->second;
  line.flows = false;
  line.first = slots_[slot].behind;
  if (line.first == kNone) line.last = kNone;
  if (line.due == 0) return;
  --line.due;
  schedule(line.first, Step::flow, world_.now());
}

// --- bytes

void HostNetwork::flow(std::uint32_t slot) {
  const Message& message = slots_[slot].message;
  const machine::NetworkRoute route = model_.route(message.from, message.to);
  demands_.clear();
  for (std::size_t i = 0; i < route.count; ++i) {
    Link& link = links_[route.passed[i]];
    if (link.resource == kNotYet) {
      link.resource = world_.add_resource(model_.bandwidth(route.passed[i]));
    }
    demands_.push_back({link.resource});
  }
  if (!memories_.empty() && route.count > 0) {
    add_memory(message.from, HostMemory::kSends, message.from_numa);
    add_memory(message.to, HostMemory::kReceives, message.to_numa);
  }
  world_.start(place_, slot,
               {.amount = static_cast<double>(message.bytes.value), .demands = demands_});
}

void HostNetwork::add_memory(std::uint32_t host, HostMemory::Lane lane, std::uint32_t numa_node) {
  if (numa_node == kNoNuma || !memories_[host] || !memories_[host]->is_used()) return;
  memories_[host]->add_transfer(lane, numa_node, demands_);
}

void HostNetwork::flow_ended(std::uint64_t slot) {
  const Message message = slots_[slot].message;
  if (message.in_order) fall_out(static_cast<std::uint32_t>(slot));
  const machine::NetworkRoute route = model_.route(message.from, message.to);
  for (const machine::NetworkLink link : route.links()) {
    links_[link].carried.value += message.bytes.value;
  }
  schedule(slot, Step::arrive, spend(message.to, model_.receive_overhead));
  listener_.message_left(message.id);
}

void HostNetwork::arrive(std::uint64_t slot) {
  const std::uint64_t id = slots_[slot].message.id;
  free_slots_.push_back(static_cast<std::uint32_t>(slot));
  listener_.message_arrived(id);
}

}  // namespace vicinal::sim
