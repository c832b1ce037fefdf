// Question: what does a task cost beside its kernel? Three graphs of empty kernels:
//   independent  1,000,000 tasks without data
//   chain        1,000,000 tasks that read and write one datum
//   cholesky     right-looking, 64 tiles per column, 45,760 tasks of up to three accesses
// and the bytes of a pending task with three accesses. The dependencies are found from the accesses:
// by the library, or ("inferred": false) by a tracker beside it, whose time is included. Every library
// is checked, outside of what is timed, to run each task once and in an order that the accesses allow.
// `overhead --help` lists the options.
//
// Lower bound: 0, all of it is overhead. With N workers, N threads run tasks; the one that submits and
// waits is among them for Vicinal, OpenMP, oneTBB and PaRSEC, and is one more for StarPU and Taskflow.
// Peers are the executables *_overhead beside this one, built where their libraries were found (PaRSEC:
// where its folder is given to CMake, see cmake/VicinalBench.cmake).
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "comparison.hpp"
#include "help.hpp"
#include "overhead/rows.hpp"
#include "overhead/samples.hpp"
#include "overhead/vicinal_library.hpp"

namespace {

using overhead::Memory;
using overhead::Request;
using overhead::VicinalLibrary;

constexpr const char* kHelp =
    R"(What a task costs beside its kernel: bench/overhead.cpp says how it is measured.

  overhead                    all libraries in turn, several rounds: medians, least and most
  overhead --json -           the rows on standard output (else a file), the table on standard error
  overhead --samples ...      one round of this library; see overhead/samples.hpp
  overhead --count chain      a few tasks, once, for scripts/count-instructions
  overhead --kernels 256 --tiles 32   GFlop/s instead, of a factorisation of n = 256 x 32 in double
                              with the kernels of the main job in the tasks, for every library
  --rounds N, --repetitions N (per round), --tasks N, --tiles N change the amount
  --workers N, --verify, --bytes, --library N: of one round
)";

constexpr Memory kMemories[] = {Memory::free, Memory::limit, Memory::disk};
constexpr const char* kPeers[] = {"openmp_overhead", "tbb_overhead", "taskflow_overhead",
                                  "starpu_overhead", "parsec_overhead"};

void measure(const Request& request) {
  const int memories = request.kernels > 0 ? 1 : 3;  // the first has no limit
  for (int i = 0; i < memories; ++i) {
    overhead::print_samples_of<VicinalLibrary>(request, i, request.workers, kMemories[i]);
  }
}

// --- for callgrind: scripts/count-instructions counts what happens inside these two functions, by
// their names.

extern "C" [[gnu::noinline]] void overhead_counted_submission(VicinalLibrary& library,
                                                              const overhead::Graph& graph) {
  library.submit(graph, overhead::EmptyBody{});
}
extern "C" [[gnu::noinline]] void overhead_counted_execution(VicinalLibrary& library) {
  library.wait();
}

// Prints the number of tasks. One thread that works, and pools filled by the same work before: what
// is counted is the same in every run. A second thread sleeps, because the C library leaves out the
// lock prefixes of its mutexes in a process that never had one.
void count(const std::string& shape_name, const Request& request) {
  for (const auto shape :
       {overhead::Shape::independent, overhead::Shape::chain, overhead::Shape::cholesky}) {
    if (shape_name != to_string(shape)) continue;
    VicinalLibrary library(1, kMemories[std::max(0, request.only_library)]);
    const overhead::Graph graph = overhead::make_graph(shape, request.tasks, request.tiles);
    library.prepare(graph);
    overhead::verify_graph(library, graph);
    std::atomic<bool> end{false};
    std::thread sleeper([&end] { end.wait(false); });
    overhead_counted_submission(library, graph);
    overhead_counted_execution(library);
    end.store(true);
    end.notify_all();
    sleeper.join();
    std::printf("%llu\n", static_cast<unsigned long long>(graph.tasks));
    return;
  }
  throw std::invalid_argument("--count: " + shape_name +
                              " is none of independent, chain, cholesky");
}

