// What was measured, as a machine file and for people.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/text.hpp"
#include "calibration/calibrate.hpp"
#include "calibration/contention_sweep.hpp"

namespace vicinal::calibration {

namespace {

// A machine file accepts nothing below.
constexpr double kLeastBandwidth = 1e3;
constexpr double kLeastFlopRate = 1e6;

// Spread of a kernel that nothing else disturbs: a tenth of that.
constexpr double kUnsteady = 0.25;

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return result + '"';
}

std::string toml_strings(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    list += list.empty() ? toml_string(name) : ", " + toml_string(name);
  }
  return "[" + list + "]";
}

std::string bandwidth(BytesPerSecond rate) {
  return fmt::format("\"{:.2f} MB/s\"", std::max(rate.value, kLeastBandwidth) / 1e6);
}

std::string time(Time time) {
  return fmt::format("\"{} ns\"", time.ns);
}

using Out = std::back_insert_iterator<std::string>;

// Each direction has its own bandwidth, as long as their sum does not exceed the joint bandwidth. Writes that go faster
// alone than beside reads are held to it: in a run they are seldom alone.
void write_disk(Out out, const MeasuredDisk& disk) {
  const BytesPerSecond most =
      disk.both.value > 0 ? std::max(disk.both, disk.read) : std::max(disk.read, disk.write);
  if (!disk.direct_io) {
    fmt::format_to(out, "\n# Through the page cache: the folder has no O_DIRECT.");
  }
  fmt::format_to(out, "\n[disk]\nread = {}\nwrite = {}\nlatency = {}\ncopies_in_flight = {}\n",
                 bandwidth(disk.read), bandwidth(disk.write), time(disk.latency), disk.copies);
  if (disk.first_write.value > 0) {
    fmt::format_to(out, "first_write = {}\n", bandwidth(disk.first_write));
  }
  if (disk.busy_latency.ns > 0) {
    fmt::format_to(out, "busy_latency = {}\n", time(disk.busy_latency));
  }
  if (disk.worker_bandwidth.value > 0) {
    fmt::format_to(out, "worker_bandwidth = {}\n", bandwidth(disk.worker_bandwidth));
  }
  fmt::format_to(out, "segments = [\"disk\"]\n\n# Both directions at once.\n");
  fmt::format_to(out, "[segment.disk]\nbandwidth = {}\nduplex = \"half\"\n", bandwidth(most));
}

void write_links(Out out, const Calibration& calibration) {
  const MeasuredLinks& links = *calibration.links;
  fmt::format_to(out, "\n# Emulated: threads of the host run the kernels of its cores.\n[gpu]\n");
  fmt::format_to(out, "most = {}\nmemory = \"{} B\"\ntask_overhead = {}\n", links.accelerators,
                 links.memory.value, time(calibration.task_overhead));
  fmt::format_to(out, "\n# All directions of all links at once.\n[segment.memory]\n");
  fmt::format_to(out, "bandwidth = {}\nduplex = \"half\"\n", bandwidth(links.together));
  const auto link = [&](std::string_view ends, std::string_view serialise) {
    fmt::format_to(out, "\n[[link]]\nbetween = [{}]\nbandwidth = {}\nlatency = {}\n", ends,
                   bandwidth(links.alone), time(links.latency));
    fmt::format_to(out, "segments = [\"memory\"]\nserialise = [{}]\n", serialise);
  };
  link(R"("ram", "gpu")", R"("same")");
  if (links.accelerators > 1) link(R"("gpu", "gpu")", R"("same", "arrivals")");
}

void write_speed(Out out, const std::vector<std::string>& names, std::string_view kind,
                 const MeasuredKernel& kernel) {
  fmt::format_to(
      out, "\n[[speed]]\nkernel = {}\nkind = \"{}\"\nprecision = {}\nrate = \"{:.3f} GFlop/s\"\n",
      toml_strings(names), kind, toml_string(kernel.precision),
      std::max(kernel.flops_per_second, kLeastFlopRate) / 1e9);
}

// Of a page beyond the time of its bytes, with copies before it on the queue where that hides some of it.
Time latency(const drivers::QueueTimes& page, BytesPerSecond rate) {
  return std::max(Time{0}, std::min(page.alone, page.each) - duration(4_KiB, rate));
}

