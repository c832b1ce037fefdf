// What is simulated, and on what: a graph, from a file or generated, and a machine. Of `simulate` and
// `bounds`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "command_files.hpp"
#include "graph/graph.hpp"
#include "play/play.hpp"
#include "reports/report.hpp"

namespace vicinal::cli {

class GraphOptions {
 public:
  // This object must outlive the parse.
  explicit GraphOptions(CLI::App& command);
  GraphOptions(const GraphOptions&) = delete;
  GraphOptions& operator=(const GraphOptions&) = delete;

  // An option that the command itself has is one of graphs: "seed".
  void add_parameter(std::string name, CLI::Option* option) {
    parameters_.push_back({std::move(name), option});
  }
  // Throws UsageError that names the option or the place in the file.
  // `as_run`: see graphs::GraphRequest.
  graph::Graph graph(std::uint64_t seed, bool as_run = false) const;
  reports::Facts facts(const graph::Graph& graph) const;
  void add_to(CommandFiles& read) const { read.reads("--graph", file_); }
  const std::string& file() const { return file_; }
  const std::string& panel() const { return panel_; }
  // Of a dense application, also on two levels; else none.
  std::optional<graph::DenseShape> shape(const graph::Graph& graph) const;
  // The option says something of this graph, or of no graph at all: it may be one of another.
  bool concerns(const CLI::Option& option) const;
  // Of a sweep, one after the other.
  const std::string& tiles() const { return tiles_; }
  void set_tiles(std::string tiles) { tiles_ = std::move(tiles); }

 private:
  // Throws UsageError for an option that was given and that this graph does not have.
  void require_own_options() const;

  struct Parameter {
    std::string name;  // of GraphRequest
    CLI::Option* option;
  };
  std::string command_;
  std::vector<Parameter> parameters_;
  std::string application_;
  std::string file_;
  // The problem that `vicinal run` begins with: 8192 elements in tiles of 512 doubles.
  std::string tiles_ = "16";
  std::string tile_ = "512";
  std::string inner_ = "0";
  std::string panel_ = "0";
  std::string panel_tree_ = "flat";
  std::string precision_ = "double";
  std::string grid_ = "512x512";
  std::string blocks_ = "16";
  std::string iterations_ = "10";
  std::string tasks_ = "1000";
  std::string data_ = "100";
  std::string degree_ = "2";
  std::string width_ = "32";
  std::string steps_ = "10";
  std::string pattern_ = "stencil_1d";
  std::string radix_;
  std::string period_;
  std::string fraction_;
  std::string imbalance_ = "0";
  std::string bytes_ = "4MiB";
  std::string task_seconds_ = "0.001";
  std::string priorities_ = "given";
};

class MachineOptions {
 public:
  // `usual`: without --machine; empty: none.
  explicit MachineOptions(CLI::App& command, std::string usual = "v100");
  MachineOptions(const MachineOptions&) = delete;
  MachineOptions& operator=(const MachineOptions&) = delete;

  machine::MachineModel machine() const;
  // `other` with the limits that are asked for, where no machine is. Throws UsageError for what `other` cannot be asked for.
  machine::MachineModel machine_or(machine::MachineModel other) const;
  // machine_or() changes nothing.
  bool is_as_given() const { return name_.empty() && memory_.empty() && ram_.empty(); }
  // Several hosts, one rank on each; none: one machine is asked for.
  std::optional<machine::ClusterModel> cluster() const;
  void add_to(CommandFiles& read) const;
  // `policy`: what the default stands for, and why; empty: another one was asked for.
  reports::Facts facts(const machine::MachineModel& machine, const std::string& policy) const;
  const std::string& name() const { return name_; }
  // Of a sweep, one after the other; empty: not given.
  const std::string& gpus() const { return gpus_; }
  void set_gpus(std::string gpus) { gpus_ = std::move(gpus); }
  const std::string& memory() const { return memory_; }
  void set_memory(std::string memory) { memory_ = std::move(memory); }

 private:
  machine::MachineChoice choice() const;

  std::string name_;
  std::string gpus_;
  std::string cpus_;
  std::string ranks_;
  std::string cuda_devices_;
  std::string opencl_devices_;
  std::string memory_;
  std::string ram_;
};

}  // namespace vicinal::cli
