#include "calibration/calibrate.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "calibration/busy_kernels.hpp"
#include "calibration/open_devices.hpp"
#include "drivers/clock.hpp"
#include "drivers/cpu/binding.hpp"
#include "drivers/disk/disk_bandwidth.hpp"
#include "drivers/emulated/link_bandwidth.hpp"
#include "play/play.hpp"
#include "sched/policy.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::calibration {

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "this machine";
  return name.data();
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("model name")) continue;
    const auto value = line.find_first_not_of(" \t", line.find(':') + 1);
    if (value != std::string::npos) return line.substr(value);
  }
  return "a processor without a name";
}

Time median(std::vector<Time> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// --- What the runtime costs per task --------------------------------------------------------------

struct Overheads {
  Time submission;
  Time execution;
};

Options alone(Options options) {
  options.workers = 1;
  options.submitter_works = true;
  options.accelerators = 0;
  options.cuda_devices = 0;
  options.opencl_devices = 0;
  options.window_tasks = 0;
  options.window_bytes = {};
  options.compute_priorities = false;
  options.stall_seconds = 0;
  return options;
}

// Empty tasks with the operands of a matrix product, one thread: it submits all of them and then runs
// all of them, so that both can be told apart.
class OverheadTest {
 public:
  explicit OverheadTest(const Options& options) : runtime_(alone(options)) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      handles_[i] = runtime_.register_buffer(&values_[i], {sizeof(double)});
    }
  }

  Overheads run() {
    const Time begin = drivers::monotonic_now();
    for (std::size_t i = 0; i < kTasks; ++i) {
      const std::size_t at = i % kData;
      runtime_.submit(
          {.codelet = &empty_,
           .operands = {R(handles_[at]), R(handles_[at + kData]), RW(handles_[at + 2 * kData])}});
    }
    const Time submitted = drivers::monotonic_now();
    runtime_.wait();
    const Time ended = drivers::monotonic_now();
    const auto each = [](Time all) { return Time{all.ns / static_cast<std::int64_t>(kTasks)}; };
    return {each(submitted - begin), each(ended - submitted)};
  }

 private:
  static constexpr std::size_t kTasks = 20'000;
  static constexpr std::size_t kData = 64;

  const Codelet empty_{.name = "empty", .cpu = [](KernelContext&) {}};
  std::array<double, 3 * kData> values_{};
  std::array<Handle, 3 * kData> handles_{};
  Runtime runtime_;
};

void measure_overheads(const Options& options, Calibration& result) {
  constexpr int kRuns = 5;
  OverheadTest test(options);
  test.run();  // fills the pools
  std::vector<Time> submissions;
  std::vector<Time> executions;
  for (int i = 0; i < kRuns; ++i) {
    const Overheads overheads = test.run();
    submissions.push_back(overheads.submission);
    executions.push_back(overheads.execution);
  }
  result.submit_overhead = median(submissions);
  result.task_overhead = median(executions);
}

// From the submission of a task to its begin on a worker that sleeps: as long as in a run whose workers wait for data.
Time measure_wake(Options options) {
  constexpr int kWakes = 200;
  constexpr std::chrono::microseconds kAsleep{300};
  options = alone(std::move(options));
  options.submitter_works = false;
  const Codelet note_begin{.name = "note_begin", .cpu = [](KernelContext& context) {
                             *context.parameter<std::int64_t*>() = drivers::monotonic_now().ns;
                           }};
  std::int64_t begun_ns = 0;
  Runtime runtime(options);
  std::vector<Time> latencies;
  for (int i = 0; i < kWakes; ++i) {
    std::this_thread::sleep_for(kAsleep);
    const Time begin = drivers::monotonic_now();
    runtime.submit({.codelet = &note_begin, .parameters = &begun_ns});
    runtime.wait();
    latencies.push_back(Time{begun_ns} - begin);
  }
  return median(std::move(latencies));
}

// --- Disk -----------------------------------------------------------------------------------------

