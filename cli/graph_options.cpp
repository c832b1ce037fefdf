#include "graph_options.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "graph/bottom_level.hpp"
#include "graphfiles/graph_file.hpp"
#include "graphs/make_graph.hpp"
#include "reports/catalogue.hpp"
#include "vicinal/error.hpp"
#include "vicinal/version.hpp"

namespace vicinal::cli {

namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();

std::string applications() {
  std::string names;
  for (const auto& application : graphs::graph_applications()) {
    names += (names.empty() ? "" : ", ") + std::string(application.name);
  }
  return names;
}

linalg::Precision precision_of(const std::string& text) {
  if (text == "double") return linalg::Precision::f64;
  if (text == "float") return linalg::Precision::f32;
  throw UsageError(fmt::format("--precision: \"{}\" is neither double nor float", text));
}

std::optional<std::uint64_t> given_count(const char* name, const std::string& text) {
  if (text.empty()) return std::nullopt;
  return reports::parse_count(name, text, 0, kMost);
}

std::optional<double> given_real(const char* name, const std::string& text) {
  if (text.empty()) return std::nullopt;
  return reports::parse_real(name, text, 0);
}

void set_priorities(graph::Graph& graph, const std::string& how) {
  if (how == "bottom-level") {
    graph::set_bottom_level_priorities(graph);
  } else if (how == "none") {
    for (std::size_t t = 0; t < graph.tasks().size(); ++t) graph.set_priority(t, 0);
  } else if (how != "given") {
    throw UsageError(fmt::format("--priorities: \"{}\" is none of given, bottom-level, none", how));
  }
}

}  // namespace

GraphOptions::GraphOptions(CLI::App& command) : command_(command.get_name()) {
  command.add_option("application", application_, applications())->type_name("APPLICATION");
  const auto add = [&](const char* name, std::string& to, const std::string& type,
                       const char* sentence) {
    CLI::Option* const option =
        command.add_option(name, to, sentence)
            ->type_name(to.empty() ? type : fmt::format("{} [{}]", type, to))
            ->group("Graph");
    const std::string_view parameter = std::string_view(name).substr(2);
    add_parameter(std::string(parameter == "task-seconds" ? "seconds" : parameter), option);
  };
  add("--graph", file_, "FILE",
      "Read the graph from a file instead: our own format, WfFormat (WfCommons), DOT, DAX "
      "(Pegasus), STG, or "
      "StarPU's tasks.rec, known by its content.");
  add("--tiles", tiles_, "INTEGER", "Matrices: rows of tiles.");
  add("--tile", tile_, "INTEGER", "Matrices: order of a tile, in elements.");
  add("--inner", inner_, "INTEGER", "gemm2d, gemm3d: inner size in elements; 0: chosen.");
  add("--panel", panel_, "INTEGER",
      "cholesky: on two levels, tiles are factored by panels of so many elements; 0: on one. "
      "lu-incpiv, qr: columns eliminated at once; 0: chosen.");
  add("--panel-tree", panel_tree_, "TEXT",
      "qr, the tree that reduces a column of tiles to a triangle: flat or binary.");
  add("--precision", precision_, "TEXT", "Matrices: double or float.");
  add("--grid", grid_, "TEXT", "cg: points along the edges, in two dimensions or three.");
  add("--blocks", blocks_, "INTEGER", "cg: blocks of rows that the matrix is cut into.");
  add("--iterations", iterations_, "INTEGER", "cg: how many.");
  add("--tasks", tasks_, "INTEGER", "bipartite, random: how many.");
  add("--data", data_, "INTEGER", "bipartite: how many.");
  add("--degree", degree_, "INTEGER", "bipartite: data that each task reads.");
  add("--width", width_, "INTEGER", "stencil: blocks of the line; task_bench: tasks of a step.");
  add("--steps", steps_, "INTEGER", "stencil, task_bench: iterations.");
  add("--pattern", pattern_, "TEXT", "task_bench: which, by Task Bench's names.");
  add("--radix", radix_, "INTEGER",
      "task_bench: dependencies of nearest, spread and the random ones [3].");
  add("--period", period_, "INTEGER",
      "task_bench: steps until spread and the random ones repeat [3].");
  add("--fraction", fraction_, "REAL",
      "task_bench: of its neighbours that random_nearest depends on [0.25].");
  add("--imbalance", imbalance_, "REAL",
      "task_bench: tasks take up to half of it longer or shorter, at random.");
  add("--bytes", bytes_, "BYTES", "bipartite, stencil, random, task_bench: of a datum.");
  add("--task-seconds", task_seconds_, "REAL",
      "bipartite, stencil, random, task_bench: of a task.");
  add("--priorities", priorities_, "TEXT", "given, bottom-level or none.");
}

