#include "engine/estimated_times.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "machine/machine_model.hpp"
#include "sim/host_memory.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

namespace {

// Beyond it check_simulated_time refuses the task.
constexpr double kMostSeconds = 9e9;

Time time_of(double seconds, Time least) {
  if (!(seconds > 0)) return least;
  return std::max(least, Time::from_seconds(std::min(seconds, kMostSeconds)));
}

// The precision of the largest datum that the task writes; if there is none, of the largest that it reads.
std::string_view precision_of(const graph::Task& task) {
  const graph::Handle* largest = nullptr;
  bool is_written = false;
  for (const graph::Access& access : task.accesses()) {
    if (access.mode == AccessMode::scratch) continue;
    const bool writes_it = !reads(access.mode) || writes(access.mode);
    const bool is_larger = largest == nullptr || access.handle->bytes() > largest->bytes();
    if (writes_it == is_written ? !is_larger : is_written) continue;
    largest = access.handle;
    is_written = writes_it;
  }
  return largest != nullptr && largest->layout.element_bytes == sizeof(float) ? "float" : "double";
}

double bytes_of(const graph::Task& task) {
  double bytes = 0;
  for (const graph::Access& access : task.accesses()) {
    const auto once = static_cast<double>(access.handle->bytes().value);
    bytes += reads(access.mode) && writes(access.mode) ? 2 * once : once;
  }
  return bytes;
}

// True if some worker of the machine has a time.
bool any_has_time(const graph::Task& task, const MachineDescription& machine) {
  return std::ranges::any_of(machine.workers, [&](const WorkerDescription& worker) {
    return graph::expected_time(task, worker.kind).ns > 0;
  });
}

}  // namespace

void estimate_time(graph::TaskExtension& extension, const graph::Task& task,
                   const MachineDescription& machine, double flops) {
  const Codelet& codelet = *task.codelet;
  const double operations = flops > 0 ? flops : codelet.flops;
  const std::string_view precision = precision_of(task);
  const bool any_demand = std::ranges::any_of(
      machine.speeds, [](const KernelSpeed& speed) { return speed.demand.value > 0; });
  extension.synchronous = machine::is_synchronous(machine, codelet.name);
  for (std::size_t number = 0; number < kProcessorKinds; ++number) {
    const auto kind = static_cast<ProcessorKind>(number);
    if (any_demand && graph::demand_of(task, kind).value == 0) {
      extension.demands[number] = machine::demand_of(machine, codelet.name, precision, kind);
    }
    if (graph::expected_time(task, kind).ns > 0) continue;
    const std::optional<double> seconds =
        machine::seconds_of(machine, codelet.name, precision, operations, kind);
    if (seconds && *seconds > 0) extension.expected[number] = time_of(*seconds, Time{1});
  }
  if (any_has_time(task, machine)) return;
  const double bytes = bytes_of(task);
  for (std::size_t number = 0; number < kProcessorKinds; ++number) {
    const bool is_core = static_cast<ProcessorKind>(number) == ProcessorKind::cpu;
    const BytesPerSecond rate = is_core ? kSimulatedMemory.core : kSimulatedMemory.accelerator;
    extension.expected[number] = time_of(bytes / rate.value, kSimulatedMemory.least);
  }
}

// Up to it a flow's weights keep their digits.
bool is_demand(BytesPerSecond demand) {
  return demand.value == 0 ||
         (std::isfinite(demand.value) && demand.value >= 1e3 && demand.value <= 1e15);
}

double seconds_per_byte(const MachineDescription& machine) {
  double seconds = 0;
  for (std::uint32_t s = 0; s < machine.segments.size(); ++s) {
    const bool draws = std::ranges::any_of(machine.workers, [s](const WorkerDescription& worker) {
      return std::ranges::count(worker.draws_on, s) > 0;
    });
    if (!draws) continue;
    BytesPerSecond least = machine.segments[s].bandwidth;
    for (const BytesPerSecond part : machine.segments[s].by_kernels) least = std::min(least, part);
    seconds += 1 / least.value;
  }
  if (machine.contention) {
    const ContentionModel& model = *machine.contention;
    const double core = std::min(model.local.core.value, model.remote.core.value);
    seconds += 1 / (sim::kLeastOfCore * core);
  }
  return seconds;
}

Time longest_time(const graph::Task& task, double seconds_per_byte) {
  const Codelet& codelet = *task.codelet;
  std::int64_t longest = std::ranges::max(codelet.expected).ns;
  BytesPerSecond demand;
  for (const BytesPerSecond each : codelet.demands) {
    if (each.value == 0) [[likely]]
      continue;
    if (!is_demand(each)) {
      throw UsageError("codelet " + codelet.name +
                       ": its demands must be 0, or from 1e3 to 1e15 bytes per second");
    }
    demand = std::max(demand, each);
  }
  if (task.extension) {
    longest = std::max(longest, std::ranges::max(task.extension->expected).ns);
    demand = std::max(demand, std::ranges::max(task.extension->demands));
  }
  if (demand.value == 0) return Time{longest};
  // While a segment lacks bandwidth, it gives all that it has.
  const double seconds = Time{longest}.seconds() * (1 + demand.value * seconds_per_byte);
  constexpr double kMost = 4e18;  // a Time, after the end of time
  return Time{static_cast<std::int64_t>(std::min(seconds * 1e9, kMost))};
}

}  // namespace vicinal::engine
