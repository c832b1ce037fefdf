// Question: how short can tasks be, if half of the time is to be spent in them? The dependence patterns
// of Task Bench (taskbench/graphs.hpp), with its options:
// `taskbench --help` lists the options.
//
// Lower bound: 0, all of the METG is overhead. With N workers, N threads run tasks; the one that
// submits and waits is among them for Vicinal and OpenMP, and is one more for Taskflow. VICINAL_
// variables apply. Peers are the executables *_taskbench beside this one, built where their libraries
// were found.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <nlohmann/json.hpp>

#include "comparison.hpp"
#include "help.hpp"
#include "taskbench/metg.hpp"
#include "taskbench/samples.hpp"
#include "taskbench/vicinal_library.hpp"

namespace {

using Arguments = std::vector<std::string>;

constexpr const char* kPeers[] = {"openmp_taskbench", "taskflow_taskbench"};

struct Comparison {
  bool wanted = false;
  bool all = false;  // patterns
  std::uint64_t rounds = 3;
  std::string json;  // file, or "-"
  Arguments others;  // as they were given
};

// What is measured: the options of a graph, before those that were given.
std::vector<Arguments> graphs_to_measure(const Comparison& comparison) {
  const auto graph = [](std::string_view type, const std::string& width) {
    // The longest period that spread may have.
    return Arguments{
        "-steps", "1000",    "-kernel", "compute_bound", "-iter",           "32768",  "-radix",
        "5",      "-period", "2",       "-type",         std::string(type), "-width", width};
  };
  if (std::ranges::find(comparison.others, "-type") != comparison.others.end()) {
    return {graph("trivial", "8")};
  }
  if (!comparison.all) return {graph("stencil_1d", "4"), graph("nearest", "8")};
  std::vector<Arguments> graphs;
  for (const std::string_view name : taskbench::kPatternNames) graphs.push_back(graph(name, "8"));
  return graphs;
}

std::vector<Arguments> workers_to_measure(const Comparison& comparison) {
  for (const char* option : {"-worker", "-workers"}) {
    if (std::ranges::find(comparison.others, option) != comparison.others.end()) return {{}};
  }
  return {{"-worker", "1"}, {"-worker", "2"}};
}

// Runs the executable and adds what it prints.
void run(const std::filesystem::path& executable, const Arguments& arguments,
         taskbench::Rows& rows) {
  std::string command = "'" + executable.string() + "' --samples";
  for (const std::string& argument : arguments) command += " " + argument;
  rows.add(nlohmann::json::parse(bench::output_of(command)));
}

// Also keeps what is no option from the shell.
void check(const Arguments& arguments) {
  const taskbench::Request request = taskbench::parse_request(arguments);
  if (request.shapes.size() > 1) throw std::invalid_argument("--metg takes one graph, no -and");
  if (request.shapes.front().kernel.work() == 0) {
    throw std::invalid_argument("--metg takes a -kernel that has work, and an -iter above 0");
  }
}

// Each round measures every library once, so that a disturbance of the machine meets all of them.
taskbench::Rows measure(const Comparison& comparison,
                        const std::vector<std::filesystem::path>& executables) {
  taskbench::Rows rows;
  for (std::uint64_t round = 0; round < comparison.rounds; ++round) {
    for (const Arguments& graph : graphs_to_measure(comparison)) {
      for (const Arguments& workers : workers_to_measure(comparison)) {
        Arguments arguments = graph;
        for (const Arguments& more : {workers, comparison.others}) {
          arguments.insert(arguments.end(), more.begin(), more.end());
        }
        if (round > 0) arguments.emplace_back("-skip-graph-validation");
        check(arguments);
        for (const std::filesystem::path& executable : executables) {
          std::fprintf(
              stderr, "\rround %llu of %llu: %-20s", static_cast<unsigned long long>(round + 1),
              static_cast<unsigned long long>(comparison.rounds), executable.filename().c_str());
          run(executable, arguments, rows);
        }
      }
    }
  }
  std::fprintf(stderr, "\r%60s\r", "");
  return rows;
}

void compare(const Comparison& comparison) {
  const taskbench::Rows rows = measure(comparison, bench::executables_with(kPeers));
  rows.print(comparison.json.empty() ? stdout : stderr);
  bench::write_json(rows.json(), comparison.json);
  std::fprintf(stderr, "%ld processors, load %.2f at the end; medians of %llu rounds\n",
               sysconf(_SC_NPROCESSORS_ONLN), bench::load_of_machine(),
               static_cast<unsigned long long>(comparison.rounds));
}

constexpr const char* kHelp =
    R"(How short tasks can be: the dependence patterns of Task Bench, with its options.

  taskbench -steps 1000 -width 4 -type stencil_1d -kernel compute_bound -iter 64 -worker 2

runs one graph once and reports tasks, flops and time in the words that the scripts of Task Bench
look for. A run before it checks the inputs of every task, unless there is -skip-graph-validation.
  -type     trivial no_comm stencil_1d stencil_1d_periodic dom tree fft all_to_all nearest spread
            random_nearest; -radix, -period, -fraction for the last three
  -kernel   empty, compute_bound, or memory_bound with -scratch bytes and -sample pieces of them
  -iter     iterations of the kernel: 128 flops, or one piece copied
  -output   bytes that a task writes; -field N: data per point, 2 at least
  -and      begins another graph that runs at the same time
  -worker   threads that run tasks (also -workers)

  taskbench --metg            all libraries in turn, several rounds, about a minute: the efficiency
                              for each length of tasks and METG(50 %), see taskbench/metg.hpp, of
                              stencil_1d, 4 wide, and nearest with radix 5, 8 wide; 1000 steps, 1
                              and 2 workers
  taskbench --metg --all      of every pattern, 8 wide: some minutes
  taskbench --metg --json -   the rows on standard output (else a file), the tables on standard error
  --rounds N changes the amount. -type, -worker and the other options above change what is measured;
  -iter is where the lengths begin.
)";

Comparison parse(int count, char** arguments) {
  Comparison comparison;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    const bool has_value = i + 1 < count;
    if (name == "--metg") {
      comparison.wanted = true;
    } else if (name == "--all") {
      comparison.all = true;
    } else if (name == "--json" && has_value) {
      comparison.json = arguments[++i];
    } else if (name == "--rounds" && has_value) {
      comparison.rounds = taskbench::parse_number(name, arguments[++i]);
    } else {
      comparison.others.push_back(name);
    }
  }
  return comparison;
}

}  // namespace

int main(int count, char** arguments) {
  if (bench::helped(count, arguments, kHelp)) return 0;
  try {
    const Comparison comparison = parse(count, arguments);
    if (comparison.wanted) {
      compare(comparison);
    } else {
      const taskbench::Request request = taskbench::parse_request(comparison.others);
      taskbench::VicinalLibrary library(request.workers);
      taskbench::run_request(library, request);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", arguments[0], error.what());
    return 1;
  }
}