namespace {

bool has_parameter(const graphs::GraphApplication& application, std::string_view parameter) {
  return std::ranges::find(application.parameters, parameter) != application.parameters.end();
}

// Of which graphs, or nothing: it is no parameter of graphs.
std::string applications_with(std::string_view parameter) {
  std::string names;
  for (const auto& application : graphs::graph_applications()) {
    if (!has_parameter(application, parameter)) continue;
    names += (names.empty() ? "" : ", ") + std::string(application.name);
  }
  return names;
}

}  // namespace

bool GraphOptions::concerns(const CLI::Option& option) const {
  const auto parameter = std::ranges::find(parameters_, &option, &Parameter::option);
  if (parameter == parameters_.end() || applications_with(parameter->name).empty()) return true;
  return file_.empty() && std::ranges::any_of(graphs::graph_applications(), [&](const auto& known) {
           return known.name == application_ && has_parameter(known, parameter->name);
         });
}

void GraphOptions::require_own_options() const {
  const auto applications = graphs::graph_applications();
  const auto own = std::ranges::find(applications, application_, &graphs::GraphApplication::name);
  if (file_.empty() && own == applications.end())
    return;  // there is no such graph, as is said then
  for (const auto& [parameter, option] : parameters_) {
    const std::string owners = applications_with(parameter);
    if (option->count() == 0 || owners.empty()) continue;
    if (file_.empty() && has_parameter(*own, parameter)) continue;
    throw UsageError(fmt::format("{}: {} has no such option, only {} {} it; leave it away",
                                 option->get_name(), file_.empty() ? application_ : "a graph file",
                                 owners, owners.find(',') == std::string::npos ? "has" : "have"));
  }
}

graph::Graph GraphOptions::graph(std::uint64_t seed, bool as_run) const {
  if (file_.empty() == application_.empty()) {
    throw UsageError(
        fmt::format("say what, once: vicinal {} APPLICATION (one of {}) or vicinal {} --graph FILE",
                    command_, applications(), command_));
  }
  require_own_options();
  graph::Graph graph;
  if (!file_.empty()) {
    graph = graphfiles::read_graph(file_);
  } else {
    graph = graphs::make_graph(
        {.application = application_,
         .tiles = reports::parse_count("--tiles", tiles_, 1, kMost),
         .tile = reports::parse_count("--tile", tile_, 1, kMost),
         .inner = reports::parse_count("--inner", inner_, 0, kMost),
         .panel = reports::parse_count("--panel", panel_, 0, kMost),
         .panel_tree = panel_tree_,
         .precision = precision_of(precision_),
         .as_run = as_run,
         .grid = grid_,
         .blocks = reports::parse_count("--blocks", blocks_, 1, kMost),
         .iterations = reports::parse_count("--iterations", iterations_, 1, kMost),
         .tasks = reports::parse_count("--tasks", tasks_, 1, kMost),
         .data = reports::parse_count("--data", data_, 1, kMost),
         .degree = reports::parse_count("--degree", degree_, 1, kMost),
         .seed = seed,
         .width = reports::parse_count("--width", width_, 1, kMost),
         .steps = reports::parse_count("--steps", steps_, 1, kMost),
         .pattern = pattern_,
         .imbalance = reports::parse_real("--imbalance", imbalance_, 0),
         .radix = given_count("--radix", radix_),
         .period = given_count("--period", period_),
         .fraction = given_real("--fraction", fraction_),
         .bytes = reports::parse_bytes("--bytes", bytes_),
         .seconds = reports::parse_real("--task-seconds", task_seconds_, 0)});
  }
  set_priorities(graph, priorities_);
  if (graph.application().name.empty()) graph.application().name = "graph";
  return graph;
}

