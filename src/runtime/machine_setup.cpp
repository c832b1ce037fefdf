#include "runtime/machine_setup.hpp"

#include <algorithm>
#include <linux/magic.h>
#include <string>
#include <sys/vfs.h>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "drivers/cpu/binding.hpp"
#include "drivers/cuda/cuda_device.hpp"
#include "drivers/mapped_memory.hpp"
#include "drivers/opencl/opencl_device.hpp"
#include "runtime/simulated_machine.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

namespace {

void join(MachineDescription& machine, NodeId a, NodeId b, BytesPerSecond bandwidth,
          std::uint32_t copies) {
  machine.links.push_back({a, b, bandwidth, Time{0}, copies});
  machine.links.push_back({b, a, bandwidth, Time{0}, copies});
}

std::uint32_t cpu_workers(const Options& options) {
  if (options.workers != 0) return options.workers;
  const auto allowed = drivers::allowed_processors();
  return allowed.empty() ? 1 : static_cast<std::uint32_t>(allowed.size());
}

// A limit on memory is worth little if what it drives out lies in memory, too.
void warn_if_in_memory(const std::string& folder) {
  struct statfs status {};
  if (::statfs(folder.c_str(), &status) != 0) return;
  const bool in_memory = status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
  if (!in_memory) return;
  base::process_log().warn_once("in memory " + folder,
                                "disk folder " + folder +
                                    " lies in memory (tmpfs): what is driven out to it takes RAM, "
                                    "and its times are no disk's; name a folder on a disk");
}

}  // namespace

MachineSetup::MachineSetup(const Options& options, drivers::FaultInjection* faults) {
  options.check();
  machine.nodes.push_back({kRam, "ram", NodeKind::ram, options.memory});
  const auto next_node = [this] {
    return NodeId{static_cast<std::uint32_t>(machine.nodes.size())};
  };
  if (!options.disk.empty()) {
    const NodeId node = next_node();
    disk = std::make_unique<drivers::DiskDriver>(drivers::DiskConfig{.folder = options.disk,
                                                                     .space = options.disk_space,
                                                                     .direct_io = options.direct_io,
                                                                     .io_uring = options.direct_io,
                                                                     .copies = options.disk_copies,
                                                                     .node = node,
                                                                     .faults = faults});
    warn_if_in_memory(options.disk);
    machine.nodes.push_back({node, "disk", NodeKind::disk, disk->space()});
    join(machine, kRam, node, BytesPerSecond{0}, options.disk_copies);
  }
  const std::uint32_t workers = cpu_workers(options);
  for (std::uint32_t i = 0; i < workers; ++i) {
    machine.workers.push_back({WorkerId{i}, ProcessorKind::cpu, kRam});
  }
  std::vector<NodeId> devices;
  for (std::uint32_t i = 0; i < options.accelerators; ++i) {
    const NodeId node = next_node();
    machine.nodes.push_back(
        {node, "device" + std::to_string(i), NodeKind::device, options.accelerator_memory});
    machine.workers.push_back({WorkerId{workers + i}, ProcessorKind::emulated, node});
    join(machine, kRam, node, options.accelerator_bandwidth, 2);
    for (const NodeId peer : devices) join(machine, peer, node, options.accelerator_bandwidth, 2);
    devices.push_back(node);
  }
  add_cuda_devices(options);
  add_opencl_devices(options);
}

void MachineSetup::add_device(std::unique_ptr<drivers::QueuedDevice> device, ProcessorKind kind,
                              const std::string& name, Bytes memory, const Options& options) {
  const NodeId node{static_cast<std::uint32_t>(machine.nodes.size())};
  const WorkerId worker{static_cast<std::uint32_t>(machine.workers.size())};
  const Bytes limit{std::min(memory.value, options.device_memory.value_or(memory).value)};
  machine.nodes.push_back({node, name, NodeKind::device, limit});
  machine.workers.push_back({worker, kind, node});
  join(machine, kRam, node, BytesPerSecond{0}, 2);
  opened_.push_back({.config = {.node = node,
                                .worker = worker,
                                .kind = kind,
                                .run_queues = options.device_queues,
                                .most_runs = options.device_tasks},
                     .device = std::move(device)});
}

