#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/regular_file.hpp"
#include "base/text.hpp"
#include "machine/cluster_text.hpp"
#include "machine/machine_model.hpp"
#include "machine/machine_text.hpp"
#include "machine/shipped.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

// Larger than any description, and small enough that a wrong file name does no harm.
constexpr std::size_t kMostBytes = 1 << 20;

std::string read_file(const std::string& path) {
  try {
    return base::RegularFile(path).text(kMostBytes);
  } catch (const base::RegularFile::Refused& refused) {
    throw UsageError(
        fmt::format("the machine file {} cannot be read: {}; {}", path, refused.why,
                    refused.remedy.empty() ? "give one of docs/machine-file.md" : refused.remedy));
  }
}

[[noreturn]] void refuse_name(const std::string& name) {
  std::vector<std::string_view> known;
  for (const auto& shipped : shipped_texts()) known.push_back(shipped.name);
  const auto near = base::nearest(name, known);
  throw UsageError(
      fmt::format("there is no machine \"{}\"{} Write a file (\"./{}.toml\") or one of {}", name,
                  near.empty() ? "." : fmt::format(": did you mean \"{}\"?", near), name,
                  fmt::join(known, ", ")));
}

}  // namespace

namespace {

MachineModel model_of(MachineText read, const MachineChoice& choice) {
  MachineModel model;
  model.description = build_machine(read, choice);
  model.name = std::move(read.name);
  model.sentence = std::move(read.sentence);
  model.description.speeds = std::move(read.speeds);
  model.description.contention = std::move(read.contention);
  model.description.synchronous = std::move(read.synchronous);
  model.scheduling = std::move(read.scheduling);
  return model;
}

[[noreturn]] void refuse(const MachineText& read, const std::string& why) {
  throw UsageError(fmt::format("{}:{}: {}", read.origin,
                               std::max(read.cluster ? read.cluster->line : 1, 1U), why));
}

MachineText text_of(const std::string& name) {
  if (name.starts_with(kGenerated)) {
    MachineText text;
    text.origin = name;
    text.name = name;
    text.cluster = generated_cluster(name);
    text.sentence =
        fmt::format("{} hosts, each {}", text.cluster->network.hosts, text.cluster->machine);
    return text;
  }
  if (is_machine_file(name)) return read_machine_text(read_file(name), name);
  for (const auto& shipped : shipped_texts()) {
    if (shipped.name != name) continue;
    return read_machine_text(shipped.text, fmt::format("machines/{}.toml", name));
  }
  refuse_name(name);
}

// Beside the file that names it.
std::string name_of_host(const MachineText& read) {
  const std::string& name = read.cluster->machine;
  if (!is_machine_file(name) || name.starts_with('/') || read.origin.starts_with(kGenerated)) {
    return name;
  }
  return read.origin.substr(0, read.origin.rfind('/') + 1) + name;
}

// What is chosen of it, and what the text of the cluster chooses otherwise.
MachineChoice choice_of_host(const ClusterText& cluster, const MachineChoice& choice) {
  MachineChoice both = cluster.choice;
  const auto prefer = [](auto& value, const auto& other) {
    if (other) value = other;
  };
  prefer(both.gpus, choice.gpus);
  prefer(both.cpu_workers, choice.cpu_workers);
  prefer(both.cuda_devices, choice.cuda_devices);
  prefer(both.opencl_devices, choice.opencl_devices);
  prefer(both.gpu_memory, choice.gpu_memory);
  prefer(both.ram, choice.ram);
  return both;
}

MachineModel host_of(MachineText read, const MachineChoice& choice) {
  const MachineChoice of_host = choice_of_host(*read.cluster, choice);
  if (read.cluster->machine.empty()) return model_of(std::move(read), of_host);
  const std::string name = name_of_host(read);
  try {
    MachineText host = text_of(name);
    if (host.cluster) {
      throw UsageError(fmt::format("{} is a cluster itself; name one machine", name));
    }
    return model_of(std::move(host), of_host);
  } catch (const UsageError& error) {
    refuse(read, fmt::format("machine of [cluster]: {}", error.what()));
  }
}

// One machine.
MachineModel machine_of(MachineText read, const MachineChoice& choice) {
  if (!read.cluster) {
    if (choice.ranks.value_or(1) > 1) {
      refuse(read, fmt::format("the machine {} has no [cluster], which would say what joins {} of "
                               "them: write one, or cluster:ranks={},machine={}",
                               read.name, *choice.ranks, *choice.ranks, read.name));
    }
    return model_of(std::move(read), choice);
  }
  if (choice.ranks.value_or(read.cluster->network.hosts) > 1) {
    refuse(read, fmt::format("{} is a cluster of {} hosts, and one machine is wanted here: take "
                             "one of its hosts, with --ranks 1, or ranks=1 in the option machine; "
                             "vicinal simulate and SimulatedCluster run on all",
                             read.name, read.cluster->network.hosts));
  }
  return host_of(std::move(read), choice);
}

std::optional<ClusterModel> cluster_of(MachineText read, const MachineChoice& choice) {
  if (!read.cluster) return std::nullopt;
  ClusterModel model{
      .name = read.name, .sentence = read.sentence, .host = {}, .network = read.cluster->network};
  if (choice.ranks.value_or(1) > model.network.hosts) {
    refuse(read, fmt::format("{} has {} hosts, and {} are asked for", read.name,
                             model.network.hosts, *choice.ranks));
  }
  model.network.hosts = choice.ranks.value_or(model.network.hosts);
  model.host = host_of(std::move(read), choice);
  return model;
}

}  // namespace

