#include "calibration/interference/experiments.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::interference {

namespace {

constexpr std::array kExperiments{
    Experiment{"frequency", "5.2.1", "Does the frequency of the core change the transfer?",
               Axis::number},
    Experiment{"primes", "5.2.2", "Do cores that compute without memory change the transfer?",
               Axis::cores},
    Experiment{"wide-vectors", "5.2.3", "Do cores that use wide vectors change the transfer?",
               Axis::cores},
    Experiment{"contention", "5.3.2", "How many cores that use memory does a transfer bear?",
               Axis::cores},
    Experiment{"mix", "", "Which reads, writes and stores weigh most?", Axis::kernel},
    Experiment{"placement", "5.3.3", "On which NUMA nodes should data and thread be?",
               Axis::placement},
    Experiment{"message-size", "5.3.4",
               "From which size on do transfers and computation disturb each other?", Axis::bytes},
    Experiment{"intensity", "5.3.5", "Up to which arithmetic intensity do they?", Axis::intensity},
    Experiment{"runtime-overhead", "5.4.1", "What do the runtime's layers add to a message?",
               Axis::number},
    Experiment{"runtime-placement", "5.4.2", "The same placements beside a runtime's workers.",
               Axis::placement},
    Experiment{"polling", "5.4.3", "What do workers that wait for tasks cost a transfer?",
               Axis::kernel},
    Experiment{"parts", "", "What do the runtime's own threads and recording cost a computation?",
               Axis::kernel},
    Experiment{"applications", "5.5", "And real kernels?", Axis::cores},
    Experiment{"model-local", "6.3.1",
               "The sweep of the contention model, data on the cores' own socket.", Axis::cores},
    Experiment{"model-remote", "6.3.1",
               "The sweep of the contention model, data on the next socket.", Axis::cores},
};

std::string_view main_transfer(const MachineFacts& machine) {
  return machine.ranks > 1 ? "ranks" : "memory";
}

std::uint64_t large_bytes(Effort effort) {
  return (effort == Effort::quick ? Bytes{4_MiB} : Bytes{16_MiB}).value;
}

// 1 to `most`, all of few, else evenly spread with the first and the last ones.
std::vector<std::uint32_t> counts_to(std::uint32_t most, std::size_t few) {
  std::vector<std::uint32_t> counts;
  for (std::size_t i = 0; i < few; ++i) {
    const auto count = most <= few ? static_cast<std::uint32_t>(i + 1)
                                   : static_cast<std::uint32_t>(1 + i * (most - 1) / (few - 1));
    if (count <= most && (counts.empty() || count > counts.back())) counts.push_back(count);
  }
  return counts;
}

// With a core of its own for the transfer; at last all cores.
std::vector<std::uint32_t> core_counts(const MachineFacts& machine, Effort effort) {
  std::vector<std::uint32_t> counts =
      counts_to(most_computing(machine), effort == Effort::quick ? 4 : 12);
  counts.push_back(static_cast<std::uint32_t>(machine.cores.size()));
  return counts;
}

std::uint32_t many_cores(const MachineFacts& machine) {
  return std::max(1U, most_computing(machine));
}

bool has_kernel(const MachineFacts& machine, std::string_view kernel) {
  return std::find(machine.kernels.begin(), machine.kernels.end(), kernel) != machine.kernels.end();
}

struct Plan {
  const MachineFacts& machine;
  const Effort effort;
  Point base;
  std::vector<Point> points = {};

