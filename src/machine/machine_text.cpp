// Reads the keys of a machine file. What each means is in docs/machine-file.md.
#include "machine/machine_text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/text.hpp"
#include "machine/contention_text.hpp"
#include "machine/toml_guard.hpp"
#include "machine/toml_reader.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

constexpr std::uint32_t kMostInFlight = 1024;
constexpr std::uint32_t kMostPipeline = 1024;
constexpr std::size_t kMostSegments = 64;
constexpr std::size_t kMostByKernels = 4096;
constexpr double kMostDemand = 1e15;
constexpr double kLeastDemand = 1e3;  // of a kernel that draws
constexpr std::array kDeviceKinds{ProcessorKind::cuda, ProcessorKind::opencl};
constexpr std::array kKinds{ProcessorKind::cpu, ProcessorKind::gpu, ProcessorKind::cuda,
                            ProcessorKind::opencl};

bool read_half_duplex(const TomlTable& table) {
  const auto found = table.find("duplex");
  return found && found->word({"full", "half"}) == 1;
}

std::uint32_t read_segment(const TomlValue& value, const MachineText& machine) {
  const std::string name = value.text();
  std::vector<std::string_view> known;
  for (const auto& segment : machine.segments) known.push_back(segment.name);
  const auto found = std::find(known.begin(), known.end(), name);
  if (found != known.end()) return static_cast<std::uint32_t>(found - known.begin());
  const auto near = base::nearest(name, known);
  value.refuse(fmt::format("there is no [segment.{}]{}", name,
                           near.empty() ? "" : fmt::format(": did you mean \"{}\"?", near)));
}

std::vector<std::uint32_t> read_segments(const TomlTable& table, std::string_view key,
                                         const MachineText& machine) {
  std::vector<std::uint32_t> segments;
  const auto names = table.find(key);
  if (!names) return segments;
  for (const auto& item : names->items()) {
    const std::uint32_t segment = read_segment(item, machine);
    if (std::count(segments.begin(), segments.end(), segment) > 0) {
      item.refuse("a segment is named twice");
    }
    segments.push_back(segment);
  }
  return segments;
}

// What kernels draw on. `gpus`: they are those of GPUs, each of which may hang on a part of a segment.
std::vector<std::uint32_t> read_draws_on(const TomlTable& table, const MachineText& machine,
                                         bool gpus) {
  std::vector<std::uint32_t> segments = read_segments(table, "draws_on", machine);
  for (const std::uint32_t number : segments) {
    const SegmentText& segment = machine.segments[number];
    if (!segment.half_duplex) {
      table.value("draws_on")
          .refuse(fmt::format("\"{}\" has a bandwidth for each direction, and kernels draw on one "
                              "for both: write duplex = \"half\" in [segment.{}]",
                              segment.name, segment.name));
    }
    if (!gpus && !segment.part_of_gpu.empty()) {
      table.value("draws_on")
          .refuse(fmt::format("\"{}\" has a part for each GPU, and none for other workers",
                              segment.name));
    }
  }
  return segments;
}

RouteText read_route(const TomlTable& table, const MachineText& machine) {
  RouteText route;
  route.latency = table.time_or_zero("latency");
  if (const auto copies = table.find("copies_in_flight")) {
    route.copies_in_flight = copies->count(1, kMostInFlight);
  }
  route.half_duplex = read_half_duplex(table);
  route.segments = read_segments(table, "segments", machine);
  if (const auto rules = table.find("serialise")) {
    for (const auto& item : rules->items()) {
      const std::size_t rule = item.word({"same", "reverse", "arrivals"});
      if (rule == 0) route.serialise_same = true;
      if (rule == 1) route.serialise_reverse = true;
      if (rule == 2) route.serialise_arrivals = true;
    }
  }
  return route;
}

// Of what is no GPU and no link between GPUs.
RouteText read_route_of(const TomlTable& table, const MachineText& machine, const char* whose) {
  RouteText route = read_route(table, machine);
  for (const std::uint32_t segment : route.segments) {
    if (machine.segments[segment].part_of_gpu.empty()) continue;
    table.value("segments")
        .refuse(fmt::format("\"{}\" has a part for each GPU, and none for {}",
                            machine.segments[segment].name, whose));
  }
  if (route.serialise_arrivals) {
    table.value("serialise").refuse("\"arrivals\" is for a link between GPUs");
  }
  return route;
}

void read_workers_by_default(const TomlTable& table, std::uint32_t most,
                             std::optional<std::uint32_t>& by_default) {
  if (const auto value = table.find("by_default")) by_default = value->count(0, most);
}

