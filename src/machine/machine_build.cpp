// Puts a machine together for a number of GPUs: nodes, workers, links, and what links share.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "machine/machine_text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

class Builder {
 public:
  Builder(const MachineText& text, const MachineChoice& choice) : text_(text), choice_(choice) {}

  MachineDescription build() {
    choose_workers();
    add_nodes();
    add_workers();
    add_disk_links();
    add_gpu_links();
    add_device_links();
    add_draws();
    serialise();
    machine_.submit_overhead = text_.submit_overhead;
    machine_.faults = text_.faults;
    return std::move(machine_);
  }

 private:
  using Ends = std::pair<std::uint32_t, std::uint32_t>;  // nodes: from, to

  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError(fmt::format("{}: {}", text_.origin, why));
  }
  [[noreturn]] void refuse(std::uint32_t line, const std::string& why) const {
    throw UsageError(fmt::format("{}:{}: {}", text_.origin, std::max(line, 1U), why));
  }

  void choose_workers();
  void add_nodes();
  void add_workers();
  void choose_devices();
  void refuse_too_many(std::string_view kind, std::size_t there, std::uint32_t asked) const;
  void add_disk_links();
  void add_device_links();
  void add_gpu_links();
  const std::vector<std::uint32_t>& draws_on(std::uint32_t node) const;
  void add_draws();
  void resolve(const LinkText& link, std::map<Ends, const LinkText*>& found) const;
  void resolve_one(Ends ends, const LinkText& link, std::map<Ends, const LinkText*>& found) const;
  void add_link(Ends ends, BytesPerSecond bandwidth, const RouteText& route,
                BytesPerSecond half_duplex_bandwidth);
  std::vector<std::uint32_t> segments_of(Ends ends, const RouteText& route,
                                         BytesPerSecond half_duplex_bandwidth);
  void pass(std::uint32_t segment, Ends ends, std::vector<std::uint32_t>& passed);
  std::uint32_t part(std::uint32_t segment, std::uint32_t part, bool towards_ram);
  std::uint32_t shared_by_both_directions(Ends ends, BytesPerSecond bandwidth);
  void serialise();
  void serialise(std::uint32_t link, Ends other);

  std::uint32_t gpu_node(std::uint32_t gpu) const { return first_gpu_ + gpu; }
  bool is_gpu(std::uint32_t node) const { return node >= first_gpu_ && node < first_gpu_ + gpus_; }
  std::uint32_t first_device() const { return first_gpu_ + gpus_; }

  const MachineText& text_;
  const MachineChoice& choice_;
  MachineDescription machine_;
  std::uint32_t gpus_ = 0;
  std::uint32_t cpu_workers_ = 0;
  std::uint32_t first_gpu_ = 1;  // node of GPU 0; the devices come behind the GPUs
  std::vector<const DeviceText*> devices_;
  // Segments of the machine, by segment of the text, part and direction; made when first passed.
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint32_t> parts_;
  std::map<Ends, std::uint32_t> both_directions_;  // segments, by the two nodes, smaller first
  std::map<Ends, std::uint32_t> link_numbers_;
  std::vector<const RouteText*> routes_;  // by link
};

// --- Workers and nodes ----------------------------------------------------------------------------

void Builder::choose_workers() {
  const std::uint32_t most_gpus = text_.gpu ? text_.gpu->most : 0;
  gpus_ = choice_.gpus.value_or(text_.gpu ? text_.gpu->by_default.value_or(most_gpus) : 0);
  if (gpus_ > most_gpus) {
    refuse(fmt::format("the machine {} has at most {} GPUs, and {} are asked for", text_.name,
                       most_gpus, gpus_));
  }
  choose_devices();
  const std::uint32_t taken = text_.cpu.drive_gpus ? std::min(gpus_, text_.cpu.most) : 0;
  const std::uint32_t most_cpus = text_.cpu.most - taken;
  cpu_workers_ =
      choice_.cpu_workers.value_or(std::min(text_.cpu.by_default.value_or(most_cpus), most_cpus));
  if (cpu_workers_ > most_cpus) {
    refuse(fmt::format(
        "the machine {} has at most {} CPU workers beside {} GPUs, and {} are asked for",
        text_.name, most_cpus, gpus_, cpu_workers_));
  }
  if (gpus_ + cpu_workers_ == 0 && devices_.empty()) {
    refuse(fmt::format(
        "the machine {} has no workers: give it [cpu], [gpu] or a [[device]], or ask for some",
        text_.name));
  }
}