MachineModel parse_machine(std::string_view text, const std::string& origin,
                           const MachineChoice& choice) {
  return machine_of(read_machine_text(text, origin), choice);
}

std::optional<ClusterModel> parse_cluster(std::string_view text, const std::string& origin,
                                          const MachineChoice& choice) {
  return cluster_of(read_machine_text(text, origin), choice);
}

bool is_machine_file(const std::string& name) {
  if (name.starts_with(kGenerated)) return false;
  return name.find('/') != std::string::npos || name.ends_with(".toml");
}

MachineModel load_machine(const std::string& name, const MachineChoice& choice) {
  return machine_of(text_of(name), choice);
}

std::optional<ClusterModel> load_cluster(const std::string& name, const MachineChoice& choice) {
  return cluster_of(text_of(name), choice);
}

std::vector<ShippedMachine> shipped_machines() {
  std::vector<ShippedMachine> result;
  for (const auto& shipped : shipped_texts()) {
    auto read = read_machine_text(shipped.text, fmt::format("machines/{}.toml", shipped.name));
    result.push_back({std::string(shipped.name), std::move(read.sentence)});
  }
  return result;
}

// --- What the model is asked ----------------------------------------------------------------------

namespace {

// Graphs may use one name for different code: "lu.gemm" is the gemm of the graph lu alone.
bool speaks_of(std::string_view entry, std::string_view kernel, std::string_view graph) {
  if (entry == "*" || entry == kernel) return true;
  return !graph.empty() && entry.size() == graph.size() + 1 + kernel.size() &&
         entry.starts_with(graph) && entry[graph.size()] == '.' && entry.ends_with(kernel);
}

// The first entry that speaks of the task; none: nullptr.
const KernelSpeed* speed_of(const MachineDescription& machine, std::string_view kernel,
                            std::string_view precision, ProcessorKind kind,
                            std::string_view graph) {
  for (const auto& speed : machine.speeds) {
    if (speed.kind != kind) continue;
    if (!speaks_of(speed.kernel, kernel, graph)) continue;
    // A task that does not say its precision takes the first entry of its kernel.
    if (!speed.precision.empty() && !precision.empty() && speed.precision != precision) continue;
    return &speed;
  }
  return nullptr;
}

}  // namespace

std::optional<double> seconds_of(const MachineDescription& machine, std::string_view kernel,
                                 std::string_view precision, double flops, ProcessorKind kind,
                                 std::string_view graph) {
  const KernelSpeed* const speed = speed_of(machine, kernel, precision, kind, graph);
  if (speed == nullptr) return std::nullopt;
  return speed->flops_per_second > 0 ? flops / speed->flops_per_second : speed->seconds;
}

BytesPerSecond demand_of(const MachineDescription& machine, std::string_view kernel,
                         std::string_view precision, ProcessorKind kind, std::string_view graph) {
  const KernelSpeed* const speed = speed_of(machine, kernel, precision, kind, graph);
  return speed == nullptr ? BytesPerSecond{} : speed->demand;
}

std::optional<double> MachineModel::scheduling_seconds(std::string_view policy) const {
  for (const SchedulingCost& cost : scheduling) {
    if (cost.policy == policy) return cost.seconds;
  }
  return std::nullopt;
}

bool is_synchronous(const MachineDescription& machine, std::string_view kernel) {
  return std::ranges::find(machine.synchronous, kernel) != machine.synchronous.end();
}

}  // namespace vicinal::machine

vicinal::MachineDescription vicinal::read_machine(const std::string& name,
                                                  const MachineChoice& choice) {
  return machine::load_machine(name, choice).description;
}
