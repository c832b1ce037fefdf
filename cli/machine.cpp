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
  command->callback([options, list, measure] {
    if (*list) {
      for (const auto& machine : machine::shipped_machines()) {
        fmt::print("{:<9}  {}\n", machine.name, machine.sentence);
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