CpuText read_cpu(const TomlTable& table) {
  table.allow({"most", "by_default", "drive_gpus", "task_overhead", "copy_overhead", "wake_latency",
               "draws_on"});
  CpuText cpu;
  cpu.most = table.value("most").count(0, kMostCpuWorkers);
  read_workers_by_default(table, cpu.most, cpu.by_default);
  if (const auto drive = table.find("drive_gpus")) cpu.drive_gpus = drive->flag();
  cpu.task_overhead = table.time_or_zero("task_overhead");
  cpu.copy_overhead = table.time_or_zero("copy_overhead");
  cpu.wake_latency = table.time_or_zero("wake_latency");
  return cpu;
}

// Of the thread that drives an accelerator.
template <typename Text>
void read_driving(const TomlTable& table, Text& text) {
  text.line = table.line();
  text.memory = table.value("memory").memory();
  if (const auto pipeline = table.find("pipeline")) {
    text.pipeline = pipeline->count(1, kMostPipeline);
  }
  text.task_overhead = table.time_or_zero("task_overhead");
  text.copy_overhead = table.time_or_zero("copy_overhead");
}

GpuText read_gpu(const TomlTable& table) {
  table.allow(
      {"most", "by_default", "memory", "pipeline", "task_overhead", "copy_overhead", "draws_on"});
  GpuText gpu;
  gpu.most = table.value("most").count(1, kMostGpus);
  read_workers_by_default(table, gpu.most, gpu.by_default);
  read_driving(table, gpu);
  return gpu;
}

// What depends on who draws.
void read_drawing(const TomlTable& table, SegmentText& segment) {
  const auto up_to_bandwidth = [&](const TomlValue& value) {
    const BytesPerSecond bandwidth = value.bandwidth();
    if (bandwidth > segment.bandwidth) value.refuse("it is more than \"bandwidth\"");
    return bandwidth;
  };
  if (const auto copies = table.find("for_copies")) segment.for_copies = up_to_bandwidth(*copies);
  const auto by_kernels = table.find("by_kernels");
  if (!by_kernels) return;
  for (const auto& item : by_kernels->items()) {
    if (segment.by_kernels.size() == kMostByKernels) item.refuse("there are more than 4096");
    segment.by_kernels.push_back(up_to_bandwidth(item));
  }
}

SegmentText read_segment(const TomlTable::Named& named, const MachineText& machine) {
  const TomlTable& table = named.table;
  table.allow({"bandwidth", "duplex", "part_of_gpu", "by_kernels", "for_copies"});
  SegmentText segment;
  segment.name = named.name;
  segment.bandwidth = table.value("bandwidth").bandwidth();
  segment.half_duplex = read_half_duplex(table);
  read_drawing(table, segment);
  const auto parts = table.find("part_of_gpu");
  if (!parts) return segment;
  for (const auto& item : parts->items()) {
    segment.part_of_gpu.push_back(item.count(0, kMostGpus - 1));
  }
  const std::size_t gpus = machine.gpu ? machine.gpu->most : 0;
  if (segment.part_of_gpu.size() != gpus) {
    parts->refuse(fmt::format("expected one number for each of the {} GPUs", gpus));
  }
  return segment;
}

DiskText read_disk(const TomlTable& table, const MachineText& machine) {
  table.allow({"limit", "read", "write", "first_write", "worker_bandwidth", "latency",
               "busy_latency", "copies_in_flight", "duplex", "segments", "serialise"});
  DiskText disk;
  if (const auto limit = table.find("limit")) disk.limit = limit->memory();
  disk.read = table.value("read").bandwidth();
  const auto write = table.find("write");
  disk.write = write ? write->bandwidth() : disk.read;
  if (const auto worker = table.find("worker_bandwidth")) {
    disk.worker_bandwidth = worker->bandwidth();
  }
  if (const auto first = table.find("first_write")) disk.first_write = first->bandwidth();
  disk.busy_latency = table.time_or_zero("busy_latency");
  disk.route = read_route_of(table, machine, "the disk");
  return disk;
}

