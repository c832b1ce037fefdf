#include "runtime/machine_setup.hpp"

#include <algorithm>
#include <iterator>
#include <linux/magic.h>
#include <string>
#include <sys/vfs.h>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "drivers/cpu/binding.hpp"
#include "drivers/cuda/cuda_device.hpp"
#include "drivers/device_kinds.hpp"
#include "drivers/mapped_memory.hpp"
#include "drivers/opencl/opencl_device.hpp"
#include "machine/machine_model.hpp"
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
  return std::max(1U, drivers::usable_processors() / options.worker_processors);
}

// A limit on memory is worth little if what it evicts lies in memory, too.
void warn_if_in_memory(const std::string& folder) {
  struct statfs status {};
  if (::statfs(folder.c_str(), &status) != 0) return;
  const bool in_memory = status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
  if (!in_memory) return;
  base::process_log().warn_once("in memory " + folder,
                                "disk folder " + folder +
                                    " lies in memory (tmpfs): what is evicted to it takes RAM, "
                                    "and its times are no disk's; name a folder on a disk");
}

}  // namespace

MachineSetup::MachineSetup(const Options& options, drivers::FaultInjection* faults) {
  options.check();
  const base::NoSignals none;  // for threads of devices' libraries
  machine.nodes.push_back({kRam, "ram", NodeKind::ram, options.memory});
  if (!options.disk.empty()) {
    const NodeId node{static_cast<std::uint32_t>(machine.nodes.size())};
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
  options.accelerator_api == "threads" ? add_emulated(options) : add_emulated_on_queues(options);
  add_cuda_devices(options);
  add_opencl_devices(options);
  add_registered_devices(options);
  add_contention(options.contention);
}

void require_own_contention(const std::string& contention) {
  if (contention == "auto" || contention == "off") return;
  throw UsageError("option contention: \"" + contention +
                   "\": a simulated machine says itself what its memory gives; write auto or off");
}

// What is there is told by no system.
void MachineSetup::add_contention(const std::string& contention) {
  if (contention == "auto" || contention == "off") return;
  MachineDescription described;
  try {
    described = machine::load_machine_of_option(contention).description;
  } catch (const UsageError& error) {
    throw UsageError("option contention: it is auto, off, or a machine: " +
                     std::string(error.what()));
  }
  const auto draws = [](const WorkerDescription& worker) {
    return worker.kind == ProcessorKind::cpu && !worker.draws_on.empty();
  };
  const auto core = std::ranges::find_if(described.workers, draws);
  machine.contention = described.contention;
  if (machine.contention) return;
  if (core == described.workers.end()) {
    throw UsageError("option contention: the machine " + contention +
                     " does not say on what its cores draw; give its file [contention] or draws_on "
                     "(docs/machine-file.md), or name another one");
  }
  machine.segments = described.segments;
  for (WorkerDescription& worker : machine.workers) {
    if (worker.kind == ProcessorKind::cpu) worker.draws_on = core->draws_on;
  }
  for (LinkDescription& link : machine.links) {
    if (link.from == kRam || link.to == kRam) link.segments = core->draws_on;
  }
}

void MachineSetup::add_emulated(const Options& options) {
  const auto workers = static_cast<std::uint32_t>(machine.workers.size());
  std::vector<NodeId> devices;
  for (std::uint32_t i = 0; i < options.accelerators; ++i) {
    const NodeId node{static_cast<std::uint32_t>(machine.nodes.size())};
    machine.nodes.push_back(
        {node, "device" + std::to_string(i), NodeKind::device, options.accelerator_memory});
    machine.workers.push_back({WorkerId{workers + i}, ProcessorKind::emulated, node});
    join(machine, kRam, node, options.accelerator_bandwidth, 2);
    for (const NodeId peer : devices) join(machine, peer, node, options.accelerator_bandwidth, 2);
    devices.push_back(node);
  }
}

// Several may share a device, as far as it has room.
void MachineSetup::add_emulated_on_queues(const Options& options) {
  const bool cuda = options.accelerator_api == "cuda";
  if (!cuda && options.accelerator_api != "opencl") {
    throw UsageError("accelerator_api: \"" + options.accelerator_api +
                     "\" is none; write threads, cuda or opencl");
  }
  if (options.accelerator_bandwidth.value > 0) {
    throw UsageError(
        "accelerator_bandwidth: only accelerators of threads have an emulated link; "
        "set it to 0, or accelerator_api to threads");
  }
  const auto there = static_cast<std::uint32_t>(
      cuda ? drivers::cuda_devices(options.cuda_library).size() : drivers::opencl_devices().size());
  constexpr auto kHost = drivers::DeviceKernels::of_host;
  for (std::uint32_t i = 0; i < options.accelerators; ++i) {
    const std::uint32_t number = there > 0 ? i % there : 0;
    auto device =
        cuda ? drivers::open_cuda_device(options.cuda_library, number, options.device_queues, kHost)
             : drivers::open_opencl_device(number, options.device_queues, kHost);
    add_device(std::move(device), ProcessorKind::emulated, "device" + std::to_string(i),
               options.accelerator_memory, options);
  }
}

void MachineSetup::add_device(std::unique_ptr<drivers::QueuedDevice> device, ProcessorKind kind,
                              const std::string& name, Bytes limit, const Options& options) {
  const NodeId node{static_cast<std::uint32_t>(machine.nodes.size())};
  const WorkerId worker{static_cast<std::uint32_t>(machine.workers.size())};
  machine.nodes.push_back({node, name, NodeKind::device, limit, device->name()});
  machine.workers.push_back({worker, kind, node});
  join(machine, kRam, node, BytesPerSecond{0}, 2);
  QueuedAccelerator added{.config = {.node = node,
                                     .worker = worker,
                                     .kind = kind,
                                     .run_queues = options.device_queues,
                                     .most_runs = options.device_tasks,
                                     .pin = options.pin_memory},
                          .device = std::move(device)};
  for (QueuedAccelerator& peer : opened_) {
    if (!added.device->connect(*peer.device) || !peer.device->connect(*added.device)) continue;
    join(machine, peer.config.node, node, BytesPerSecond{0}, 2);
    added.config.peers.push_back({peer.config.node, peer.device.get()});
    peer.config.peers.push_back({node, added.device.get()});
  }
  opened_.push_back(std::move(added));
}

namespace {
// A tenth is left to the device's own programs and to libraries.
Bytes limit_of(Bytes memory, const Options& options) {
  const std::uint64_t most = memory.value / 10 * 9 / drivers::kPageBytes * drivers::kPageBytes;
  return {std::min(most, options.device_memory.value_or(Bytes{most}).value)};
}
}  // namespace

void MachineSetup::add_cuda_devices(const Options& options) {
  if (options.cuda_devices == 0) return;
  const auto descriptions = drivers::cuda_devices(options.cuda_library);
  for (std::uint32_t i = 0; i < options.cuda_devices; ++i) {
    auto device = drivers::open_cuda_device(options.cuda_library, i, options.device_queues,
                                            drivers::DeviceKernels::of_device,
                                            {options.cublas_library, options.cusolver_library});
    add_device(std::move(device), ProcessorKind::cuda, "cuda" + std::to_string(i),
               limit_of(descriptions[i].memory, options), options);
    machine.nodes.back().installed = descriptions[i].memory;
  }
}

void MachineSetup::add_opencl_devices(const Options& options) {
  if (options.opencl_devices == 0) return;
  const auto descriptions = drivers::opencl_devices();
  for (std::uint32_t i = 0; i < options.opencl_devices; ++i) {
    auto device = drivers::open_opencl_device(i, options.device_queues);
    add_device(std::move(device), ProcessorKind::opencl, "opencl" + std::to_string(i),
               std::min(limit_of(descriptions[i].memory, options), descriptions[i].largest_buffer),
               options);
    machine.nodes.back().installed = descriptions[i].memory;
  }
}

void MachineSetup::add_registered_devices(const Options& options) {
  for (const auto& [kind, count] : drivers::parse_devices(options.devices)) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const NodeId node{static_cast<std::uint32_t>(machine.nodes.size())};
      const WorkerId first{static_cast<std::uint32_t>(machine.workers.size())};
      const std::string name = std::string(kind.name) + std::to_string(i);
      drivers::OpenedDevice device =
          kind.open({i, node, first, options.device_memory, options.check_reads});
      if (device.driver == nullptr || device.memory.value < drivers::kPageBytes ||
          device.workers == 0 || device.copies_in_flight == 0) {
        throw UsageError(
            "device " + name +
            ": what opens it must give a driver, a page of memory, a worker and a copy "
            "in flight at least");
      }
      const Bytes memory = std::min(device.memory, options.device_memory.value_or(device.memory));
      machine.nodes.push_back({node, name, NodeKind::device, memory, device.description});
      for (std::uint32_t worker = 0; worker < device.workers; ++worker) {
        machine.workers.push_back({WorkerId{first.value + worker}, kind.processor, node});
      }
      const std::uint32_t copies = device.copies_in_flight;
      machine.links.push_back({kRam, node, device.to_device, Time{0}, copies});
      machine.links.push_back({node, kRam, device.from_device, Time{0}, copies});
      registered_.push_back(std::move(device.driver));
    }
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
  const std::uint32_t workers = cpu_workers(options);
  const std::uint32_t each = options.worker_processors;
  if (options.bind) processors_ = {drivers::allowed_processors(), workers * each};
  cpu = std::make_unique<drivers::CpuDriver>(
      drivers::CpuConfig{WorkerId{0}, workers, options.submitter_works, processors_.processors(),
                         each, disk != nullptr, options.check_reads});
  const bool threads = options.accelerator_api == "threads";
  for (std::uint32_t i = 0; threads && i < options.accelerators; ++i) {
    const WorkerDescription& worker = machine.workers[workers + i];
    accelerators.push_back(std::make_unique<drivers::EmulatedDriver>(drivers::EmulatedConfig{
        worker.node, worker.id, options.accelerator_bandwidth, options.check_reads}));
  }
  for (QueuedAccelerator& accelerator : opened_) {
    accelerators.push_back(
        std::make_unique<drivers::QueuedDriver>(accelerator.config, std::move(accelerator.device)));
  }
  std::ranges::move(registered_, std::back_inserter(accelerators));
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
  const base::NoSignals none;  // for threads of registered drivers
  if (disk) disk->start(completions);
  for (auto& accelerator : accelerators) accelerator->start(completions);
  cpu->start(completions);
}

void MachineSetup::leave() {
  if (simulated) return;
  for (auto& accelerator : accelerators) accelerator->leave();
  if (cpu) cpu->leave();
}

void MachineSetup::stop() {
  if (simulated) return simulated->stop();
  if (disk) disk->stop();
  for (auto& accelerator : accelerators) accelerator->stop();
  if (cpu) cpu->stop();
}

}  // namespace vicinal::runtime
