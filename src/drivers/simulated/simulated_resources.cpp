#include "drivers/simulated/simulated_resources.hpp"

#include <algorithm>

namespace vicinal::drivers {

namespace {

// A flow takes no more of a resource, nor less, per unit.
constexpr double kLeastWeight = 1e-6;
constexpr double kMostWeight = 1e6;

double per_ns(BytesPerSecond rate) {
  return rate.value * 1e-9;
}

BytesPerSecond bandwidth_of(const SegmentDescription& segment, std::uint32_t kernels) {
  if (kernels == 0 || segment.by_kernels.empty()) return segment.bandwidth;
  return segment.by_kernels[std::min<std::size_t>(kernels, segment.by_kernels.size()) - 1];
}

sim::CapacityRule rule_of(const SegmentDescription& segment) {
  return [segment](sim::Drawing drawing) {
    const BytesPerSecond all = bandwidth_of(segment, drawing.kernels);
    const double part = drawing.copies / std::max(1.0, double(drawing.copies + drawing.kernels));
    const BytesPerSecond equal_part{all.value * part};
    const BytesPerSecond for_copies = std::min(all, segment.for_copies.value_or(equal_part));
    return sim::Capacity{
        .all = per_ns(all), .for_copies = per_ns(for_copies), .for_kernels = per_ns(all)};
  };
}

sim::Resource resource_of(const SegmentDescription& segment, sim::World& world) {
  if (segment.shared) return *segment.shared;
  const bool depends = !segment.by_kernels.empty() || segment.for_copies;
  return depends ? world.add_resource(rule_of(segment)) : world.add_resource(segment.bandwidth);
}

bool joins_disk(const MachineDescription& machine, const LinkDescription& link) {
  const auto is_disk = [&](NodeId node) {
    return machine.nodes[node.value].kind == NodeKind::disk;
  };
  return is_disk(link.from) || is_disk(link.to);
}

}  // namespace

SimulatedResources::SimulatedResources(const MachineDescription& machine, sim::World& world)
    : machine_(machine) {
  if (machine.contention) add_lanes(world);
  for (const SegmentDescription& segment : machine.segments) {
    segments_.push_back(resource_of(segment, world));
  }
  double workers = 0;
  for (const WorkerDescription& worker : machine.workers) {
    if (worker.kind != ProcessorKind::cpu) continue;
    ++workers;
    copy_overhead_ = std::max(copy_overhead_, worker.copy_overhead);
  }
  const bool any_takes = std::ranges::any_of(machine.links, [&](const LinkDescription& link) {
    return link.worker_bandwidth.value > 0 || (copy_overhead_.ns > 0 && joins_disk(machine, link));
  });
  if (workers == 0 || !any_takes) return;
  // Copies come first, and take of workers that are in no kernel before they take of the others.
  processors_ = world.add_resource([workers](sim::Drawing drawing) {
    const double in_kernels = std::min<double>(drawing.kernels, workers);
    return sim::Capacity{.all = workers, .for_copies = workers, .for_kernels = in_kernels};
  });
}

void SimulatedResources::add_lanes(sim::World& world) {
  std::vector<BytesPerSecond> bandwidths;
  for (const LinkDescription& link : machine_.links) {
    lanes_.emplace_back();
    if (link.bandwidth.value == 0 || (link.from != kRam && link.to != kRam)) continue;
    lanes_.back() =
        sim::HostMemory::kFirstLink + static_cast<sim::HostMemory::Lane>(bandwidths.size());
    bandwidths.push_back(link.bandwidth);
  }
  memory_ = std::make_shared<sim::HostMemory>(world, *machine_.contention, bandwidths);
  const auto demands = [](const KernelSpeed& speed) {
    return speed.kind == ProcessorKind::cpu && speed.demand.value > 0;
  };
  if (std::ranges::any_of(machine_.speeds, demands)) memory_->use();
}

void SimulatedResources::add_memory(std::uint32_t link, std::uint32_t numa_node,
                                    base::SureVector<sim::Demand>& demands) const {
  if (!memory_ || !memory_->is_used() || !lanes_[link]) return;
  memory_->add_transfer(*lanes_[link], numa_node, demands);
}

void SimulatedResources::add_processors(const LinkDescription& link, Bytes bytes,
                                        base::SureVector<sim::Demand>& demands) const {
  if (!processors_) return;
  double weight = link.worker_bandwidth.value > 0 ? 1 / per_ns(link.worker_bandwidth) : 0;
  if (joins_disk(machine_, link)) {
    weight += static_cast<double>(copy_overhead_.ns) /
              static_cast<double>(std::max<std::uint64_t>(bytes.value, 1));
  }
  if (weight >= kLeastWeight) demands.push_back({*processors_, std::min(weight, kMostWeight)});
}

bool SimulatedResources::draws_on_processors(WorkerId worker) const {
  return processors_ && machine_.workers[worker.value].kind == ProcessorKind::cpu;
}

bool SimulatedResources::draws_on_memory(WorkerId worker) const {
  return memory_ && machine_.workers[worker.value].kind == ProcessorKind::cpu;
}

void SimulatedResources::touch(const graph::Task& task, WorkerId worker,
                               BytesPerSecond demand) const {
  if (!draws_on_memory(worker)) return;
  if (demand.value > 0) memory_->use();
  const std::uint32_t own = memory_->node_of_core(worker.value);
  for (const graph::Access& access : task.accesses()) {
    memory_->homes().home_of(access.handle->id.value, own);
  }
}

bool SimulatedResources::any_for_kernel(WorkerId worker, BytesPerSecond demand) const {
  if (draws_on_processors(worker)) return true;
  return demand.value > 0 &&
         (draws_on_memory(worker) || !machine_.workers[worker.value].draws_on.empty());
}

double SimulatedResources::add_for_kernel(const graph::Task& task, WorkerId worker,
                                          BytesPerSecond demand,
                                          base::SureVector<sim::Demand>& demands) const {
  if (draws_on_processors(worker)) demands.push_back({*processors_});
  if (!(demand.value > 0)) return 1;
  const double weight = std::clamp(per_ns(demand), kLeastWeight, kMostWeight);
  for (const std::uint32_t segment : machine_.workers[worker.value].draws_on) {
    demands.push_back({segments_.at(segment), weight});
  }
  if (!draws_on_memory(worker)) return 1;
  base::SureVector<double> bytes(memory_->nodes());
  const std::uint32_t own = memory_->node_of_core(worker.value);
  for (const graph::Access& access : task.accesses()) {
    const graph::Handle& handle = *access.handle;
    bytes[memory_->homes().home_of(handle.id.value, own)] +=
        static_cast<double>(handle.bytes().value);
  }
  return memory_->add_kernel(worker.value, demand, bytes, demands);
}

}  // namespace vicinal::drivers
