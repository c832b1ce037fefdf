// Measures the machine that it runs on, for a machine file (docs/machine-file.md): a simulation of the
// file takes about as long as the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/queued/queue_measurements.hpp"
#include "graph/graph.hpp"
#include "machine/machine_model.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/contention.hpp"
#include "vicinal/data.hpp"
#include "vicinal/options.hpp"
#include "vicinal/units.hpp"

namespace vicinal::calibration {

// Kernels of one precision, to be timed in several threads at once.
struct KernelSet {
  // A task on a device: the codelet's implementation for the kind is called with such operands.
  struct Call {
    std::shared_ptr<const Codelet> codelet;
    std::vector<Layout> operands;       // packed
    std::vector<std::byte> parameters;  // bytes of the task's
  };
  struct Kernel {
    std::vector<std::string> names;  // of kernels that run at its rate, its own first
    double flops = 0;                // of one run
    std::vector<Call> calls = {};    // one run on a device; none: it is not measured there
  };
  std::string precision;  // "float", "double"
  std::vector<Kernel> kernels;
  // Called once in each thread: operands of its own, and a function that runs the kernel of that number
  // and says how many seconds it took.
  std::function<std::function<double(std::size_t)>()> prepare;
  // Writes what an operand of a call holds, bytes in all. Where there are calls.
  std::function<void(std::byte* to, Bytes bytes)> fill = {};
};

struct MeasuredKernel {
  std::vector<std::string> names;
  std::string precision;
  // Of one worker while all of them run: the median of several rounds' means; and half the distance of
  // their quartiles over it.
  double flops_per_second = 0;
  double spread = 0;
};

struct MeasuredDisk {
  BytesPerSecond read;
  BytesPerSecond write;
  BytesPerSecond first_write = {};  // where the file has no room yet; 0: as `write`
  BytesPerSecond both;              // the sum while both go on
  Time latency;                     // of a copy that is alone, beside what its bytes take
  // What that is longer while kernels run on all cores; 0: nothing, or not known.
  Time busy_latency = {};
  // What a copy takes of the workers' time: for its bytes, see LinkDescription, and whatever its size, which is the
  // workers' copy_overhead. 0: none, or not known.
  BytesPerSecond worker_bandwidth = {};
  Time worker_overhead = {};
  bool direct_io = false;
  std::uint32_t copies = 0;  // in flight per direction
};

// What kernels took, in seconds, without copies and with so many started after each; 0: none has ended.
struct BesideCopies {
  double alone = 0;
  double beside = 0;
  double copies = 0;  // per kernel
};

// Of the workers' time that a copy takes, the median over the stretches; none if nothing is known.
std::optional<Time> worker_time_per_copy(std::span<const BesideCopies> stretches);

// Of the workers' time, what a copy of any size takes and what its bytes take.
struct CopyCost {
  Time overhead;
  BytesPerSecond bandwidth;  // 0: nothing
};
// From two sizes: right for the larger one, and neither is below 0.
CopyCost copy_cost(Bytes small, Time of_small, Bytes large, Time of_large);

// Emulated accelerators: their links are threads that copy.
struct MeasuredLinks {
  std::uint32_t accelerators = 0;
  Bytes memory;             // of each
  BytesPerSecond alone;     // one direction of one link, nothing else being copied
  BytesPerSecond together;  // all directions of all links at once, their sum
  Time latency;
};

// An accelerator with queues. Bandwidths are those of the memory that a run copies from and to.
struct MeasuredDevice {
  ProcessorKind kind = ProcessorKind::opencl;
  std::string name;  // "OpenCL device 0 (NVIDIA H100)"
  Bytes memory;      // of it, used
  std::uint32_t tasks_in_flight = 1;
  bool pinned = false;  // the memory of a run
  drivers::QueueMeasurements queues;
  std::vector<MeasuredKernel> kernels = {};  // those that the kind has an implementation of
  const drivers::LinkRates& rates() const {
    return pinned && queues.pinned ? *queues.pinned : queues.plain;
  }
};

struct Calibration {
  std::string name;       // of the machine
  std::string processor;  // as the system calls it
  std::uint32_t workers = 0;
  Time submit_overhead;    // of the application, per task
  Time task_overhead;      // of a worker, per task
  Time wake_latency = {};  // from the arrival of a task to its begin on a worker that sleeps
  std::optional<Bytes> memory;
  std::optional<MeasuredDisk> disk;
  std::optional<MeasuredLinks> links;
  std::vector<MeasuredDevice> devices = {};  // in the order of a runtime's
  std::vector<MeasuredKernel> kernels;
  std::vector<machine::SchedulingCost> scheduling = {};
  std::optional<ContentionModel> contention = {};  // of sweeps that were measured, see fit_model
};

// The machine that a Runtime with these options has. Takes about half a minute at most, but for kernels
// of which a single run takes seconds. `copy`: bytes of what goes to the disk at once. `progress` is told
// what is measured next. Throws what Runtime throws for these options.
Calibration calibrate(const Options& options, std::span<const KernelSet> kernels, Bytes copy,
                      const std::function<void(std::string_view)>& progress);

// The devices of a runtime with these options and what their queues give, without kernels; takes up to two seconds
// for each. Throws what Runtime throws, DeviceError.
std::vector<MeasuredDevice> measure_devices(const Options& options);

// What each policy takes per task of the graph, in a simulation on the machine: the least of a few.
std::vector<machine::SchedulingCost> measure_scheduling(const graph::Graph& graph,
                                                        const machine::MachineModel& machine);

// The text of a machine file, which machine::parse_machine accepts. `sentence`: what the machine is;
// empty: its workers and its processor.
std::string machine_file(const Calibration& calibration, const std::string& sentence = {});
// For people.
std::string calibration_text(const Calibration& calibration);
// Its name, and its queues; several lines.
std::string device_text(const MeasuredDevice& device);

}  // namespace vicinal::calibration
