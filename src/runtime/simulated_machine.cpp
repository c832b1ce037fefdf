#include "runtime/simulated_machine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "engine/estimated_times.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

namespace {

void require(bool holds, const std::string& part, const char* what) {
  if (!holds) throw UsageError("simulated machine: " + part + ": " + what);
}

std::string numbered(const char* part, std::size_t number) {
  return part + (" " + std::to_string(number));
}

// What a copy takes stays in range; a machine file knows the same bound.
bool is_rate(BytesPerSecond rate) {
  constexpr double kLeast = 1e3;
  return std::isfinite(rate.value) && rate.value >= kLeast;
}

// Sums of such times stay in range, too.
bool is_time(Time time) {
  constexpr std::int64_t kDay = std::int64_t{86'400} * 1'000'000'000;
  return time.ns >= 0 && time.ns <= kDay;
}

void require_nodes(const MachineDescription& machine) {
  if (machine.nodes.empty() || machine.nodes[0].kind != NodeKind::ram || machine.workers.empty()) {
    throw UsageError("a simulated machine needs RAM as its node 0, and a worker");
  }
  for (std::size_t n = 0; n < machine.nodes.size(); ++n) {
    require(machine.nodes[n].id.value == n, numbered("node", n), "its id must be its number");
  }
}

// As many as a machine that is there may have (option workers), and the accelerators' own.
constexpr std::size_t kMostWorkers = 4096 + 32;

void require_workers(const MachineDescription& machine) {
  if (machine.workers.size() > kMostWorkers) {
    throw UsageError("simulated machine: it has " + std::to_string(machine.workers.size()) +
                     " workers; there are at most " + std::to_string(kMostWorkers));
  }
  for (std::size_t w = 0; w < machine.workers.size(); ++w) {
    const WorkerDescription& worker = machine.workers[w];
    const std::string part = numbered("worker", w);
    require(worker.id.value == w, part, "its id must be its number");
    require(worker.node.value < machine.nodes.size(), part, "there is no node of that number");
    require(worker.pipeline > 0, part, "it must launch one kernel at least (pipeline)");
    require(is_time(worker.task_overhead) && is_time(worker.copy_overhead), part,
            "its overheads must not be below 0, nor longer than a day");
    require(is_time(worker.wake_latency), part,
            "its wake_latency must not be below 0, nor longer than a day");
    for (const std::uint32_t segment : worker.draws_on) {
      require(segment < machine.segments.size(), part,
              "there is no segment of that number (draws_on)");
    }
  }
}

void require_link(const MachineDescription& machine, const LinkDescription& link,
                  const std::string& part) {
  require(link.from.value < machine.nodes.size() && link.to.value < machine.nodes.size(), part,
          "there is no node of that number");
  require(link.bandwidth.value == 0 || is_rate(link.bandwidth), part,
          "its bandwidth must be 0, or finite and not below 1000 bytes per second");
  require(link.worker_bandwidth.value == 0 || is_rate(link.worker_bandwidth), part,
          "its worker_bandwidth must be 0, or finite and not below 1000 bytes per second");
  require(link.first_write.value == 0 || is_rate(link.first_write), part,
          "its first_write must be 0, or finite and not below 1000 bytes per second");
  require(is_time(link.latency), part, "its latency must not be below 0, nor longer than a day");
  require(is_time(link.busy_latency), part,
          "its busy_latency must not be below 0, nor longer than a day");
  require(link.copies_in_flight > 0, part, "it must carry one copy at least (copies_in_flight)");
  for (const std::uint32_t segment : link.segments) {
    require(segment < machine.segments.size(), part, "there is no segment of that number");
  }
  for (const std::uint32_t other : link.serialised) {
    require(other < machine.links.size(), part, "there is no link of that number (serialised)");
  }
}

// Between RAM and each other node that has workers, and a disk: there and back. Whatever is computed there begins
// or ends its way in RAM, or is saved to it.
void require_ways(const MachineDescription& machine) {
  const auto joined = [&](NodeId from, NodeId to) {
    return std::ranges::any_of(machine.links, [&](const LinkDescription& link) {
      return link.from == from && link.to == to;
    });
  };
  for (const NodeDescription& node : machine.nodes) {
    const bool used = node.kind == NodeKind::disk ||
                      std::ranges::any_of(machine.workers, [&](const WorkerDescription& worker) {
                        return worker.node == node.id;
                      });
    if (node.id == kRam || !used) continue;
    const std::string part = numbered("node", node.id.value) + " (" + node.name + ")";
    require(joined(kRam, node.id), part,
            "there is no link to it from node 0, RAM, through which its data come");
    require(joined(node.id, kRam), part,
            "there is no link from it to node 0, RAM, through which its data leave");
  }
}

void require_in_world(const SegmentDescription& segment,
                      std::span<const SegmentDescription> shared) {
  if (!segment.shared) return;
  const bool there = std::ranges::any_of(shared, [&](const SegmentDescription& other) {
    return other.shared == segment.shared && other.name == segment.name &&
           other.bandwidth == segment.bandwidth;
  });
  require(segment.by_kernels.empty() && !segment.for_copies, "segment " + segment.name,
          "several runtimes share it: it has one bandwidth (no by_kernels, no for_copies)");
  require(there, "segment " + segment.name,
          "the runtime's world has no such segment; give the runtime the SimulatedWorld that made "
          "it, and leave "
          "its name and bandwidth as they are");
}

// Tables of it are short; its parameters are refused by the model.
void require_contention(const ContentionModel& model) {
  constexpr std::uint32_t kMost = 64;
  const auto few = [](std::uint32_t number) { return number > 0 && number <= kMost; };
  require(few(model.sockets) && few(model.numa_nodes_per_socket), "contention",
          "there must be 1 to 64 sockets, and 1 to 64 NUMA nodes on each");
  require(model.cores_per_socket >= model.numa_nodes_per_socket, "contention",
          "each NUMA node needs a core (cores_per_socket)");
  for (const ContentionParameters& parameters : {model.local, model.remote}) {
    require(is_rate(parameters.core) && is_rate(parameters.transfer), "contention",
            "what a core and a transfer have alone must be finite and not below 1000 bytes per "
            "second");
  }
  const std::uint32_t remote = model.sockets > 1 ? model.numa_nodes_per_socket : 0;
  for (const std::uint32_t node : {0U, remote}) predict_contention(model, 0, node, node);
}

}  // namespace

void require_sound(const SegmentDescription& segment) {
  require(is_rate(segment.bandwidth), "segment " + segment.name,
          "its bandwidth must be finite and not below 1000 bytes per second");
  const auto fits = [&](BytesPerSecond part) { return part <= segment.bandwidth; };
  require(std::ranges::all_of(segment.by_kernels, is_rate) &&
              std::ranges::all_of(segment.by_kernels, fits),
          "segment " + segment.name,
          "what it has by kernels must be from 1000 bytes per second to its bandwidth");
  require(!segment.for_copies || (segment.for_copies->value >= 0 && fits(*segment.for_copies)),
          "segment " + segment.name, "what it keeps for copies must be from 0 to its bandwidth");
}

const MachineDescription& require_sound(const MachineDescription& machine,
                                        std::span<const SegmentDescription> shared) {
  require_nodes(machine);
  require_workers(machine);
  for (std::size_t l = 0; l < machine.links.size(); ++l) {
    require_link(machine, machine.links[l], numbered("link", l));
  }
  for (const SegmentDescription& segment : machine.segments) {
    require_sound(segment);
    require_in_world(segment, shared);
  }
  if (machine.contention) require_contention(*machine.contention);
  require(is_time(machine.submit_overhead), "submit_overhead",
          "it must not be below 0, nor longer than a day");
  require(is_time(machine.faults.time), "page faults",
          "their time must not be below 0, nor longer than a day");
  for (const KernelSpeed& speed : machine.speeds) {
    const double rate = speed.flops_per_second;
    const double seconds = speed.seconds;
    require(std::isfinite(rate) && rate >= 0 && std::isfinite(seconds) && seconds >= 0,
            "speed of " + speed.kernel, "its rate and its time must be finite and not below 0");
    require(engine::is_demand(speed.demand), "speed of " + speed.kernel,
            "its demand must be 0, or from 1e3 to 1e15 bytes per second");
  }
  require_ways(machine);
  return machine;
}

}  // namespace vicinal::runtime
