// The memory nodes and workers that events name: those of the machine that the head of the file describes. Where it
// describes none, as many are made as the events need.
#pragma once

#include <cstdint>
#include <string>

#include "vicinal/machine.hpp"

namespace vicinal::analysis {

class MachineOfRun {
 public:
  MachineOfRun(MachineDescription& machine, const std::string& path)
      : machine_(machine), path_(path), described_(!machine.nodes.empty()) {}

  // A number that is in the machine. Each throws UsageError: the machine has none such.
  std::uint32_t node(std::uint64_t number);
  // Or kNobody.
  std::uint32_t node_or_none(std::uint64_t number);
  std::uint32_t worker_or_none(std::uint64_t number);

 private:
  MachineDescription& machine_;
  const std::string& path_;
  const bool described_;
};

}  // namespace vicinal::analysis