void Builder::refuse_too_many(std::string_view kind, std::size_t there, std::uint32_t asked) const {
  refuse(fmt::format("the machine {} has {} {} devices, and {} are asked for", text_.name, there,
                     kind, asked));
}

// The first of each kind, as many as are asked for.
void Builder::choose_devices() {
  std::uint32_t cuda = 0;
  std::uint32_t opencl = 0;
  for (const DeviceText& device : text_.devices) {
    const bool is_cuda = device.kind == ProcessorKind::cuda;
    const auto& wanted = is_cuda ? choice_.cuda_devices : choice_.opencl_devices;
    std::uint32_t& of_kind = is_cuda ? cuda : opencl;
    if (!wanted || of_kind < *wanted) devices_.push_back(&device);
    ++of_kind;
  }
  if (choice_.cuda_devices.value_or(0) > cuda) {
    refuse_too_many("CUDA", cuda, *choice_.cuda_devices);
  }
  if (choice_.opencl_devices.value_or(0) > opencl) {
    refuse_too_many("OpenCL", opencl, *choice_.opencl_devices);
  }
}

void Builder::add_nodes() {
  const auto add = [&](std::string name, NodeKind kind, std::optional<Bytes> limit) {
    const auto id = static_cast<std::uint32_t>(machine_.nodes.size());
    machine_.nodes.push_back({NodeId{id}, std::move(name), kind, limit});
  };
  add("ram", NodeKind::ram, choice_.ram ? choice_.ram : text_.ram_limit);
  if (text_.disk) add("disk", NodeKind::disk, text_.disk->limit);
  first_gpu_ = static_cast<std::uint32_t>(machine_.nodes.size());
  for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
    add(fmt::format("gpu{}", gpu), NodeKind::device,
        choice_.gpu_memory.value_or(text_.gpu->memory));
  }
  std::array<std::uint32_t, kProcessorKinds> of_kind{};
  for (const DeviceText* device : devices_) {
    add(fmt::format("{}{}", to_string(device->kind),
                    of_kind[static_cast<std::size_t>(device->kind)]++),
        NodeKind::device, choice_.gpu_memory.value_or(device->memory));
    machine_.nodes.back().device = device->name;
  }
}

void Builder::add_workers() {
  for (std::uint32_t cpu = 0; cpu < cpu_workers_; ++cpu) {
    machine_.workers.push_back({.id = WorkerId{cpu},
                                .kind = ProcessorKind::cpu,
                                .node = kRam,
                                .task_overhead = text_.cpu.task_overhead,
                                .copy_overhead = text_.cpu.copy_overhead,
                                .wake_latency = text_.cpu.wake_latency});
  }
  for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
    machine_.workers.push_back({.id = WorkerId{cpu_workers_ + gpu},
                                .kind = ProcessorKind::gpu,
                                .node = NodeId{gpu_node(gpu)},
                                .task_overhead = text_.gpu->task_overhead,
                                .copy_overhead = text_.gpu->copy_overhead,
                                .pipeline = text_.gpu->pipeline});
  }
  for (std::uint32_t d = 0; d < devices_.size(); ++d) {
    machine_.workers.push_back({.id = WorkerId{cpu_workers_ + gpus_ + d},
                                .kind = devices_[d]->kind,
                                .node = NodeId{first_device() + d},
                                .task_overhead = devices_[d]->task_overhead,
                                .copy_overhead = devices_[d]->copy_overhead,
                                .pipeline = devices_[d]->pipeline});
  }
}

// --- Links ----------------------------------------------------------------------------------------

void Builder::add_disk_links() {
  if (!text_.disk) return;
  const std::uint32_t disk = machine_.disk()->value;
  const BytesPerSecond faster = std::max(text_.disk->read, text_.disk->write);
  add_link({0, disk}, text_.disk->write, text_.disk->route, faster);
  add_link({disk, 0}, text_.disk->read, text_.disk->route, faster);
  for (LinkDescription& link : machine_.links) {
    link.worker_bandwidth = text_.disk->worker_bandwidth;
    link.busy_latency = text_.disk->busy_latency;
    if (link.to.value == disk) link.first_write = text_.disk->first_write;
  }
}