// Of what is free there, a quarter at most.
Bytes room_of(const Options& options) {
  std::error_code error;
  const auto space = std::filesystem::space(options.disk, error);
  Bytes room = error ? Bytes{64_MiB} : Bytes{space.available / 4};
  if (options.disk_space) room = std::min(room, *options.disk_space);
  return room;
}

drivers::BandwidthTest disk_test(const Options& options, Bytes copy, Bytes bytes) {
  drivers::BandwidthTest test{.bytes = std::min(room_of(options), bytes),
                              .tile = std::clamp(copy, 4_KiB, 16_MiB),
                              .copies = options.disk_copies,
                              .direct_io = options.direct_io};
  test.tile = std::min(test.tile, std::max(test.bytes, 4_KiB));
  return test;
}

// Of as many copies at once as a run has in flight in the mean: more wait for each other in the kernel.
BytesPerSecond measure_first_writes(const Options& options, Bytes copy) {
  constexpr std::size_t kFiles = 3;
  constexpr std::uint32_t kAtOnce = 2;
  drivers::BandwidthTest test = disk_test(options, copy, 64_MiB);
  test.copies = std::min(test.copies, kAtOnce);
  std::array<double, kFiles> rates{};
  for (double& rate : rates) rate = drivers::DiskCopies(options.disk, test).write().value;
  std::ranges::sort(rates);
  return {rates[kFiles / 2]};
}

// A first look at the bandwidth, then as much as is copied in some seconds, and more than a disk's own
// cache if that can be had. Then one copy at a time, as it mostly is in a run: what it takes longer is
// latency.
MeasuredDisk measure_disk(const Options& options, Bytes copy) {
  constexpr double kSeconds = 2;
  const auto first = drivers::measure_bandwidth(options.disk, disk_test(options, copy, 32_MiB));
  const double slower = std::min(first.read.value, first.write.value);
  const auto wanted = static_cast<std::uint64_t>(slower * kSeconds);
  drivers::BandwidthTest test = disk_test(options, copy, std::clamp(Bytes{wanted}, 32_MiB, 1_GiB));
  test.both = true;
  const auto all = drivers::measure_bandwidth(options.disk, test);
  test.copies = 1;
  test.both = false;
  test.bytes = std::min(test.bytes, 256_MiB);
  const auto alone = drivers::measure_bandwidth(options.disk, test);
  const auto longer = [&](BytesPerSecond one, BytesPerSecond several) {
    return std::max(Time{0}, duration(test.tile, one) - duration(test.tile, several));
  };
  const BytesPerSecond first_write = measure_first_writes(options, copy);
  return {.read = all.read,
          .write = all.write,
          .first_write = first_write < all.write ? first_write : BytesPerSecond{},
          .both = all.both,
          .latency = {(longer(alone.read, all.read) + longer(alone.write, all.write)).ns / 2},
          .direct_io = all.direct_io,
          .copies = options.disk_copies};
}

// Copies of one size as a run makes them: after each kernel a worker starts what its next task reads and what it
// has changed. That costs more than copies that follow each other: each wakes the disk's thread, which must get
// one of the workers' cores, to start it and to end it.
class CopiesBetweenKernels {
 public:
  CopiesBetweenKernels(const Options& options, Bytes copy, Bytes bytes, RunningKernels& kernels)
      : test_(both(options, copy, bytes)), copies_(options.disk, test_), kernels_(kernels) {
    copies_.write();
  }