DeviceText read_device(const TomlTable& table, const MachineText& machine) {
  table.allow({"name", "kind", "memory", "pipeline", "task_overhead", "copy_overhead", "draws_on",
               "in", "out", "both", "latency", "copies_in_flight", "segments", "serialise"});
  DeviceText device;
  device.name = base::legible_name(table.value("name").text());
  device.kind = kDeviceKinds[table.value("kind").word({"cuda", "opencl"})];
  read_driving(table, device);
  device.draws_on = read_draws_on(table, machine, false);
  device.in = table.value("in").bandwidth();
  device.out = table.value("out").bandwidth();
  if (const auto both = table.find("both")) device.both = both->bandwidth();
  device.route = read_route_of(table, machine, "this device");
  if (machine.devices.size() + (machine.gpu ? machine.gpu->most : 0) == kMostGpus) {
    table.refuse("there are more than 62 GPUs and devices");
  }
  return device;
}

End read_end(const TomlValue& value) {
  return value.word({"ram", "gpu"}) == 0 ? End::ram : End::gpu;
}

void read_ends(const TomlTable& table, LinkText& link) {
  link.both_directions = table.has("between");
  if (link.both_directions) {
    if (table.has("from") || table.has("to"))
      table.refuse("has \"between\" and \"from\" or \"to\"");
    const auto ends = table.value("between").items();
    if (ends.size() != 2)
      table.value("between").refuse("expected two ends, as in [\"ram\", \"gpu\"]");
    link.from = read_end(ends[0]);
    link.to = read_end(ends[1]);
  } else {
    if (!table.has("from") && !table.has("to")) {
      table.refuse("lacks the key \"between\", or \"from\" and \"to\"");
    }
    link.from = read_end(table.value("from"));
    link.to = read_end(table.value("to"));
  }
  if (link.from == End::ram && link.to == End::ram) table.refuse("joins RAM to itself");
}

void read_pairs(const TomlTable& table, std::uint32_t gpus, LinkText& link) {
  const auto value = table.find("pairs");
  if (!value) return;
  if (link.from != End::gpu || link.to != End::gpu) value->refuse("is for a link between GPUs");
  link.pairs.emplace();
  for (const auto& item : value->items()) {
    const auto ends = item.items();
    if (ends.size() != 2) item.refuse("expected two indices of GPUs, as in [0, 1]");
    const std::pair pair{ends[0].count(0, gpus - 1), ends[1].count(0, gpus - 1)};
    if (pair.first == pair.second) item.refuse("joins a GPU to itself");
    link.pairs->push_back(pair);
  }
}

LinkText read_link(const TomlTable& table, const MachineText& machine) {
  table.allow({"between", "from", "to", "pairs", "bandwidth", "latency", "copies_in_flight",
               "duplex", "segments", "serialise"});
  if (!machine.gpu) table.refuse("leads to a GPU, and there is no [gpu]");
  LinkText link;
  link.line = table.line();
  read_ends(table, link);
  read_pairs(table, machine.gpu->most, link);
  link.bandwidth = table.value("bandwidth").bandwidth();
  link.route = read_route(table, machine);
  if (link.route.half_duplex && !link.both_directions) {
    table.value("duplex").refuse("\"half\" needs both directions: write \"between\"");
  }
  if (link.route.serialise_arrivals && (link.from != End::gpu || link.to != End::gpu)) {
    table.value("serialise").refuse("\"arrivals\" is for a link between GPUs");
  }
  return link;
}

void read_speed(const TomlTable& table, std::vector<KernelSpeed>& speeds) {
  table.allow({"kernel", "precision", "kind", "rate", "time", "demand", "intensity"});
  KernelSpeed speed;
  speed.kind = kKinds[table.value("kind").word({"cpu", "gpu", "cuda", "opencl"})];
  if (const auto precision = table.find("precision")) {
    speed.precision = precision->word({"float", "double"}) == 0 ? "float" : "double";
  }
  if (table.has("rate") == table.has("time")) table.refuse("needs either \"rate\" or \"time\"");
  if (const auto rate = table.find("rate")) speed.flops_per_second = rate->flop_rate();
  if (const auto time = table.find("time")) speed.seconds = time->seconds();
  if (const auto demand = table.find("demand")) {
    speed.demand = demand->bandwidth();
    if (speed.demand.value > kMostDemand) demand->refuse("it is more than 1000 TB/s");
  }
  if (const auto intensity = table.find("intensity")) {
    if (!table.has("rate")) intensity->refuse("it needs \"rate\"");
    if (table.has("demand")) intensity->refuse("\"demand\" says it already");
    constexpr double kMostIntensity = 1e6;
    speed.demand = {speed.flops_per_second / intensity->number(1e-3, kMostIntensity)};
    if (speed.demand.value < kLeastDemand) speed.demand = {};
    if (speed.demand.value > kMostDemand) intensity->refuse("the demand is more than 1000 TB/s");
  }
  const TomlValue kernel = table.value("kernel");
  const auto kernels = kernel.is_list() ? kernel.items() : std::vector{kernel};
  if (kernels.empty()) kernel.refuse("it is empty");
  for (const auto& item : kernels) {
    speed.kernel = item.text();
    speeds.push_back(speed);
  }
}

