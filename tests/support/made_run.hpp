// A recorded run that is made by hand: what a reader would have put together. Times are in ns.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/recorded_run.hpp"

namespace vicinal::testing {

using analysis::AccessOfTask;
using analysis::CopyOfRun;
using analysis::RecordedRun;
using analysis::RoomChange;
using analysis::TaskOfRun;

// Workers 0 .. cores - 1 are cores, those behind them accelerators; accelerator i has memory node i + 1, node 0 is RAM.
class MadeRun {
 public:
  explicit MadeRun(std::uint32_t cores, std::uint32_t accelerators = 0) {
    run.recorded = trace::kAllCategories;
    MachineDescription& machine = run.facts.machine;
    machine.nodes.push_back({kRam, "ram", NodeKind::ram, {}});
    const auto add_worker = [&](ProcessorKind kind, NodeId node) {
      const WorkerId id{static_cast<std::uint32_t>(machine.workers.size())};
      machine.workers.push_back({id, kind, node});
    };
    for (std::uint32_t i = 0; i < cores; ++i) add_worker(ProcessorKind::cpu, kRam);
    for (std::uint32_t i = 1; i <= accelerators; ++i) {
      machine.nodes.push_back({NodeId{i}, "gpu" + std::to_string(i - 1), NodeKind::device, {}});
      add_worker(ProcessorKind::emulated, NodeId{i});
    }
  }

  std::uint32_t datum(std::string name, std::uint64_t bytes) {
    const auto number = static_cast<std::uint32_t>(run.data.size());
    run.data.push_back({.id = number + 1, .name = std::move(name), .bytes = bytes, .home = 0});
    return number;
  }

  std::uint32_t task(const std::string& codelet, TaskOfRun task,
                     const std::vector<AccessOfTask>& accesses = {}) {
    const auto number = static_cast<std::uint32_t>(run.tasks.size());
    task.id = number + 100;
    task.name = name(codelet);
    task.first_access = static_cast<std::uint32_t>(run.accesses.size());
    task.access_count = static_cast<std::uint32_t>(accesses.size());
    run.accesses.insert(run.accesses.end(), accesses.begin(), accesses.end());
    run.end = std::max(run.end, task.ended);
    run.tasks.push_back(task);
    return number;
  }

  std::uint32_t copy(const CopyOfRun& copy) {
    run.copies.push_back(copy);
    return static_cast<std::uint32_t>(run.copies.size()) - 1;
  }

  std::uint32_t name(const std::string& text) {
    for (std::uint32_t i = 0; i < run.names.size(); ++i) {
      if (run.names[i] == text) return i;
    }
    run.names.push_back(text);
    return static_cast<std::uint32_t>(run.names.size()) - 1;
  }

  RecordedRun run;
};

}  // namespace vicinal::testing
