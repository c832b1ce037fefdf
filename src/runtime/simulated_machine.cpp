#include "runtime/simulated_machine.hpp"

#include <cmath>
#include <string>

#include "vicinal/error.hpp"

namespace vicinal::runtime {

namespace {

void require(bool holds, const std::string& part, const char* what) {
  if (!holds) throw UsageError("simulated machine: " + part + ": " + what);
}

std::string numbered(const char* part, std::size_t number) {
  return part + (" " + std::to_string(number));
}

void require_nodes(const MachineDescription& machine) {
  if (machine.nodes.empty() || machine.nodes[0].kind != NodeKind::ram || machine.workers.empty()) {
    throw UsageError("a simulated machine needs RAM as its node 0, and a worker");
  }
  for (std::size_t n = 0; n < machine.nodes.size(); ++n) {
    require(machine.nodes[n].id.value == n, numbered("node", n), "its id must be its number");
  }
}

void require_workers(const MachineDescription& machine) {
  for (std::size_t w = 0; w < machine.workers.size(); ++w) {
    const WorkerDescription& worker = machine.workers[w];
    const std::string part = numbered("worker", w);
    require(worker.id.value == w, part, "its id must be its number");
    require(worker.node.value < machine.nodes.size(), part, "there is no node of that number");
    require(worker.pipeline > 0, part, "it must launch one kernel at least (pipeline)");
    require(worker.task_overhead.ns >= 0 && worker.copy_overhead.ns >= 0, part,
            "its overheads must not be below 0");
  }
}

void require_link(const MachineDescription& machine, const LinkDescription& link,
                  const std::string& part) {
  require(link.from.value < machine.nodes.size() && link.to.value < machine.nodes.size(), part,
          "there is no node of that number");
  require(std::isfinite(link.bandwidth.value) && link.bandwidth.value >= 0, part,
          "its bandwidth must be finite and not below 0");
  constexpr double kLeast = 1e3;  // as in a machine file: what a copy takes stays in range
  const double worker = link.worker_bandwidth.value;
  require(worker == 0 || (std::isfinite(worker) && worker >= kLeast), part,
          "its worker_bandwidth must be 0, or finite and not below 1000 bytes per second");
  require(link.latency.ns >= 0, part, "its latency must not be below 0");
  require(link.copies_in_flight > 0, part, "it must carry one copy at least (copies_in_flight)");
  for (const std::uint32_t segment : link.segments) {
    require(segment < machine.segments.size(), part, "there is no segment of that number");
  }
  for (const std::uint32_t other : link.serialised) {
    require(other < machine.links.size(), part, "there is no link of that number (serialised)");
  }
}

}  // namespace

const MachineDescription& require_sound(const MachineDescription& machine) {
  require_nodes(machine);
  require_workers(machine);
  for (std::size_t l = 0; l < machine.links.size(); ++l) {
    require_link(machine, machine.links[l], numbered("link", l));
  }
  for (const SegmentDescription& segment : machine.segments) {
    require(std::isfinite(segment.bandwidth.value) && segment.bandwidth.value > 0,
            "segment " + segment.name, "its bandwidth must be finite and above 0");
  }
  require(machine.submit_overhead.ns >= 0, "submit_overhead", "it must not be below 0");
  return machine;
}

}  // namespace vicinal::runtime