PageFaults read_faults(const TomlTable& table) {
  table.allow({"fault", "bytes"});
  return {table.value("fault").time(), table.value("bytes").bytes()};
}

// A file that names the machine of its hosts describes none.
void allow_keys(const TomlTable& root) {
  const auto cluster = root.table("cluster");
  if (cluster && cluster->has("machine")) {
    for (const auto* key : {"submit_overhead", "synchronous", "ram", "disk", "cpu", "gpu", "device",
                            "segment", "link", "speed", "scheduling", "unified_memory"}) {
      if (!root.has(key)) continue;
      cluster->value("machine").refuse(fmt::format(
          "each host is that machine, and \"{}\" of this file is of none: leave out one of them",
          key));
    }
  }
  root.allow({"name", "sentence", "submit_overhead", "synchronous", "ram", "disk", "cpu", "gpu",
              "device", "segment", "link", "speed", "scheduling", "unified_memory", "cluster",
              "contention"});
}

MachineText read(const TomlTable& root, const std::string& origin) {
  allow_keys(root);
  MachineText machine;
  machine.origin = origin;
  machine.name = base::legible_name(root.value("name").text());
  machine.sentence = base::legible_name(root.value("sentence").text());
  machine.submit_overhead = root.time_or_zero("submit_overhead");
  if (const auto names = root.find("synchronous")) {
    for (const auto& item : names->items()) machine.synchronous.push_back(item.text());
  }
  if (const auto ram = root.table("ram")) {
    ram->allow({"limit"});
    if (const auto limit = ram->find("limit")) machine.ram_limit = limit->memory();
  }
  if (const auto cluster = root.table("cluster")) machine.cluster = read_cluster(*cluster);
  if (const auto faults = root.table("unified_memory")) machine.faults = read_faults(*faults);
  if (const auto contention = root.table("contention")) {
    machine.contention = read_contention(*contention, origin);
  }
  if (const auto cpu = root.table("cpu")) machine.cpu = read_cpu(*cpu);
  if (const auto gpu = root.table("gpu")) machine.gpu = read_gpu(*gpu);
  for (const auto& named : root.named_tables("segment")) {
    machine.segments.push_back(read_segment(named, machine));
    if (machine.segments.size() > kMostSegments)
      named.table.refuse("there are more than 64 segments");
  }
  if (const auto cpu = root.table("cpu"))
    machine.cpu.draws_on = read_draws_on(*cpu, machine, false);
  if (const auto gpu = root.table("gpu"))
    machine.gpu->draws_on = read_draws_on(*gpu, machine, true);
  if (const auto disk = root.table("disk")) machine.disk = read_disk(*disk, machine);
  for (const auto& device : root.tables("device")) {
    machine.devices.push_back(read_device(device, machine));
  }
  for (const auto& link : root.tables("link")) machine.links.push_back(read_link(link, machine));
  for (const auto& speed : root.tables("speed")) read_speed(speed, machine.speeds);
  for (const auto& cost : root.tables("scheduling")) {
    cost.allow({"policy", "time"});
    machine.scheduling.push_back({cost.value("policy").text(), cost.value("time").seconds()});
  }
  return machine;
}

toml::table parse_toml(std::string_view text, const std::string& origin) {
  if (const auto line = line_of_nameless_header(text)) {
    throw UsageError(fmt::format("{}:{}: a name must follow \"[\", as in [gpu]", origin, *line));
  }
  if (const auto line = line_of_too_many_names(text)) {
    throw UsageError(
        fmt::format("{}:{}: more than {} names with dots between them, as in "
                    "[segment.bridge]; no key of a machine file has so many",
                    origin, *line, kMostDottedNames));
  }
  try {
    return toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    throw UsageError(fmt::format("{}:{}: {}", origin, error.source().begin.line,
                                 base::legible_name(error.description())));
  }
}

}  // namespace

MachineText read_machine_text(std::string_view text, const std::string& origin) {
  const toml::table table = parse_toml(text, origin);
  return read(TomlTable(origin, table, "a machine file", 1), origin);
}

}  // namespace vicinal::machine