  void add(std::string_view kernel, std::string_view transfer, std::uint32_t cores,
           std::uint64_t bytes) {
    Point point = base;
    point.kernel = kernel;
    point.transfer = transfer;
    point.cores = cores;
    point.bytes = bytes;
    points.push_back(std::move(point));
  }
  void add_both(std::string_view kernel, std::string_view transfer, std::uint32_t cores) {
    add(kernel, transfer, cores, kLatencyBytes);
    add(kernel, transfer, cores, large_bytes(effort));
  }
  // Latency and bandwidth against cores, curve by curve.
  void add_curves(std::string_view kernel, std::string_view transfer) {
    for (const std::uint64_t bytes : {kLatencyBytes, large_bytes(effort)}) {
      for (const std::uint32_t cores : core_counts(machine, effort)) {
        add(kernel, transfer, cores, bytes);
      }
    }
  }
};

void plan_contention(Plan& plan) {
  const std::string_view transfer = main_transfer(plan.machine);
  plan.add_curves("triad", transfer);
  if (plan.effort == Effort::usual) plan.add_curves("copy", transfer);
  if (transfer != "memory") plan.add_curves("triad", "memory");
  if (plan.machine.has_disk) plan.add_curves("triad", "disk");
  if (plan.machine.has_device) plan.add_curves("triad", "device");
}

void plan_placement(Plan& plan, std::string_view kernel, bool is_small) {
  if (plan.machine.nodes < 2) return;
  const std::uint32_t far = plan.machine.nodes - 1;
  for (const std::uint32_t data : {0U, far}) {
    for (const std::uint32_t thread : {0U, far}) {
      plan.base.computation_node = plan.base.transfer_node = data;
      plan.base.thread_node = thread;
      const std::string_view transfer = main_transfer(plan.machine);
      if (is_small) {
        plan.add(kernel, transfer, many_cores(plan.machine), kLatencyBytes);
      } else {
        plan.add_both(kernel, transfer, many_cores(plan.machine));
      }
    }
  }
}

void plan_sizes(Plan& plan) {
  std::vector<std::uint32_t> counts{many_cores(plan.machine)};
  if (counts.front() > 5) counts.insert(counts.begin(), 5);
  for (const std::uint32_t cores : counts) {
    for (std::uint64_t bytes = 4; bytes <= large_bytes(plan.effort);
         bytes *= plan.effort == Effort::quick ? 64 : 8) {
      plan.add("triad", main_transfer(plan.machine), cores, bytes);
    }
  }
}

void plan_intensity(Plan& plan) {
  const std::uint32_t step = plan.effort == Effort::quick ? 8 : 4;
  for (const std::uint64_t bytes : {kLatencyBytes, large_bytes(plan.effort)}) {
    for (std::uint32_t repeats = 1; repeats <= 1024; repeats *= step) {
      plan.base.repeats = repeats;
      plan.add("triad", main_transfer(plan.machine), many_cores(plan.machine), bytes);
    }
  }
}

void plan_mix(Plan& plan) {
  for (const std::string_view kernel :
       {"read", "triad", "copy", "write", "copy-streaming", "write-streaming"}) {
    if (kernel.ends_with("streaming") && !plan.machine.has_streaming_stores) continue;
    plan.add(kernel, main_transfer(plan.machine), many_cores(plan.machine),
             large_bytes(plan.effort));
  }
}

void plan_parts(Plan& plan) {
  const auto all = static_cast<std::uint32_t>(plan.machine.cores.size());
  for (const std::string_view part : {"idle-workers", "progress-thread"}) {
    plan.add("primes", part, all, 0);
  }
  plan.add("tasks", "recording", many_cores(plan.machine), 0);
}

// All numbers of cores of the first socket that leave the transfer its own.
void plan_model(Plan& plan, std::uint32_t node) {
  plan.base.computation_node = plan.base.transfer_node = node;
  const std::uint32_t most = std::min(plan.machine.cores_of_socket(), most_computing(plan.machine));
  for (const std::uint32_t cores : counts_to(most, plan.effort == Effort::quick ? 8 : 256)) {
    plan.add(plan.machine.has_streaming_stores ? "write-streaming" : "write",
             main_transfer(plan.machine), cores, large_bytes(plan.effort));
  }
}

std::uint32_t first_node_of_next_socket(const MachineFacts& machine) {
  for (const MachineFacts::Core& core : machine.cores) {
    if (core.socket == 1) return core.node;
  }
  return 0;
}

}  // namespace

double intensity_of(const Point& point) {
  constexpr double kBytes = 24;
  constexpr double kFlops = 2;
  return kFlops * point.repeats / kBytes;
}

std::span<const Experiment> experiments() {
  return kExperiments;
}

const Experiment& experiment_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Experiment& experiment : kExperiments) {
    if (experiment.name == name) return experiment;
    names.push_back(experiment.name);
  }
  const std::string_view meant = base::nearest(name, names);
  throw UsageError(fmt::format(
      "there is no experiment \"{}\"{}", name,
      meant.empty() ? "; --list names them" : fmt::format("; did you mean {}?", meant)));
}