// What a graph on two levels says of its shape would be taken for that of tiles alone, by bounds.
std::optional<graph::DenseShape> GraphOptions::shape(const graph::Graph& graph) const {
  if (graph.application().dense || application_ != "cholesky" || !file_.empty())
    return graph.application().dense;
  graph::DenseShape shape;
  shape.tiles = reports::parse_count("--tiles", tiles_, 1, kMost);
  shape.tile = reports::parse_count("--tile", tile_, 1, kMost);
  return shape;
}

reports::Facts GraphOptions::facts(const graph::Graph& graph) const {
  Bytes bytes;
  for (const graph::Graph::Datum& datum : graph.data()) bytes += datum.bytes;
  for (const auto& [whole, first, count] : graph.partitions()) {  // parts lie inside their wholes
    for (auto part = first; part < first + count; ++part) bytes = bytes - graph.data()[part].bytes;
  }
  reports::Facts facts;
  if (!file_.empty()) facts.emplace_back("graph", file_);
  if (graph.application().dense) {
    facts.emplace_back("tiles", graph.application().dense->tiles);
    facts.emplace_back("tile", graph.application().dense->tile);
  }
  if (!graph.application().precision.empty())
    facts.emplace_back("precision", graph.application().precision);
  if (application_ == "cg") {
    facts.emplace_back("grid", grid_);
    facts.emplace_back("blocks", blocks_);
    facts.emplace_back("iterations", iterations_);
  }
  if (application_ == "task_bench") facts.emplace_back("pattern", pattern_);
  if (panel_ != "0") facts.emplace_back("panel", panel_);
  if (application_ == "qr") facts.emplace_back("panel_tree", panel_tree_);
  facts.emplace_back("tasks", std::uint64_t{graph.tasks().size()});
  facts.emplace_back("data", std::uint64_t{graph.data().size()});
  facts.emplace_back("data_bytes", bytes);
  facts.emplace_back("priorities", priorities_);
  return facts;
}

namespace {

// As the option memory of a runtime: in pages, of which there must be one.
Bytes limit(const char* name, const std::string& text) {
  constexpr Bytes kLeast{4096};
  constexpr Bytes kLargest{1ULL << 60};  // as in a machine file
  const Bytes bytes = reports::parse_bytes(name, text);
  if (bytes < kLeast || bytes > kLargest) {
    throw UsageError(fmt::format(
        "{}: \"{}\" is out of range. Write a number of bytes from {} to {}, such as 800MiB", name,
        text, kLeast.value, kLargest.value));
  }
  return bytes;
}

constexpr const char* kOneMemory =
    "--memory and --ram: a machine without GPUs and devices has one memory; give one limit";

}  // namespace

MachineOptions::MachineOptions(CLI::App& command, std::string usual) : name_(std::move(usual)) {
  const auto add = [&](const char* name, std::string& to, const std::string& type,
                       const char* sentence) {
    command.add_option(name, to, sentence)
        ->type_name(to.empty() ? type : fmt::format("{} [{}]", type, to))
        ->group("Machine");
  };
  add("--machine", name_, "NAME", "One that is shipped (vicinal machine --list), or a TOML file.");
  add("--ranks", ranks_, "INTEGER",
      "How many hosts of a cluster; 1: one of them, without the network.");
  add("--gpus", gpus_, "INTEGER", "How many of its GPUs; else all that it has by default.");
  add("--cpus", cpus_, "INTEGER", "How many CPU workers; else as many as it has by default.");
  add("--cuda-devices", cuda_devices_, "INTEGER", "How many of its CUDA devices; else all.");
  add("--opencl-devices", opencl_devices_, "INTEGER", "How many of its OpenCL devices; else all.");
  add("--memory", memory_, "BYTES",
      "Limit on the replicas on each GPU and device; in RAM if there are none.");
  add("--ram", ram_, "BYTES", "Limit on the replicas in RAM.");
}

