// A simulated run and the decisions that were made in it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/runtime_impl.hpp"
#include "support/listener.hpp"
#include "trace/decision.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

struct MachineParts {
  std::uint32_t cores = 0;
  std::uint32_t accelerators = 0;
  std::optional<Bytes> memory = {};  // of each accelerator
};

// A byte takes 1 ns on each link.
inline MachineDescription machine_of(const MachineParts& parts) {
  constexpr BytesPerSecond kLink{1e9};
  MachineDescription machine;
  machine.nodes.push_back({kRam, "ram", NodeKind::ram, {}});
  const auto add_worker = [&](ProcessorKind kind, NodeId node) {
    const WorkerId id{static_cast<std::uint32_t>(machine.workers.size())};
    machine.workers.push_back({id, kind, node});
  };
  for (std::uint32_t i = 0; i < parts.cores; ++i) add_worker(ProcessorKind::cpu, kRam);
  for (std::uint32_t i = 1; i <= parts.accelerators; ++i) {
    machine.nodes.push_back(
        {NodeId{i}, "device" + std::to_string(i), NodeKind::device, parts.memory});
    machine.links.push_back({kRam, NodeId{i}, kLink, Time{0}, 2});
    machine.links.push_back({NodeId{i}, kRam, kLink, Time{0}, 2});
    add_worker(ProcessorKind::emulated, NodeId{i});
  }
  return machine;
}

inline Codelet codelet_of(std::string name, Time cpu, Time emulated) {
  Codelet codelet;
  codelet.name = std::move(name);
  codelet.expected = {cpu, emulated};
  return codelet;
}

class ToldRun {
 public:
  // With nullptr nobody listens.
  ToldRun(const MachineDescription& machine, const std::string& policy,
          trace::DecisionListener* listener)
      : impl_(options_of(policy), runtime::MachineSetup(machine), listener) {}
  ~ToldRun() { impl_.close(); }
  Handle data(Bytes bytes) { return impl_.add_simulated(bytes, kRam, {}); }
  TaskId submit(const TaskSpec& spec) { return impl_.submit(spec); }
  void wait() { impl_.wait(); }
  Time now() const { return impl_.statistics().now; }
  // Into each node.
  std::vector<Bytes> bytes_in() const {
    const Statistics statistics = impl_.statistics();
    std::vector<Bytes> bytes;
    for (const NodeStatistics& node : statistics.nodes) bytes.push_back(node.bytes_in);
    return bytes;
  }
  // What each node took in and evicted, and when all was done.
  std::string account() const {
    const Statistics statistics = impl_.statistics();
    std::string text = std::to_string(statistics.now.ns) + " ns";
    for (const NodeStatistics& node : statistics.nodes) {
      text += "; " + std::to_string(node.bytes_in.value) + " in, " +
              std::to_string(node.evictions) + " evicted";
    }
    return text;
  }

 private:
  static Options options_of(const std::string& policy) {
    Options options;
    options.policy = policy;
    options.models = "none";
    return options;
  }
  runtime::RuntimeImpl impl_;
};

// Cholesky factorisation of n x n tiles of 1 MB; accelerators are ten times as fast as cores, and a tile takes as
// long to copy as a large task to run there.
inline std::vector<TaskId> submit_cholesky(ToldRun& run, std::size_t n) {
  static const Codelet kPotrf = codelet_of("potrf", Time{4'000'000}, Time{900'000});
  static const Codelet kTrsm = codelet_of("trsm", Time{8'000'000}, Time{850'000});
  static const Codelet kSyrk = codelet_of("syrk", Time{8'000'000}, Time{800'000});
  static const Codelet kGemm = codelet_of("gemm", Time{15'000'000}, Time{1'500'000});
  std::vector<std::vector<Handle>> tile(n);
  for (std::size_t m = 0; m < n; ++m) {
    for (std::size_t k = 0; k <= m; ++k) tile[m].push_back(run.data(Bytes{1'000'000}));
  }
  std::vector<TaskId> tasks;
  const auto submit = [&](const Codelet& codelet, std::vector<Operand> operands,
                          std::size_t before) {
    tasks.push_back(run.submit(
        {.codelet = &codelet, .operands = operands, .priority = static_cast<int>(2 * n - before)}));
  };
  for (std::size_t k = 0; k < n; ++k) {
    submit(kPotrf, {RW(tile[k][k])}, 2 * k);
    for (std::size_t m = k + 1; m < n; ++m) submit(kTrsm, {R(tile[k][k]), RW(tile[m][k])}, k + m);
    for (std::size_t m = k + 1; m < n; ++m) {
      submit(kSyrk, {R(tile[m][k]), RW(tile[m][m])}, k + m);
      for (std::size_t i = k + 1; i < m; ++i) {
        submit(kGemm, {R(tile[m][k]), R(tile[i][k]), RW(tile[m][i])}, m + i);
      }
    }
  }
  return tasks;
}

}  // namespace vicinal::testing