void Builder::add_gpu_links() {
  std::map<Ends, const LinkText*> found;  // in the order in which they get their numbers
  for (const auto& link : text_.links) resolve(link, found);
  for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
    if (found.contains({0, gpu_node(gpu)}) && found.contains({gpu_node(gpu), 0})) continue;
    refuse(text_.gpu->line, "[gpu]: a [[link]] between RAM and GPUs is missing in a direction");
  }
  for (const auto& [ends, link] : found) {
    add_link(ends, link->bandwidth, link->route, link->bandwidth);
  }
}

void Builder::add_device_links() {
  for (std::uint32_t d = 0; d < devices_.size(); ++d) {
    const DeviceText& device = *devices_[d];
    const std::uint32_t node = first_device() + d;
    add_link({0, node}, device.in, device.route, device.in);
    add_link({node, 0}, device.out, device.route, device.out);
    if (!device.both) continue;
    const std::uint32_t shared = shared_by_both_directions({0, node}, *device.both);
    for (std::size_t link = machine_.links.size() - 2; link < machine_.links.size(); ++link) {
      machine_.links[link].segments.push_back(shared);
    }
  }
}

// Which links this one stands for, on the machine with its chosen GPUs.
void Builder::resolve(const LinkText& link, std::map<Ends, const LinkText*>& found) const {
  const auto add = [&](std::uint32_t from, std::uint32_t to) {
    resolve_one({from, to}, link, found);
    if (link.both_directions) resolve_one({to, from}, link, found);
  };
  if (link.from != End::gpu || link.to != End::gpu) {
    for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
      if (link.from == End::ram) {
        add(0, gpu_node(gpu));
      } else {
        add(gpu_node(gpu), 0);
      }
    }
  } else if (link.pairs) {
    for (const auto& [a, b] : *link.pairs) {
      if (a < gpus_ && b < gpus_) add(gpu_node(a), gpu_node(b));
    }
  } else {
    for (std::uint32_t a = 0; a < gpus_; ++a) {
      for (std::uint32_t b = link.both_directions ? a + 1 : 0; b < gpus_; ++b) {
        if (a != b) add(gpu_node(a), gpu_node(b));
      }
    }
  }
}

void Builder::resolve_one(Ends ends, const LinkText& link,
                          std::map<Ends, const LinkText*>& found) const {
  const auto [place, is_new] = found.emplace(ends, &link);
  if (is_new) return;
  const LinkText& other = *place->second;
  if (link.pairs.has_value() == other.pairs.has_value()) {
    refuse(link.line, fmt::format("[[link]]: {} to {} is already described in line {}",
                                  machine_.nodes[ends.first].name, machine_.nodes[ends.second].name,
                                  other.line));
  }
  if (link.pairs) place->second = &link;
}

void Builder::add_link(Ends ends, BytesPerSecond bandwidth, const RouteText& route,
                       BytesPerSecond half_duplex_bandwidth) {
  link_numbers_[ends] = static_cast<std::uint32_t>(machine_.links.size());
  routes_.push_back(&route);
  machine_.links.push_back({.from = NodeId{ends.first},
                            .to = NodeId{ends.second},
                            .bandwidth = bandwidth,
                            .latency = route.latency,
                            .copies_in_flight = route.copies_in_flight,
                            .segments = segments_of(ends, route, half_duplex_bandwidth)});
}

// --- Segments -------------------------------------------------------------------------------------

std::vector<std::uint32_t> Builder::segments_of(Ends ends, const RouteText& route,
                                                BytesPerSecond half_duplex_bandwidth) {
  std::vector<std::uint32_t> passed;
  if (route.half_duplex) passed.push_back(shared_by_both_directions(ends, half_duplex_bandwidth));
  for (const std::uint32_t segment : route.segments) pass(segment, ends, passed);
  return passed;
}