// --- the comparison

struct Comparison {
  Request request;
  std::vector<std::uint32_t> workers = {1, 2};
  std::uint32_t rounds = 5;
  std::string json;  // file, or "-"
};

// Runs the executable and adds what it prints.
void run(const std::filesystem::path& executable, const std::string& arguments,
         overhead::Rows& rows) {
  const std::string text = bench::output_of("'" + executable.string() + "' --samples " + arguments);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (text[at] == '{') rows.add(nlohmann::json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
}

std::string arguments_of(const Request& request) {
  return "--tasks " + std::to_string(request.tasks) + " --tiles " + std::to_string(request.tiles) +
         " --repetitions " + std::to_string(request.repetitions) + " --kernels " +
         std::to_string(request.kernels);
}

// Each round measures every library once, so that a disturbance of the machine meets all of them.
overhead::Rows compare(const Comparison& comparison,
                       const std::vector<std::filesystem::path>& executables) {
  overhead::Rows rows;
  const std::string common = arguments_of(comparison.request);
  for (std::uint32_t round = 0; round < comparison.rounds; ++round) {
    for (const std::uint32_t workers : comparison.workers) {
      for (const std::filesystem::path& executable : executables) {
        std::fprintf(stderr, "\rround %u of %u, %u workers: %-20s", round + 1, comparison.rounds,
                     workers, executable.filename().c_str());
        run(executable,
            common + " --workers " + std::to_string(workers) + (round == 0 ? " --verify" : ""),
            rows);
      }
    }
  }
  if (comparison.request.kernels > 0) return rows;
  // In a process of its own for each library: memory that another one has freed would serve it.
  for (const std::filesystem::path& executable : executables) {
    for (int library = 0; library < 3; ++library) {
      run(executable, common + " --bytes --library " + std::to_string(library), rows);
    }
  }
  std::fprintf(stderr, "\r%60s\r", "");
  return rows;
}

void print_machine(const Comparison& comparison) {
  std::fprintf(stderr,
               "%ld processors, load %.2f at the end; %u rounds of %u repetitions; nanoseconds per "
               "task\n",
               sysconf(_SC_NPROCESSORS_ONLN), bench::load_of_machine(), comparison.rounds,
               comparison.request.repetitions);
}

void compare(const Comparison& comparison) {
  const overhead::Rows rows = compare(comparison, bench::executables_with(kPeers));
  rows.print(comparison.json.empty() ? stdout : stderr);
  bench::write_json(rows.json(), comparison.json);
  print_machine(comparison);
}

}  // namespace

int main(int count_of_arguments, char** arguments) {
  if (bench::helped(count_of_arguments, arguments, kHelp)) return 0;
  Comparison comparison;
  std::string shape_to_count;
  bool samples = false;
  std::vector<char*> others = {arguments[0]};
  for (int i = 1; i < count_of_arguments; ++i) {
    const std::string_view name = arguments[i];
    const bool has_value = i + 1 < count_of_arguments;
    if (name == "--samples") {
      samples = true;
    } else if (name == "--json" && has_value) {
      comparison.json = arguments[++i];
    } else if (name == "--rounds" && has_value) {
      comparison.rounds = static_cast<std::uint32_t>(std::stoul(arguments[++i]));
    } else if (name == "--count" && has_value) {
      shape_to_count = arguments[++i];
    } else {
      others.push_back(arguments[i]);
    }
  }
  return overhead::peer_main(static_cast<int>(others.size()), others.data(),
                             [&](const Request& request) {
                               comparison.request = request;
                               if (!shape_to_count.empty()) {
                                 count(shape_to_count, request);
                               } else if (samples) {
                                 measure(request);
                               } else {
                                 compare(comparison);
                               }
                             });
}
