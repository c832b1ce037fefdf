#include "runtime/estimated_times.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "machine/machine_model.hpp"

namespace vicinal::runtime {

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
  extension.synchronous = machine::is_synchronous(machine, codelet.name);
  for (std::size_t number = 0; number < kProcessorKinds; ++number) {
    const auto kind = static_cast<ProcessorKind>(number);
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

}  // namespace vicinal::runtime
