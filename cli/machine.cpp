// vicinal machine: what a runtime with these options would run on.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "calibration/calibrate.hpp"
#include "play/play.hpp"
#include "reports/catalogue.hpp"
#include "runtime_options.hpp"
#include "session.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::cli {

namespace {

std::string rate_text(BytesPerSecond rate) {
  if (rate.value <= 0) return "bandwidth not known";
  return reports::format_bytes({static_cast<std::uint64_t>(rate.value)}) + "/s";
}

// Of a device, below its node.
void print_device(const NodeDescription& node) {
  if (node.device.empty()) return;
  fmt::print("  {:<10} {}{}\n", "", node.device,
             node.installed.value > 0 ? ", memory " + reports::format_bytes(node.installed) : "");
}

void print_machine(const MachineDescription& machine) {
  fmt::print("memory nodes\n");
  for (const NodeDescription& node : machine.nodes) {
    std::size_t workers = 0;
    for (const WorkerDescription& worker : machine.workers) {
      workers += worker.node == node.id ? 1U : 0U;
    }
    fmt::print("  {:<10} {:<16} {} workers\n", node.name,
               node.limit ? "limit " + reports::format_bytes(*node.limit) : "no limit", workers);
    print_device(node);
  }
  fmt::print("links\n");
  for (const LinkDescription& link : machine.links) {
    fmt::print("  {}->{}  {}, {} copies in flight\n", machine.nodes[link.from.value].name,
               machine.nodes[link.to.value].name, rate_text(link.bandwidth), link.copies_in_flight);
  }
  fmt::print("workers\n");
  for (const WorkerDescription& worker : machine.workers) {
    fmt::print("  {:<3} {:<9} on {}\n", worker.id.value, to_string(worker.kind),
               machine.nodes[worker.node.value].name);
  }
}

std::string microseconds(Time time) {
  return fmt::format("{} us", static_cast<double>(time.ns) / 1000);
}

void print_cluster(const machine::ClusterModel& cluster) {
  const machine::NetworkModel& network = cluster.network;
  fmt::print("{}: {}\n", cluster.name, cluster.sentence);
  fmt::print("{} hosts, each {}: {}\n", network.hosts, cluster.host.name, cluster.host.sentence);
  print_machine(cluster.host.description);
  fmt::print("network\n");
  fmt::print("  {} NICs of a host, {} in each direction\n", network.nics, rate_text(network.nic));
  if (network.tree) {
    fmt::print("  {} hosts on each of {} leaves, {} from a leaf to each of {} spines\n",
               network.tree->hosts_per_leaf, network.leaves(), rate_text(network.tree->uplink),
               network.tree->spines);
  } else {
    fmt::print("  one switch, {}\n",
               network.backplane ? rate_text(*network.backplane) + " for all messages together"
                                 : "not limited");
  }
  fmt::print(
      "  a message: {} of its sender, {} on the way from host 0 to host {}, {} of its receiver\n",
      microseconds(network.send_overhead),
      microseconds(network.latency_between(0, network.hosts - 1)), network.hosts - 1,
      microseconds(network.receive_overhead));
  fmt::print("  {} links\n", network.links());
}

}  // namespace

void add_machine(CLI::App& app, Session& /*session*/) {
  CLI::App* command =
      app.add_subcommand("machine", "Shows the memory nodes, links and workers of a runtime.");
  auto options = std::make_shared<RuntimeOptions>(*command);
  auto list = std::make_shared<bool>(false);
  command->add_flag("--list", *list, "List the machines that can be simulated.");
  auto measure = std::make_shared<bool>(false);
  command->add_flag("--measure", *measure,
                    "Measure the links and queues of CUDA and OpenCL devices, some seconds.");
  auto described = std::make_shared<std::string>();
  command
      ->add_option("--machine", *described,
                   "Show this one instead: one that is shipped, or a machine file, with choices as "
                   "in v100,gpus=2; a cluster with its network.")
      ->type_name("NAME");
  command->callback([options, list, measure, described] {
    if (*list) {
      for (const auto& machine : machine::shipped_machines()) {
        fmt::print("{:<16}  {}\n", machine.name, machine.sentence);
      }
      return;
    }
    if (!described->empty()) {
      if (const auto cluster = machine::load_cluster_of_option(*described)) {
        print_cluster(*cluster);
      } else {
        print_machine(machine::load_machine_of_option(*described).description);
      }
      return;
    }
    const Options parsed = options->parse();
    CommandFiles files;
    options->add_files(files, parsed, {parsed.policy});
    files.require();
    Runtime runtime(parsed);
    print_machine(runtime.machine());
    const TraceSummary recorded = runtime.stop_trace();  // throws where it is not whole
    fmt::print("{}", recording_line(recorded.file, recorded.written));
    if (!*measure) return;
    for (const calibration::MeasuredDevice& device : calibration::measure_devices(parsed)) {
      fmt::print("measured: {}", calibration::device_text(device));
    }
  });
}

}  // namespace vicinal::cli
