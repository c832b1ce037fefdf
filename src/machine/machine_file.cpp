#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/regular_file.hpp"
#include "base/text.hpp"
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

MachineModel parse_machine(std::string_view text, const std::string& origin,
                           const MachineChoice& choice) {
  MachineText read = read_machine_text(text, origin);
  MachineModel model;
  model.description = build_machine(read, choice);
  model.name = std::move(read.name);
  model.sentence = std::move(read.sentence);
  model.description.speeds = std::move(read.speeds);
  model.description.synchronous = std::move(read.synchronous);
  model.scheduling = std::move(read.scheduling);
  return model;
}

bool is_machine_file(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".toml");
}

MachineModel load_machine(const std::string& name, const MachineChoice& choice) {
  if (is_machine_file(name)) return parse_machine(read_file(name), name, choice);
  for (const auto& shipped : shipped_texts()) {
    if (shipped.name == name) {
      return parse_machine(shipped.text, fmt::format("machines/{}.toml", name), choice);
    }
  }
  refuse_name(name);
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