  // Alternately with stretches without copies, as the speed of a machine drifts. Kernels that take a large part of a
  // stretch, or all of it, make it longer.
  void measure_stretch() {
    constexpr double kLeast = 0.15;
    constexpr double kMost = 1;
    constexpr double kKernels = 6;
    const double length = std::clamp(kKernels * last_kernel_, kLeast, kMost);
    const auto pass = [](double seconds) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    };
    const double alone = kernels_.mean_seconds_during([&] { pass(length); });
    const auto stretch =
        kernels_.stretch_with([this] { return start_both(); }, [&] { pass(length); });
    copies_.wait();
    const Time each = copies_.mean_time();
    if (each > Time{0}) times_.push_back(each);
    last_kernel_ = std::max(alone, stretch.seconds);
    if (stretch.kernels == 0) return;
    stretches_.push_back(
        {alone, stretch.seconds,
         static_cast<double>(stretch.done) / static_cast<double>(stretch.kernels)});
  }

  Bytes size() const { return test_.tile; }
  // From the start of a copy to its end; none: no copy was made.
  std::optional<Time> copy_time() const {
    if (times_.empty()) return std::nullopt;
    return median(times_);
  }
  std::optional<Time> worker_time() const { return worker_time_per_copy(stretches_); }

 private:
  static drivers::BandwidthTest both(const Options& options, Bytes copy, Bytes bytes) {
    drivers::BandwidthTest test = disk_test(options, copy, bytes);
    test.both = true;
    return test;
  }
  std::uint64_t start_both() {
    return (copies_.start(true) ? 1U : 0U) + (copies_.start(false) ? 1U : 0U);
  }

  const drivers::BandwidthTest test_;
  drivers::DiskCopies copies_;
  RunningKernels& kernels_;
  double last_kernel_ = 0;
  std::vector<BesideCopies> stretches_;
  std::vector<Time> times_;  // of a copy, by stretch
};

Bytes small_copy(Bytes copy) {
  return {std::clamp<std::uint64_t>(copy.value / 8, 4096, 65536) / 4096 * 4096};
}

// One small copy at a time, each from the start on a thread that sleeps to the end that wakes it, as of a run whose workers
// idle; there are no kernels.
Time small_copy_time(const Options& options, Bytes copy) {
  constexpr int kCopies = 200;
  drivers::BandwidthTest test = disk_test(options, small_copy(copy), 32_MiB);
  test.both = true;
  drivers::DiskCopies copies(options.disk, test);
  copies.write();
  for (int i = 0; i < kCopies; ++i) {
    copies.start(i % 2 == 0);
    copies.wait();
  }
  return copies.mean_time();
}

// Copies of `copy` bytes and small ones: what a copy takes whatever its size is most of what those take.
void measure_beside_kernels(const Options& options, Bytes copy, Time small_alone,
                            RunningKernels& kernels, MeasuredDisk& disk) {
  constexpr int kMost = 16;
  constexpr int kLeast = 3;
  constexpr double kPatience = 8;
  constexpr double kSeconds = 0.1;  // of copies, that each tile comes from the disk
  const Bytes bytes{static_cast<std::uint64_t>(disk.both.value * kSeconds)};
  const Bytes small = small_copy(copy);
  CopiesBetweenKernels of_tiles(options, copy, std::clamp(bytes, 32_MiB, 512_MiB), kernels);
  CopiesBetweenKernels of_small(options, small, 32_MiB, kernels);
  const Time begin = drivers::monotonic_now();
  for (int i = 0; i < kMost; ++i) {
    if (i >= kLeast && (drivers::monotonic_now() - begin).seconds() > kPatience) break;
    of_tiles.measure_stretch();
    of_small.measure_stretch();
  }
  if (const auto beside = of_small.copy_time()) {
    disk.busy_latency = std::max(Time{0}, *beside - small_alone);
  }
  if (const auto large = of_tiles.worker_time()) {
    const CopyCost cost = copy_cost(of_small.size(), of_small.worker_time().value_or(Time{0}),
                                    of_tiles.size(), *large);
    disk.worker_overhead = cost.overhead;
    disk.worker_bandwidth = cost.bandwidth;
  }
}

MeasuredDisk measure_disk_beside(const KernelSet& set, std::uint32_t workers,
                                 std::span<const std::uint32_t> processors, const Options& options,
                                 Bytes copy) {
  const Time small_alone = small_copy_time(options, copy);
  RunningKernels kernels(set, workers, processors);
  MeasuredDisk disk = measure_disk(options, copy);
  const BytesPerSecond mean{(disk.read.value + disk.write.value) / 2};
  disk.latency = std::max(Time{0}, small_alone - duration(small_copy(copy), mean));
  measure_beside_kernels(options, copy, small_alone, kernels, disk);
  kernels.stop();
  return disk;
}