// A worker's own time per task, and what the device's queue takes of it.
void write_device(Out out, const Calibration& calibration, const MeasuredDevice& device) {
  const drivers::LinkRates& rates = device.rates();
  const drivers::QueueMeasurements& queues = device.queues;
  const auto mean = [](Time a, Time b) { return Time{(a.ns + b.ns) / 2}; };
  fmt::format_to(out, "\n[[device]]\nname = {}\nkind = \"{}\"\nmemory = \"{} B\"\npipeline = {}\n",
                 toml_string(device.name), to_string(device.kind), device.memory.value,
                 device.tasks_in_flight);
  fmt::format_to(out, "task_overhead = {}\ncopy_overhead = {}\n",
                 time(calibration.task_overhead + queues.run.thread),
                 time(mean(queues.copy_in.thread, queues.copy_out.thread)));
  fmt::format_to(out, "in = {}\nout = {}\n", bandwidth(rates.in), bandwidth(rates.out));
  fmt::format_to(out, "both = {}\n", bandwidth(std::max({rates.both, rates.in, rates.out})));
  fmt::format_to(
      out, "latency = {}\nserialise = [\"same\"]\n",
      time(mean(latency(queues.copy_in, rates.in), latency(queues.copy_out, rates.out))));
}

// Of one kind of devices, the mean of theirs.
std::vector<MeasuredKernel> kernels_of(const Calibration& calibration, ProcessorKind kind) {
  std::vector<MeasuredKernel> kernels;
  double devices = 0;
  for (const MeasuredDevice& device : calibration.devices) {
    if (device.kind != kind) continue;
    ++devices;
    for (const MeasuredKernel& kernel : device.kernels) {
      const auto same = std::ranges::find_if(kernels, [&](const MeasuredKernel& other) {
        return other.names == kernel.names && other.precision == kernel.precision;
      });
      if (same == kernels.end()) {
        kernels.push_back(kernel);
      } else {
        same->flops_per_second += kernel.flops_per_second;
      }
    }
  }
  for (MeasuredKernel& kernel : kernels) kernel.flops_per_second /= devices;
  return kernels;
}

// Nothing is assumed of what has no implementation there.
void write_speeds_of_devices(Out out, const Calibration& calibration) {
  for (const ProcessorKind kind : {ProcessorKind::cuda, ProcessorKind::opencl}) {
    const auto kernels = kernels_of(calibration, kind);
    if (kernels.empty()) continue;
    fmt::format_to(out, "\n# Of a device, several on it at once, while the workers work.\n");
    for (const MeasuredKernel& kernel : kernels) {
      write_speed(out, kernel.names, to_string(kind), kernel);
    }
  }
}

// Of each precision the kernels, then the fastest for what has no name here.
void write_speeds(Out out, const Calibration& calibration, std::string_view kind) {
  for (const MeasuredKernel& kernel : calibration.kernels) {
    write_speed(out, kernel.names, kind, kernel);
  }
  std::vector<const MeasuredKernel*> fastest;
  for (const MeasuredKernel& kernel : calibration.kernels) {
    const auto same = std::find_if(fastest.begin(), fastest.end(), [&](const auto* other) {
      return other->precision == kernel.precision;
    });
    if (same == fastest.end()) {
      fastest.push_back(&kernel);
    } else if (kernel.flops_per_second > (*same)->flops_per_second) {
      *same = &kernel;
    }
  }
  if (!fastest.empty()) {
    fmt::format_to(out, "\n# Assumed: what was not measured is as fast as the fastest kernel.\n");
  }
  for (const MeasuredKernel* kernel : fastest) write_speed(out, {"*"}, kind, *kernel);
}

std::string rate_text(BytesPerSecond bytes) {
  return base::format_bytes({static_cast<std::uint64_t>(bytes.value)}) + "/s";
}

std::string kernel_text(const MeasuredKernel& kernel, const std::string& whose) {
  return fmt::format("{:<13} {:<7} {:8.2f} GFlop/s {}, spread {:.1f} %{}\n", kernel.names.front(),
                     kernel.precision, kernel.flops_per_second / 1e9, whose, 100 * kernel.spread,
                     kernel.spread > kUnsteady ? ": is the machine busy with something else?" : "");
}

std::string first_write(const MeasuredDisk& disk) {
  if (disk.first_write.value == 0) return {};
  return fmt::format(" (at first {})", rate_text(disk.first_write));
}

// What copies and kernels take from each other.
std::string worker_time(const MeasuredDisk& disk) {
  std::string text;
  if (disk.busy_latency.ns > 0) {
    text += fmt::format(", {} more while all cores work", base::format_duration(disk.busy_latency));
  }
  if (disk.worker_overhead.ns > 0) {
    text += fmt::format(", {} of a worker per copy", base::format_duration(disk.worker_overhead));
  }
  if (disk.worker_bandwidth.value > 0) {
    text += fmt::format(", {} of a worker per MiB",
                        base::format_duration(duration(1_MiB, disk.worker_bandwidth)));
  }
  return text;
}

}  // namespace

