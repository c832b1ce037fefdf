#include "calibration/interference/machine_facts.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::interference {

namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
  const auto line = first_line(path);
  if (!line) return std::nullopt;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(line->c_str(), &end, 10);
  if (end == line->c_str()) return std::nullopt;
  return value;
}

std::string folder_of(const std::string& root, std::uint32_t processor) {
  return fmt::format("{}/sys/devices/system/cpu/cpu{}", root, processor);
}

// "0-3,8-11": a list of the system's.
bool is_listed(const std::string& list, std::uint32_t number) {
  const char* at = list.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const unsigned long first = std::strtoul(at, &end, 10);
    if (end == at) return false;
    unsigned long last = first;
    if (*end == '-') last = std::strtoul(end + 1, &end, 10);
    if (number >= first && number <= last) return true;
    at = *end == ',' ? end + 1 : end;
    if (*end != ',' && *end != '\0') return false;
  }
  return false;
}

std::uint32_t node_of(const std::string& root, std::uint32_t processor) {
  constexpr std::uint32_t kMostNodes = 256;
  for (std::uint32_t node = 0; node < kMostNodes; ++node) {
    const auto list =
        first_line(fmt::format("{}/sys/devices/system/node/node{}/cpulist", root, node));
    if (list && is_listed(*list, processor)) return node;
  }
  return 0;
}

// "260M", "512K".
Bytes largest_cache(const std::string& folder) {
  std::uint64_t most = 0;
  for (int index = 0; index < 8; ++index) {
    const auto line = first_line(fmt::format("{}/cache/index{}/size", folder, index));
    if (!line || line->empty()) continue;
    std::uint64_t bytes = std::strtoull(line->c_str(), nullptr, 10);
    if (line->back() == 'K') bytes <<= 10;
    if (line->back() == 'M') bytes <<= 20;
    most = std::max(most, bytes);
  }
  return {most};
}

std::string frequency_file(const std::string& root, std::uint32_t processor) {
  return folder_of(root, processor) + "/cpufreq/scaling_cur_freq";
}

// By processor, of /proc/cpuinfo.
std::map<std::uint32_t, double> told_megahertz(const std::string& root) {
  std::map<std::uint32_t, double> told;
  std::ifstream file(root + "/proc/cpuinfo");
  std::uint32_t processor = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const char* const value = line.c_str() + colon + 1;
    if (line.starts_with("processor")) {
      processor = static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
    } else if (line.starts_with("cpu MHz")) {
      told[processor] = std::strtod(value, nullptr);
    }
  }
  return told;
}

// Numbers of the system's have gaps where nodes have no core of ours.
void number_without_gaps(std::vector<MachineFacts::Core>& cores,
                         std::uint32_t MachineFacts::Core::*member, std::uint32_t& count) {
  std::set<std::uint32_t> all;
  for (const MachineFacts::Core& core : cores) all.insert(core.*member);
  for (MachineFacts::Core& core : cores) {
    core.*member = static_cast<std::uint32_t>(std::distance(all.begin(), all.find(core.*member)));
  }
  count = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(all.size()));
}

}  // namespace

std::uint32_t MachineFacts::cores_of_socket() const {
  return static_cast<std::uint32_t>(
      std::count_if(cores.begin(), cores.end(), [](const Core& core) { return core.socket == 0; }));
}

MachineFacts read_machine(const std::string& root, std::span<const std::uint32_t> processors) {
  MachineFacts machine;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;  // sockets and their cores
  for (const std::uint32_t processor : processors) {
    const std::string folder = folder_of(root, processor);
    const auto socket = number_in(folder + "/topology/physical_package_id");
    const auto core = number_in(folder + "/topology/core_id");
    // A second hardware thread would compute on a core that is taken.
    if (core && !seen.emplace(socket.value_or(0), *core).second) continue;
    machine.cores.push_back({.processor = processor,
                             .node = node_of(root, processor),
                             .socket = static_cast<std::uint32_t>(socket.value_or(0) & 0xffff)});
  }
  if (machine.cores.empty()) machine.cores.emplace_back();
  number_without_gaps(machine.cores, &MachineFacts::Core::node, machine.nodes);
  number_without_gaps(machine.cores, &MachineFacts::Core::socket, machine.sockets);
  const std::uint32_t first = machine.cores.front().processor;
  machine.cache = largest_cache(folder_of(root, first));
  if (number_in(frequency_file(root, first))) {
    machine.frequencies = MachineFacts::Frequencies::current;
  } else if (!told_megahertz(root).empty()) {
    machine.frequencies = MachineFacts::Frequencies::nominal;
  }
  return machine;
}

double megahertz_now(const std::string& root, std::span<const std::uint32_t> processors) {
  double sum = 0;
  std::size_t known = 0;
  for (const std::uint32_t processor : processors) {
    if (const auto kilohertz = number_in(frequency_file(root, processor))) {
      sum += static_cast<double>(*kilohertz) / 1000;
      ++known;
    }
  }
  if (known > 0) return sum / static_cast<double>(known);
  const auto told = told_megahertz(root);
  for (const std::uint32_t processor : processors) {
    const auto of = told.find(processor);
    if (of == told.end()) continue;
    sum += of->second;
    ++known;
  }
  return known > 0 ? sum / static_cast<double>(known) : 0;
}

std::uint32_t most_computing(const MachineFacts& machine) {
  const auto cores = static_cast<std::uint32_t>(machine.cores.size());
  const bool answers_here = machine.ranks > 1 && machine.ranks_are_here;
  return cores - (answers_here && cores > 2 ? 2 : 1);
}

Placement place(const MachineFacts& machine, std::uint32_t computing, std::uint32_t thread_node) {
  const std::vector<MachineFacts::Core>& cores = machine.cores;
  if (computing > cores.size()) {
    throw UsageError(fmt::format("{} cores are to compute, and there are {}; ask for fewer",
                                 computing, cores.size()));
  }
  std::size_t own = cores.size() - 1;
  for (std::size_t i = cores.size(); i-- > 0;) {
    if (cores[i].node == thread_node) {
      own = i;
      break;
    }
  }
  // The others compute first, the transferring one last.
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    if (i != own) order.push_back(i);
  }
  Placement placement;
  placement.transferring = cores[own].processor;
  placement.answering = cores.size() > 2 ? cores[order.back()].processor : cores[own].processor;
  order.push_back(own);
  for (std::uint32_t i = 0; i < computing; ++i) {
    placement.computing.push_back(cores[order[i]].processor);
  }
  placement.shares = computing > most_computing(machine);
  return placement;
}

}  // namespace vicinal::interference