MeasuredLinks measure_links(const Options& options) {
  const auto links = drivers::measure_links(options.accelerators, options.accelerator_bandwidth);
  return {.accelerators = options.accelerators,
          .memory = options.accelerator_memory,
          .alone = links.alone,
          .together = links.together,
          .latency = links.latency};
}

std::uint32_t cpu_workers(const MachineDescription& machine) {
  return static_cast<std::uint32_t>(
      std::count_if(machine.workers.begin(), machine.workers.end(),
                    [](const auto& worker) { return worker.kind == ProcessorKind::cpu; }));
}

}  // namespace

Calibration calibrate(const Options& options, std::span<const KernelSet> kernels, Bytes copy,
                      const std::function<void(std::string_view)>& progress) {
  const auto processors =
      options.bind ? drivers::allowed_processors() : std::vector<std::uint32_t>{};
  Calibration result;
  result.name = host_name();
  result.processor = processor_name();
  result.memory = options.memory;
  result.workers = cpu_workers(Runtime(options).machine());  // refuses options that cannot be
  progress("what the runtime costs per task");
  measure_overheads(options, result);
  result.wake_latency = std::max(Time{0}, measure_wake(options) - result.task_overhead);
  if (!options.disk.empty()) {
    progress("disk");
    result.disk = kernels.empty() ? measure_disk(options, copy)
                                  : measure_disk_beside(kernels.front(), result.workers, processors,
                                                        options, copy);
  }
  if (options.accelerators > 0) {
    progress("links of emulated accelerators");
    result.links = measure_links(options);
  }
  OpenDevices devices(options);
  devices.measure_queues(progress);
  if (!kernels.empty()) {
    progress("kernels");
    devices.measure_kernels(kernels, result.workers, processors);
    devices.keep_busy_during(kernels, [&] {
      // The threads of emulated accelerators are bound to no core and run beside the workers.
      result.kernels = measure_busy(kernels, result.workers + options.accelerators, processors);
    });
  }
  result.devices = devices.measured();
  return result;
}

std::optional<Time> worker_time_per_copy(std::span<const BesideCopies> stretches) {
  std::vector<Time> lost;
  for (const auto& [alone, beside, copies] : stretches) {
    // No kernel ended in it, or no copy began.
    if (alone <= 0 || beside <= 0 || copies <= 0) continue;
    lost.push_back(Time::from_seconds((beside - alone) / copies));
  }
  if (lost.empty()) return std::nullopt;
  return std::max(Time{0}, median(std::move(lost)));
}

CopyCost copy_cost(Bytes small, Time of_small, Bytes large, Time of_large) {
  const auto part = [](Bytes a, Bytes b) {
    return static_cast<double>(a.value) / static_cast<double>(b.value);
  };
  const double slope =
      large > small ? (of_large - of_small).seconds() / (1 - part(small, large)) : 0;
  const double of_bytes = std::clamp(slope, 0.0, of_large.seconds());
  constexpr double kLeast = 1e-9;
  if (of_bytes < kLeast) return {of_large, {0}};
  return {Time::from_seconds(of_large.seconds() - of_bytes),
          {static_cast<double>(large.value) / of_bytes}};
}

std::vector<machine::SchedulingCost> measure_scheduling(const graph::Graph& graph,
                                                        const machine::MachineModel& machine) {
  constexpr int kRuns = 3;
  std::vector<machine::SchedulingCost> costs;
  for (const sched::PolicyEntry& policy : sched::policies()) {
    Options options{.policy = std::string(policy.name), .measure_scheduling = true};
    double least = std::numeric_limits<double>::max();
    for (int run = 0; run < kRuns; ++run) {
      least = std::min(least, play::play(graph, machine, options).last.scheduling.seconds());
    }
    costs.push_back({options.policy, least / static_cast<double>(graph.tasks().size())});
  }
  return costs;
}

}  // namespace vicinal::calibration
