// The machine as the runtime sees it: memory nodes, links between them, workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vicinal/codelet.hpp"
#include "vicinal/contention.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal {

// What a memory node is.
enum class NodeKind : std::uint8_t { ram, disk, device };

// A memory node.
struct NodeDescription {
  NodeId id;                      // its place among the nodes
  std::string name;               // "ram", "disk", "device0"
  NodeKind kind = NodeKind::ram;  // what it is
  std::optional<Bytes> limit;     // none: not limited
  // Of a device that is there, and of one that a machine file names: "OpenCL device 0 (NVIDIA H100)".
  std::string device = {};
  Bytes installed = {};  // all the memory that the device has; 0: not known
};

// One direction between two nodes.
struct LinkDescription {
  NodeId from;                         // the source of its copies
  NodeId to;                           // their destination
  BytesPerSecond bandwidth;            // 0: not known
  Time latency;                        // before the first byte
  std::uint32_t copies_in_flight = 1;  // started and not ended, at most
  // --- simulation
  // What its copies share with those of other links, besides its own bandwidth: numbers of segments.
  std::vector<std::uint32_t> segments = {};
  // Links, by number, whose copies never run while one of this link does; itself among them if its
  // copies run one at a time. In the order of their start. Holds both ways.
  std::vector<std::uint32_t> serialised = {};
  // Bytes copied per second of the CPU workers' time that copying takes: for the threads that copy and the memory that
  // they keep busy. Copies come first; kernels share what is left of that time. 0: copying takes none.
  BytesPerSecond worker_bandwidth = {};
  // What a copy takes longer if a kernel runs on every CPU worker when its bytes have moved: the thread that ends it must
  // get a core.
  Time busy_latency = {};
  // Of what the disk has no room for yet: the file system must find it. 0: `bandwidth`.
  BytesPerSecond first_write = {};
};

// Simulation: a part of the machine that copies of several links pass, a switch or a host bridge, or a memory controller,
// on which kernels draw, too. Copies share its bandwidth max-min fairly, with those of the links.
struct SegmentDescription {
  std::string name;          // in messages and reports
  BytesPerSecond bandwidth;  // of all copies together
  // The number of a segment that the copies of several runtimes pass; SimulatedWorld::add_segment sets it.
  std::optional<std::uint32_t> shared = {};
  // The bandwidth while one, two, ... kernels draw on it; the last entry is that of more kernels. No entry exceeds
  // `bandwidth`. Empty: always `bandwidth`.
  std::vector<BytesPerSecond> by_kernels = {};
  // Bandwidth that kernels leave to copies that can use it, `bandwidth` at most. None: the equal part of each that draws,
  // kernel or copy.
  std::optional<BytesPerSecond> for_copies = {};
};

// A worker.
struct WorkerDescription {
  WorkerId id;                              // its place among the workers
  ProcessorKind kind = ProcessorKind::cpu;  // which kernels it runs
  NodeId node;                              // where its operands must be
  // --- simulation: an accelerator's kernels run while its thread spends these times
  Time task_overhead = {};     // of a thread before each task
  Time copy_overhead = {};     // of a thread before each copy to the worker's node or from it
  Time wake_latency = {};      // until a thread that sleeps looks for the work that it is woken for
  std::uint32_t pipeline = 1;  // kernels launched and not ended, at most
  // Segments, by number, on which its kernels draw what their codelets demand (Codelet::demands).
  std::vector<std::uint32_t> draws_on = {};
};

// Simulation: what it costs that an accelerator finds data missing where its memory is one with RAM and the system
// moves pages when they are touched. Only with the option memory_rules=unified.
struct PageFaults {
  Time time = {};    // of one fault, beside the copy of the page
  Bytes bytes = {};  // of the page; 0: not known
};

// Simulation: how fast one kind of processor runs a kernel. A rate or a time; of several entries that match the first
// counts. Entries are for tasks that are estimated, see Codelet::estimated.
struct KernelSpeed {
  std::string kernel;  // the codelet's name, or that of a typed task; "*": any
  std::string precision =
      {};  // "float", "double": of elements of 4 bytes, and of others; empty: any
  ProcessorKind kind = ProcessorKind::cpu;  // of processors
  double flops_per_second = 0;              // 0: `seconds` says it
  double seconds = 0;                       // of each call; 0: the rate says it
  BytesPerSecond demand = {};               // as Codelet::demands
};

// Simulation: bytes per second at which a task passes over its operands if nothing else is known of its time.
struct SimulatedMemory {
  BytesPerSecond core;         // of a CPU worker
  BytesPerSecond accelerator;  // of every other kind
  Time least;                  // of a task
};
// The rates that are assumed.
inline constexpr SimulatedMemory kSimulatedMemory{
    .core = BytesPerSecond{10e9}, .accelerator = BytesPerSecond{500e9}, .least = Time{1000}};

// All of a machine.
struct MachineDescription {
  std::vector<NodeDescription> nodes;      // nodes[i].id == i; nodes[0] is RAM
  std::vector<LinkDescription> links;      // at most one for each pair of nodes and direction
  std::vector<WorkerDescription> workers;  // workers[i].id == i
  std::vector<SegmentDescription> segments = {};  // simulation
  Time submit_overhead = {};                      // simulation: of the application, per task
  PageFaults faults = {};                         // simulation
  std::vector<KernelSpeed> speeds = {};           // simulation
  // How kernels with a demand and transfers share memory: simulation and scheduling. None: the segments alone say it.
  std::optional<ContentionModel> contention = {};
  std::vector<std::string> synchronous = {};  // simulation: kernels as Codelet::synchronous says

  // The disk node, if there is one.
  std::optional<NodeId> disk() const {
    for (const auto& node : nodes) {
      if (node.kind == NodeKind::disk) return node.id;
    }
    return std::nullopt;
  }
};

// What may be other than a machine file says.
struct MachineChoice {
  std::optional<std::uint32_t> gpus = {};            // none: as many as the file says
  std::optional<std::uint32_t> cpu_workers = {};     // none: as many as the file says
  std::optional<std::uint32_t> cuda_devices = {};    // the first; none: as many as the file says
  std::optional<std::uint32_t> opencl_devices = {};  // the first; none: as many as the file says
  std::optional<Bytes> gpu_memory = {};              // of each GPU and each device
  std::optional<Bytes> ram = {};                     // limit of RAM
  std::optional<std::uint32_t> ranks =
      {};  // hosts of a cluster, the first; none: as many as the file says
};

// The machine of a machine file (docs/machine-file.md), or a machine that the library brings, by its name, but for the
// `choice`. `name` is a file if it contains a '/' or ends in ".toml". Throws UsageError that names the file and the
// line, or the nearest name; and for a cluster of several hosts, unless one is asked for (`ranks`).
//
//   vicinal::Runtime runtime(vicinal::read_machine("v100", {.gpus = 2}), {.policy = "darts"});
MachineDescription read_machine(const std::string& name, const MachineChoice& choice = {});

}  // namespace vicinal
