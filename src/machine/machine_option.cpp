// The text of the option `machine`: a name, and what is to be other than the machine says.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "machine/machine_model.hpp"
#include "machine/machine_text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {

namespace {

constexpr std::array<std::string_view, 6> kChoices{"gpus",           "cpus",   "cuda_devices",
                                                   "opencl_devices", "memory", "ram"};

void choose(MachineChoice& choice, std::string_view name, std::string_view value) {
  const auto count = [&](std::uint32_t most) {
    return static_cast<std::uint32_t>(base::parse_count(value, 0, most));
  };
  if (name == "gpus") {
    choice.gpus = count(kMostGpus);
  } else if (name == "cpus") {
    choice.cpu_workers = count(kMostCpuWorkers);
  } else if (name == "cuda_devices") {
    choice.cuda_devices = count(kMostGpus);
  } else if (name == "opencl_devices") {
    choice.opencl_devices = count(kMostGpus);
  } else if (name == "memory") {
    choice.gpu_memory = base::parse_bytes(value);
  } else {
    choice.ram = base::parse_bytes(value);
  }
}

void read_choice(MachineChoice& choice, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (std::ranges::find(kChoices, name) == kChoices.end() || equals == std::string_view::npos) {
    const std::string_view meant = base::nearest(name, kChoices);
    throw UsageError(fmt::format(
        "option machine: \"{}\" is no choice{}; write gpus=2, cpus=4, memory=1GiB (of each GPU) or "
        "ram=8GiB, with commas behind the name of the machine",
        text, meant.empty() ? "" : fmt::format(", did you mean {}=?", meant)));
  }
  try {
    choose(choice, name, text.substr(equals + 1));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("option machine: {}: {}", name, error.what()));
  }
}

}  // namespace

MachineModel load_machine_of_option(const std::string& text) {
  const std::size_t comma = text.find(',');
  MachineChoice choice;
  for (std::size_t at = comma; at != std::string::npos;) {
    const std::size_t next = text.find(',', at + 1);
    read_choice(choice, std::string_view(text).substr(at + 1, next - at - 1));
    at = next;
  }
  try {
    return load_machine(text.substr(0, comma), choice);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("option machine: {}", error.what()));
  }
}

}  // namespace vicinal::machine