namespace {
// A tenth is left to the device's own programs and to libraries.
Bytes most_of(Bytes memory) {
  return {memory.value / 10 * 9 / drivers::kPageBytes * drivers::kPageBytes};
}
}  // namespace

void MachineSetup::add_cuda_devices(const Options& options) {
  if (options.cuda_devices == 0) return;
  const auto descriptions = drivers::cuda_devices(options.cuda_library);
  for (std::uint32_t i = 0; i < options.cuda_devices; ++i) {
    auto device = drivers::open_cuda_device(options.cuda_library, i, options.device_queues);
    add_device(std::move(device), ProcessorKind::cuda, "cuda" + std::to_string(i),
               most_of(descriptions[i].memory), options);
  }
}

void MachineSetup::add_opencl_devices(const Options& options) {
  if (options.opencl_devices == 0) return;
  const auto descriptions = drivers::opencl_devices();
  for (std::uint32_t i = 0; i < options.opencl_devices; ++i) {
    auto device = drivers::open_opencl_device(i, options.device_queues);
    const Bytes most = most_of(descriptions[i].memory);
    add_device(std::move(device), ProcessorKind::opencl, "opencl" + std::to_string(i),
               std::min(most, descriptions[i].largest_buffer), options);
  }
}

MachineSetup::MachineSetup(const MachineDescription& simulated_machine,
                           std::shared_ptr<SharedWorld> in_world)
    : machine(require_sound(simulated_machine, in_world->segments)),
      world(std::move(in_world)),
      simulated(std::make_unique<drivers::SimulatedDriver>(simulated_machine, world->world)) {}

MachineSetup::MachineSetup(MachineSetup&&) noexcept = default;
MachineSetup::~MachineSetup() = default;

void MachineSetup::make_drivers(const Options& options) {
  if (simulated) return;
  const auto processors =
      options.bind ? drivers::allowed_processors() : std::vector<std::uint32_t>{};
  const std::uint32_t workers = cpu_workers(options);
  cpu = std::make_unique<drivers::CpuDriver>(drivers::CpuConfig{
      WorkerId{0}, workers, options.submitter_works, processors, disk != nullptr});
  for (const WorkerDescription& worker : machine.workers) {
    if (worker.kind != ProcessorKind::emulated) continue;
    accelerators.push_back(std::make_unique<drivers::EmulatedDriver>(drivers::EmulatedConfig{
        worker.node, worker.id, options.accelerator_bandwidth, std::nullopt}));
  }
  for (QueuedAccelerator& accelerator : opened_) {
    accelerators.push_back(
        std::make_unique<drivers::QueuedDriver>(accelerator.config, std::move(accelerator.device)));
  }
}

std::vector<engine::Driver*> MachineSetup::by_node() const {
  std::vector<engine::Driver*> drivers;
  std::size_t accelerator = 0;
  for (const NodeDescription& node : machine.nodes) {
    if (simulated) {
      drivers.push_back(simulated.get());
    } else if (node.kind == NodeKind::disk) {
      drivers.push_back(disk.get());
    } else if (node.kind == NodeKind::ram) {
      drivers.push_back(cpu.get());
    } else {
      drivers.push_back(accelerators[accelerator++].get());
    }
  }
  return drivers;
}

std::vector<engine::Driver*> MachineSetup::by_worker() const {
  const auto nodes = by_node();
  std::vector<engine::Driver*> drivers;
  for (const WorkerDescription& worker : machine.workers)
    drivers.push_back(nodes[worker.node.value]);
  return drivers;
}

void MachineSetup::start(engine::Completions& completions) {
  if (simulated) return simulated->start(completions);
  if (disk) disk->start(completions);
  for (auto& accelerator : accelerators) accelerator->start(completions);
  cpu->start(completions);
}

void MachineSetup::stop() {
  if (simulated) return simulated->stop();
  if (disk) disk->stop();
  for (auto& accelerator : accelerators) accelerator->stop();
  if (cpu) cpu->stop();
}

}  // namespace vicinal::runtime
