// What a machine file says, checked but not yet put together: between the reader of the text and the
// machine for a number of GPUs. docs/machine-file.md describes the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/cluster_text.hpp"
#include "machine/machine_model.hpp"
#include "vicinal/contention.hpp"
#include "vicinal/units.hpp"

namespace vicinal::machine {

// A machine has at most 64 memory nodes: RAM, a disk, and these with the devices that have a name.
inline constexpr std::uint32_t kMostGpus = 62;
inline constexpr std::uint32_t kMostCpuWorkers = 1024;

// What a link and both directions of a disk have in common.
struct RouteText {
  Time latency;
  std::uint32_t copies_in_flight = 2;
  bool half_duplex = false;             // both directions share the bandwidth
  std::vector<std::uint32_t> segments;  // indices of MachineText::segments
  bool serialise_same = false;          // copies of one direction run one at a time
  bool serialise_reverse = false;       // and none while one of the other direction runs
  bool serialise_arrivals = false;      // between GPUs: nor while one from RAM arrives at an end
};

enum class End : std::uint8_t { ram, gpu };

struct LinkText {
  std::uint32_t line = 0;
  End from = End::ram;
  End to = End::gpu;
  bool both_directions = false;
  // Between GPUs, by index; none: all. One that names pairs replaces one for all of them.
  std::optional<std::vector<std::pair<std::uint32_t, std::uint32_t>>> pairs;
  BytesPerSecond bandwidth;
  RouteText route;
};

struct SegmentText {
  std::string name;
  BytesPerSecond bandwidth;
  bool half_duplex = false;
  std::vector<BytesPerSecond> by_kernels;    // see SegmentDescription
  std::optional<BytesPerSecond> for_copies;  // likewise
  // The number of the part that each GPU hangs on, of several equal parts; empty: all GPUs share the segment.
  std::vector<std::uint32_t> part_of_gpu;
};

struct DiskText {
  std::optional<Bytes> limit;
  BytesPerSecond read;
  BytesPerSecond write;
  BytesPerSecond worker_bandwidth;
  Time busy_latency;
  BytesPerSecond first_write;
  RouteText route;
};

struct CpuText {
  std::uint32_t most = 0;
  std::optional<std::uint32_t> by_default;
  bool drive_gpus = false;  // each GPU takes one of the workers away
  Time task_overhead;
  Time copy_overhead;
  Time wake_latency;
  std::vector<std::uint32_t> draws_on;  // indices of MachineText::segments
};

struct GpuText {
  std::uint32_t line = 0;
  std::uint32_t most = 0;
  std::optional<std::uint32_t> by_default;
  Bytes memory;
  std::uint32_t pipeline = 1;
  Time task_overhead;
  Time copy_overhead;
  std::vector<std::uint32_t> draws_on;  // indices of MachineText::segments
};

// One accelerator, with its links from RAM and to it.
struct DeviceText {
  std::uint32_t line = 0;
  std::string name;
  ProcessorKind kind = ProcessorKind::opencl;
  Bytes memory;
  std::uint32_t pipeline = 1;
  Time task_overhead;
  Time copy_overhead;
  std::vector<std::uint32_t> draws_on;  // indices of MachineText::segments
  BytesPerSecond in;
  BytesPerSecond out;
  std::optional<BytesPerSecond> both;  // that the two directions share
  RouteText route;
};

struct MachineText {
  std::string origin;  // of the text, for errors
  std::string name;
  std::string sentence;
  Time submit_overhead;
  std::vector<std::string> synchronous;
  std::vector<SchedulingCost> scheduling;
  std::optional<Bytes> ram_limit;
  std::optional<DiskText> disk;
  CpuText cpu;
  std::optional<GpuText> gpu;
  std::vector<DeviceText> devices;
  std::vector<SegmentText> segments;
  std::vector<LinkText> links;
  std::vector<KernelSpeed> speeds;
  PageFaults faults;
  std::optional<ContentionModel> contention;
  std::optional<ClusterText>
      cluster;  // of hosts each of which is this machine, if it does not name another
};

// Both throw UsageError that begins with "origin:line: " where a line is to blame.
MachineText read_machine_text(std::string_view text, const std::string& origin);
MachineDescription build_machine(const MachineText& text, const MachineChoice& choice);

}  // namespace vicinal::machine