machine::MachineChoice MachineOptions::choice() const {
  machine::MachineChoice choice;
  const auto count = [](const char* name, const std::string& text) {
    return static_cast<std::uint32_t>(reports::parse_count(name, text, 0, kMost));
  };
  if (!ranks_.empty()) {
    choice.ranks = static_cast<std::uint32_t>(reports::parse_count("--ranks", ranks_, 1, kMost));
  }
  if (!gpus_.empty()) choice.gpus = count("--gpus", gpus_);
  if (!cpus_.empty()) choice.cpu_workers = count("--cpus", cpus_);
  if (!cuda_devices_.empty()) choice.cuda_devices = count("--cuda-devices", cuda_devices_);
  if (!opencl_devices_.empty()) choice.opencl_devices = count("--opencl-devices", opencl_devices_);
  if (!ram_.empty()) choice.ram = limit("--ram", ram_);
  if (!memory_.empty()) {
    const Bytes memory = limit("--memory", memory_);
    const std::optional<machine::ClusterModel> cluster = machine::load_cluster(name_, choice);
    const machine::MachineModel plain =
        cluster ? cluster->host : machine::load_machine(name_, choice);
    const bool gpus = std::ranges::any_of(plain.description.nodes, [](const NodeDescription& node) {
      return node.kind == NodeKind::device;
    });
    if (!gpus && choice.ram) {
      throw UsageError(kOneMemory);
    }
    (gpus ? choice.gpu_memory : choice.ram) = memory;
  }
  return choice;
}

machine::MachineModel MachineOptions::machine() const {
  return machine::load_machine(name_, choice());
}

machine::MachineModel MachineOptions::machine_or(machine::MachineModel other) const {
  if (!name_.empty()) return machine();
  for (const auto& [option, text] : {std::pair("--ranks", ranks_),
                                     {"--gpus", gpus_},
                                     {"--cpus", cpus_},
                                     {"--cuda-devices", cuda_devices_},
                                     {"--opencl-devices", opencl_devices_}}) {
    if (text.empty()) continue;
    throw UsageError(fmt::format(
        "{}: of a recorded machine only the limits can be others; give --machine, too", option));
  }
  auto& nodes = other.description.nodes;
  const bool devices = std::ranges::count(nodes, NodeKind::device, &NodeDescription::kind) > 0;
  if (!devices && !memory_.empty() && !ram_.empty()) throw UsageError(kOneMemory);
  for (NodeDescription& node : nodes) {
    const bool is_device = node.kind == NodeKind::device;
    if (node.kind == NodeKind::disk) continue;
    if (!memory_.empty() && is_device == devices) node.limit = limit("--memory", memory_);
    if (!ram_.empty() && !is_device) node.limit = limit("--ram", ram_);
  }
  return other;
}

std::optional<machine::ClusterModel> MachineOptions::cluster() const {
  std::optional<machine::ClusterModel> cluster = machine::load_cluster(name_, choice());
  if (cluster && cluster->network.hosts == 1) return std::nullopt;
  return cluster;
}

void MachineOptions::add_to(CommandFiles& read) const {
  if (machine::is_machine_file(name_)) read.reads("--machine", name_);
}

reports::Facts MachineOptions::facts(const machine::MachineModel& machine,
                                     const std::string& policy) const {
  reports::Facts facts{{"vicinal", std::string(version())}, {"name", machine.name}};
  std::array<std::uint64_t, kProcessorKinds> workers{};
  for (const WorkerDescription& worker : machine.description.workers) {
    ++workers[static_cast<std::size_t>(worker.kind)];
  }
  for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
    if (workers[kind] == 0) continue;
    facts.emplace_back(std::string(to_string(static_cast<ProcessorKind>(kind))) + "_workers",
                       workers[kind]);
  }
  if (!memory_.empty()) facts.emplace_back("memory", limit("--memory", memory_));
  if (!ram_.empty()) facts.emplace_back("ram", limit("--ram", ram_));
  if (!policy.empty()) facts.emplace_back("policy", policy);
  return facts;
}

}  // namespace vicinal::cli