// A copy between GPUs goes towards RAM in the part of the first GPU and away from RAM in the part of the
// second. A copy within a single part never reaches the segment that the parts share.
void Builder::pass(std::uint32_t segment, Ends ends, std::vector<std::uint32_t>& passed) {
  const SegmentText& text = text_.segments[segment];
  const auto part_of = [&](std::uint32_t node) {
    return text.part_of_gpu.empty() ? 0 : text.part_of_gpu[node - first_gpu_];
  };
  const auto add = [&](std::uint32_t number) {
    if (std::count(passed.begin(), passed.end(), number) == 0) passed.push_back(number);
  };
  const bool between_gpus = is_gpu(ends.first) && is_gpu(ends.second);
  if (between_gpus && !text.part_of_gpu.empty() && part_of(ends.first) == part_of(ends.second))
    return;
  const bool towards_ram = ends.first != 0;
  if (towards_ram) add(part(segment, is_gpu(ends.first) ? part_of(ends.first) : 0, true));
  if (!towards_ram || between_gpus) {
    add(part(segment, is_gpu(ends.second) ? part_of(ends.second) : 0, false));
  }
}

std::uint32_t Builder::part(std::uint32_t segment, std::uint32_t part, bool towards_ram) {
  const SegmentText& text = text_.segments[segment];
  const bool direction = towards_ram && !text.half_duplex;
  const auto number = static_cast<std::uint32_t>(machine_.segments.size());
  const auto [place, is_new] = parts_.emplace(std::tuple{segment, part, direction}, number);
  if (!is_new) return place->second;
  std::string name = text.name;
  if (!text.part_of_gpu.empty()) name += fmt::format(" {}", part);
  if (!text.half_duplex) name += towards_ram ? " to RAM" : " from RAM";
  machine_.segments.push_back({.name = std::move(name),
                               .bandwidth = text.bandwidth,
                               .by_kernels = text.by_kernels,
                               .for_copies = text.for_copies});
  return number;
}

const std::vector<std::uint32_t>& Builder::draws_on(std::uint32_t node) const {
  if (node == kRam.value) return text_.cpu.draws_on;
  return is_gpu(node) ? text_.gpu->draws_on : devices_[node - first_device()]->draws_on;
}

// Segments that only kernels draw on have the last numbers.
void Builder::add_draws() {
  for (WorkerDescription& worker : machine_.workers) {
    const std::uint32_t node = worker.node.value;
    for (const std::uint32_t segment : draws_on(node)) {
      const std::vector<std::uint32_t>& parts = text_.segments[segment].part_of_gpu;
      const std::uint32_t number = parts.empty() ? 0 : parts[node - first_gpu_];
      worker.draws_on.push_back(part(segment, number, false));
    }
  }
}

std::uint32_t Builder::shared_by_both_directions(Ends ends, BytesPerSecond bandwidth) {
  const Ends sorted = std::minmax(ends.first, ends.second);
  const auto number = static_cast<std::uint32_t>(machine_.segments.size());
  const auto [place, is_new] = both_directions_.emplace(sorted, number);
  if (is_new) {
    machine_.segments.push_back({fmt::format("{} - {}", machine_.nodes[sorted.first].name,
                                             machine_.nodes[sorted.second].name),
                                 bandwidth});
  }
  return place->second;
}

// --- What runs one at a time ----------------------------------------------------------------------

void Builder::serialise() {
  for (std::uint32_t number = 0; number < machine_.links.size(); ++number) {
    const RouteText& route = *routes_[number];
    const Ends ends{machine_.links[number].from.value, machine_.links[number].to.value};
    if (route.serialise_same) serialise(number, ends);
    if (route.serialise_reverse) serialise(number, {ends.second, ends.first});
    if (route.serialise_arrivals) {
      serialise(number, {0, ends.first});
      serialise(number, {0, ends.second});
    }
  }
  for (auto& link : machine_.links) {
    auto& others = link.serialised;
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
  }
}

// It holds both ways, and both links say so.
void Builder::serialise(std::uint32_t link, Ends other) {
  const auto found = link_numbers_.find(other);
  if (found == link_numbers_.end()) return;  // a link of one direction only
  machine_.links[link].serialised.push_back(found->second);
  machine_.links[found->second].serialised.push_back(link);
}

}  // namespace

MachineDescription build_machine(const MachineText& text, const MachineChoice& choice) {
  return Builder(text, choice).build();
}

}  // namespace vicinal::machine
