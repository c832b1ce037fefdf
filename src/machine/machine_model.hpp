// A machine that one does not have, as a machine file describes it: its shape, and how fast its
// processors run which kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/network_model.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/units.hpp"

namespace vicinal::machine {

using vicinal::KernelSpeed;  // "lu.gemm": of the graph lu; "gemm": of any graph; "*": any kernel

// What a policy takes to schedule one task.
struct SchedulingCost {
  std::string policy;
  double seconds = 0;
};

// Of one task of so many operations; none if the machine says nothing of it. `graph`: whose kernel it is.
std::optional<double> seconds_of(const MachineDescription& machine, std::string_view kernel,
                                 std::string_view precision, double flops, ProcessorKind kind,
                                 std::string_view graph = {});
// What such a task draws on the segments of its worker; 0: the machine says nothing of it.
BytesPerSecond demand_of(const MachineDescription& machine, std::string_view kernel,
                         std::string_view precision, ProcessorKind kind,
                         std::string_view graph = {});
bool is_synchronous(const MachineDescription& machine, std::string_view kernel);

struct MachineModel {
  std::string name;
  std::string sentence;            // what it is and where its figures come from
  MachineDescription description;  // with the speeds of its kernels

  std::vector<SchedulingCost> scheduling;  // counted only where asked for

  std::optional<double> seconds(std::string_view kernel, std::string_view precision, double flops,
                                ProcessorKind kind, std::string_view graph = {}) const {
    return seconds_of(description, kernel, precision, flops, kind, graph);
  }
  BytesPerSecond demand(std::string_view kernel, std::string_view precision, ProcessorKind kind,
                        std::string_view graph = {}) const {
    return demand_of(description, kernel, precision, kind, graph);
  }
  bool is_synchronous(std::string_view kernel) const {
    return machine::is_synchronous(description, kernel);
  }
  std::optional<double> scheduling_seconds(std::string_view policy) const;
};

using vicinal::MachineChoice;

// `name`: a file (it contains a '/' or ends in ".toml"), or the stem of one of those that are shipped
// ("v100p"). Throws UsageError that names the file and the line, or the nearest name. A cluster is refused, but for
// one of its hosts: choice.ranks == 1.
MachineModel load_machine(const std::string& name, const MachineChoice& choice);
// The machine of the option `machine`: "v100,gpus=2,memory=1GiB".
MachineModel load_machine_of_option(const std::string& text);
// The name is that of a file, not of a machine that is shipped.
bool is_machine_file(const std::string& name);
// For tests: the text of a file; `origin` is named in errors.
MachineModel parse_machine(std::string_view text, const std::string& origin,
                           const MachineChoice& choice);

// A cluster that one does not have: hosts that are alike, and the network between them.
struct ClusterModel {
  std::string name;
  std::string sentence;
  MachineModel host;
  NetworkModel network;
};
// As load_machine, of a machine file with [cluster] or a text "cluster:ranks=64,gpus=4"; choice.ranks: the first so many
// of its hosts. None: the file describes one machine.
std::optional<ClusterModel> load_cluster(const std::string& name, const MachineChoice& choice);
std::optional<ClusterModel> load_cluster_of_option(const std::string& text);
// For tests, as parse_machine.
std::optional<ClusterModel> parse_cluster(std::string_view text, const std::string& origin,
                                          const MachineChoice& choice);

struct ShippedMachine {
  std::string name;
  std::string sentence;
};
// Those shipped, in the order of their names.
std::vector<ShippedMachine> shipped_machines();

}  // namespace vicinal::machine