std::string device_text(const MeasuredDevice& device) {
  const drivers::QueueMeasurements& queues = device.queues;
  const auto rates = [](const char* of, const drivers::LinkRates& link) {
    return fmt::format("  {} memory: in {}, out {}, both at once {}\n", of, rate_text(link.in),
                       rate_text(link.out), rate_text(link.both));
  };
  const auto times = [](const char* of, const drivers::QueueTimes& time) {
    return fmt::format("  {}: {} alone, {} each of many, {} of the thread\n", of,
                       base::format_duration(time.alone), base::format_duration(time.each),
                       base::format_duration(time.thread));
  };
  return device.name + ":\n" + rates("unpinned", queues.plain) +
         (queues.pinned ? rates("pinned", *queues.pinned) : "") +
         times("a page in", queues.copy_in) + times("a page out", queues.copy_out) +
         times("an empty run", queues.run);
}

std::string machine_file(const Calibration& calibration, const std::string& sentence) {
  std::string text = "# Measured by vicinal calibrate on the machine itself.\n";
  const Out out(text);
  fmt::format_to(out, "name = {}\nsentence = {}\n", toml_string(calibration.name),
                 toml_string(sentence.empty() ? fmt::format("{} workers of {}", calibration.workers,
                                                            calibration.processor)
                                              : sentence));
  fmt::format_to(out, "submit_overhead = {}\n", time(calibration.submit_overhead));
  if (calibration.memory) {
    fmt::format_to(out, "\n[ram]\nlimit = \"{} B\"\n", calibration.memory->value);
  }
  fmt::format_to(out, "\n[cpu]\nmost = {}\ntask_overhead = {}\n", calibration.workers,
                 time(calibration.task_overhead));
  if (calibration.disk && calibration.disk->worker_overhead.ns > 0) {
    fmt::format_to(out, "copy_overhead = {}\n", time(calibration.disk->worker_overhead));
  }
  if (calibration.wake_latency.ns > 0) {
    fmt::format_to(out, "wake_latency = {}\n", time(calibration.wake_latency));
  }
  if (calibration.disk) write_disk(out, *calibration.disk);
  if (calibration.links) write_links(out, calibration);
  for (const MeasuredDevice& device : calibration.devices) write_device(out, calibration, device);
  if (calibration.contention) {
    fmt::format_to(out, "\n# Contention between computations and transfers.\n{}",
                   contention_tables(*calibration.contention));
  }
  if (!calibration.kernels.empty()) {
    fmt::format_to(out, "\n# Kernels: of one worker while all of them work.\n");
  }
  write_speeds(out, calibration, "cpu");
  if (calibration.links) write_speeds(out, calibration, "gpu");
  write_speeds_of_devices(out, calibration);
  if (!calibration.scheduling.empty()) {
    fmt::format_to(out, "\n# Policies, per task: for --count-scheduling.\n");
  }
  for (const machine::SchedulingCost& cost : calibration.scheduling) {
    fmt::format_to(out, "\n[[scheduling]]\npolicy = {}\ntime = {}\n", toml_string(cost.policy),
                   time(Time::from_seconds(cost.seconds)));
  }
  return text;
}

std::string calibration_text(const Calibration& calibration) {
  std::string text;
  const Out out(text);
  fmt::format_to(out, "{}: {} workers, {}\n", calibration.name, calibration.workers,
                 calibration.processor);
  fmt::format_to(out, "per task: {} to submit it, {} of a worker, {} more if it sleeps\n",
                 base::format_duration(calibration.submit_overhead),
                 base::format_duration(calibration.task_overhead),
                 base::format_duration(calibration.wake_latency));
  if (const auto& disk = calibration.disk) {
    fmt::format_to(out, "disk: read {}, write {}{}, both at once {}, latency {}{}{}\n",
                   rate_text(disk->read), rate_text(disk->write), first_write(*disk),
                   rate_text(disk->both), base::format_duration(disk->latency), worker_time(*disk),
                   disk->direct_io ? "" : ", through the page cache");
  }
  if (const auto& links = calibration.links) {
    fmt::format_to(out, "links of {} emulated accelerators: one {}, all {}, latency {}\n",
                   links->accelerators, rate_text(links->alone), rate_text(links->together),
                   base::format_duration(links->latency));
  }
  for (const MeasuredDevice& device : calibration.devices) text += device_text(device);
  for (const MeasuredKernel& kernel : calibration.kernels) {
    text += kernel_text(kernel, "per worker");
  }
  for (const MeasuredDevice& device : calibration.devices) {
    for (const MeasuredKernel& kernel : device.kernels) {
      text += kernel_text(kernel, "on " + device.name);
    }
  }
  for (const machine::SchedulingCost& cost : calibration.scheduling) {
    fmt::format_to(out, "{:<8} {} per task\n", cost.policy,
                   base::format_duration(Time::from_seconds(cost.seconds)));
  }
  return text;
}

}  // namespace vicinal::calibration
