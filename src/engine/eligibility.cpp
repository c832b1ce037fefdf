#include "engine/eligibility.hpp"

#include <algorithm>
#include <string>

#include "memory/arena.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

Eligibility::Eligibility(const MachineDescription& machine, const memory::Residency& residency,
                         bool simulated)
    : machine_(machine), residency_(residency), simulated_(simulated) {
  for (const WorkerDescription& worker : machine.workers) {
    has_cpu_ |= worker.kind == ProcessorKind::cpu;
  }
  limits_changed();
}

void Eligibility::limits_changed() {
  std::uint64_t least = ~std::uint64_t{0};
  for (const NodeDescription& node : machine_.nodes) {
    if (node.kind == NodeKind::disk) continue;
    if (const std::optional<Bytes> limit = residency_.limit(node.id)) {
      least = std::min(least, limit->value);
    }
  }
  least_limit_.store(least, std::memory_order_relaxed);
}

void Eligibility::add(const graph::Handle& handle) {
  if (handle.home.ram_only) any_in_ram_only_.store(true, std::memory_order_relaxed);
  const std::uint64_t bytes = memory::Arena::padded(handle.bytes()).value;
  std::uint64_t largest = largest_.load(std::memory_order_relaxed);
  while (bytes > largest && !largest_.compare_exchange_weak(largest, bytes)) {
  }
}

// A time suffices to simulate it; of what is estimated it says all.
bool Eligibility::is_implemented(const graph::Task& task, ProcessorKind kind) const {
  const Codelet& codelet = *task.codelet;
  if (!simulated_) return static_cast<bool>(codelet.implementation(kind));
  const bool has_time = graph::expected_time(task, kind).ns > 0;
  return has_time || (!codelet.estimated && codelet.implementation(kind));
}

// The first task that reduces into a copy sets it, on its own worker.
bool Eligibility::begins_copies(const graph::Task& task, ProcessorKind kind) const {
  return std::ranges::all_of(task.extension->reduced, [&](const graph::ReducedOperand& operand) {
    const Codelet& neutral = *operand.reduction->codelets.neutral;
    const bool is_simulated =
        simulated_ &&
        (neutral.estimated || neutral.expected[static_cast<std::size_t>(kind)].ns > 0);
    return is_simulated || neutral.implementation(kind);
  });
}

[[gnu::noinline]] bool Eligibility::uses_ram_only(const graph::Task& task) {
  return std::ranges::any_of(
      task.accesses(), [](const graph::Access& access) { return access.handle->home.ram_only; });
}

bool Eligibility::is_bound_to(const graph::Task& task, const WorkerDescription& worker) {
  const graph::TaskExtension& extension = *task.extension;
  if (extension.worker && *extension.worker != worker.id) return false;
  return !extension.only_on_node || *extension.node == worker.node;
}

bool Eligibility::can_run_on(const graph::Task& task, NodeId node) const {
  return std::ranges::any_of(machine_.workers, [&](const WorkerDescription& worker) {
    return worker.node == node && can_run(task, worker.id);
  });
}

bool Eligibility::can_run(const graph::Task& task, WorkerId worker) const {
  const WorkerDescription& description = machine_.workers[worker.value];
  if (task.is_bound() && !is_bound_to(task, description)) return false;
  if (!is_implemented(task, description.kind)) return false;
  if (task.reduces() && !begins_copies(task, description.kind)) return false;
  if (description.node != kRam && is_confined(task)) return false;
  if (residency_.trivial()) return true;
  if (task.kind == graph::TaskKind::combination) {
    return fits_with_copy(task, description.node);
  }
  return fits_any_node(task) || residency_.fits(task, description.node);
}

// A combination will read a private copy, and names the copy only once the copy is chosen.
bool Eligibility::fits_with_copy(const graph::Task& combination, NodeId node) const {
  const std::optional<Bytes> limit = residency_.limit(node);
  if (!limit) return true;
  Bytes all = residency_.working_set(combination, node);
  if (!combination.extension->is_combinable) {
    all += memory::Arena::padded(combination.accesses()[0].handle->bytes());
  }
  return all <= *limit;
}

void Eligibility::check_worker_by_worker(const graph::Task& task) const {
  const WorkerDescription* nearest = nullptr;
  const graph::Handle* large = too_large_for_ram(task);
  for (const WorkerDescription& worker : machine_.workers) {
    if (can_run(task, worker.id)) {
      if (large == nullptr) return;
      throw CapacityError("task " + std::string(task.name()) + ": handle " + large->name + " of " +
                          std::to_string(large->bytes().value) +
                          " bytes passes through ram on its way, whose limit is " +
                          std::to_string(residency_.limit(kRam)->value) +
                          " bytes; raise the limit (option memory) or use smaller tiles");
    }
    if (task.is_bound() && !is_bound_to(task, worker)) continue;
    const bool begins = !task.reduces() || begins_copies(task, worker.kind);
    if (begins && is_implemented(task, worker.kind)) nearest = &worker;
  }
  refuse(task, nearest);
}

// `nearest`: a worker that could run it but for its memory; null if there is none.
void Eligibility::refuse(const graph::Task& task, const WorkerDescription* nearest) const {
  const std::string name(task.name());
  if (nearest == nullptr) {
    throw UsageError(
        "task " + name + ": no worker can run it; codelet " + task.codelet->name +
        (task.reduces() ? ", or the codelet of its neutral element," : "") +
        " has no implementation for the workers of this machine, or the task asks for a "
        "worker that does not exist");
  }
  const NodeDescription& node = machine_.nodes[nearest->node.value];
  throw CapacityError("task " + name + " needs " +
                      std::to_string(residency_.working_set(task, node.id).value) +
                      " bytes at once on " + node.name + ", whose limit is " +
                      std::to_string(residency_.limit(node.id).value_or(Bytes{0}).value) +
                      " bytes; raise the limit (" +
                      (simulated_                      ? "of the simulated machine"
                       : node.kind == NodeKind::device ? "option accelerator_memory"
                                                       : "option memory") +
                      ") or use smaller tiles");
}

// Content on its way to a device or from it passes through RAM, one handle at a time.
const graph::Handle* Eligibility::too_large_for_ram(const graph::Task& task) const {
  if (residency_.trivial() || !residency_.limit(kRam)) return nullptr;
  for (const graph::Access& access : task.accesses()) {
    if (access.mode == AccessMode::scratch) continue;  // nothing copies it
    if (residency_.footprint(access, kRam) > *residency_.limit(kRam)) return access.handle;
  }
  return nullptr;
}

}  // namespace vicinal::engine