std::vector<Point> points_of(const Experiment& experiment, const MachineFacts& machine,
                             Effort effort) {
  if (!why_not(experiment, machine).empty()) return {};
  Plan plan{.machine = machine, .effort = effort, .base = {}};
  plan.base.experiment = experiment.name;
  const std::string_view name = experiment.name;
  const std::string_view transfer = main_transfer(machine);
  if (name == "frequency") {
    for (std::uint32_t i = 0; i < 4; ++i) {
      plan.base.number = i;
      plan.add_both("none", transfer, 0);
    }
  } else if (name == "primes") {
    plan.add_curves("primes", transfer);
  } else if (name == "wide-vectors") {
    plan.add_curves("wide", transfer);
  } else if (name == "contention") {
    plan_contention(plan);
  } else if (name == "mix") {
    plan_mix(plan);
  } else if (name == "placement") {
    plan_placement(plan, "triad", false);
  } else if (name == "message-size") {
    plan_sizes(plan);
  } else if (name == "intensity") {
    plan_intensity(plan);
  } else if (name == "runtime-overhead") {
    plan.add("none", "runtime-layers", 0, kLatencyBytes);
  } else if (name == "runtime-placement") {
    plan_placement(plan, "own-workers", true);
  } else if (name == "polling") {
    for (const std::string_view kernel :
         {"poll-hard", "poll-softly", "poll-rarely", "own-workers"}) {
      plan.add(kernel, transfer, many_cores(machine), kLatencyBytes);
    }
  } else if (name == "parts") {
    plan_parts(plan);
  } else if (name == "applications") {
    for (const std::string_view kernel : {"gemm", "cg"}) {
      if (!has_kernel(machine, kernel)) continue;
      for (const std::uint32_t cores : core_counts(machine, effort)) {
        plan.add(kernel, transfer, cores, large_bytes(effort));
      }
    }
  } else if (name == "model-local") {
    plan_model(plan, 0);
  } else if (name == "model-remote") {
    plan_model(plan, first_node_of_next_socket(machine));
  }
  return plan.points;
}

std::string why_not(const Experiment& experiment, const MachineFacts& machine) {
  const std::string_view name = experiment.name;
  if (name == "frequency" && machine.frequencies == MachineFacts::Frequencies::none) {
    return "This machine cannot show it: its system does not say at which frequency cores run.";
  }
  if (name == "wide-vectors" && !machine.has_wide_vectors) {
    return "This machine cannot show it: its cores have no AVX2 or AVX-512.";
  }
  if ((name == "placement" || name == "runtime-placement") && machine.nodes < 2) {
    return "This machine cannot show it: its cores have a single NUMA node.";
  }
  if (name == "model-remote" && machine.sockets < 2) {
    return "This machine cannot show it: its cores are of a single socket.";
  }
  if (name.starts_with("model") && most_computing(machine) == 0) {
    return "This machine cannot show it: no core is left beside that of the transfer.";
  }
  return {};
}

std::string shortcoming(const Experiment& experiment, const MachineFacts& machine) {
  if (experiment.axis == Axis::cores && most_computing(machine) < 3) {
    const std::uint32_t most = most_computing(machine);
    return most == 0 ? "On a single core computation and transfer take turns: what is seen is that "
                       "alone."
                     : fmt::format(
                           "Only {} core{} can compute while the transfer has its own: a "
                           "curve needs more.",
                           most, most == 1 ? "" : "s");
  }
  if (experiment.name == "frequency" && machine.frequencies == MachineFacts::Frequencies::nominal) {
    return "There is no cpufreq: /proc/cpuinfo may name a constant.";
  }
  return {};
}

std::string_view transfer_words(std::string_view transfer) {
  if (transfer == "memory") return "copies in memory";
  if (transfer == "ranks") return "messages between two ranks";
  if (transfer == "disk") return "copies to and from the disk";
  if (transfer == "device") return "copies to and from the device";
  if (transfer == "runtime-layers") return "messages between two ranks of one process";
  if (transfer == "idle-workers") return "idle workers";
  if (transfer == "progress-thread") return "an idle progress thread";
  if (transfer == "recording") return "recording";
  return transfer;
}

std::string_view kernel_words(std::string_view kernel) {
  if (kernel == "primes") return "counting primes";
  if (kernel == "wide") return "wide vectors";
  if (kernel == "copy-streaming") return "copying by non-temporal stores";
  if (kernel == "write-streaming") return "writing by non-temporal stores";
  if (kernel == "read") return "reading";
  if (kernel == "write") return "writing";
  if (kernel == "copy") return "copying";
  if (kernel == "poll-hard") return "workers that poll hard";
  if (kernel == "poll-softly") return "workers that poll softly";
  if (kernel == "poll-rarely") return "workers that poll rarely";
  if (kernel == "own-workers") return "the runtime's idle workers";
  if (kernel == "cg") return "CG's product";
  return kernel;
}

}  // namespace vicinal::interference
