// Measures one library in one process and prints each sample as a JSON object on a line. Used by
// bench/overhead.cpp and, each in an executable of its own, by its peers.
//
//   submit    from before the first submission to the return of the last, while nothing runs
//   execute   from letting the tasks go to the return of the wait for them, all being submitted
//   both      from before the first submission to the return of the wait, nothing being deferred
//   cpu       processor time of all threads of the process over `both`
//
// What a library frees after its tasks is part of `execute` and of `both`. A library that cannot hold
// its tasks back has `both` alone.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "overhead/graphs.hpp"
#include "overhead/tile_work.hpp"
#include "peer_main.hpp"

namespace overhead {

struct Request {
  std::uint32_t workers = 1;
  std::uint64_t tasks = 1'000'000;
  std::uint32_t tiles = 64;
  std::uint32_t repetitions = 3;
  std::uint32_t kernels = 0;  // the order of tiles that are factorised; 0: the tasks are empty
  bool verify = false;        // first, the order of execution
  bool bytes = false;         // bytes of pending tasks instead of times
  int only_library = -1;      // number of the one to measure, of those in this executable; -1: all

  bool wants(int number) const { return only_library < 0 || only_library == number; }
};

// Throws std::invalid_argument that names the wrong one.
inline Request parse_request(int count, char** arguments) {
  Request request;
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    const auto value = [&] {
      if (i + 1 == count) throw std::invalid_argument(std::string(name) + " needs a value");
      return std::string(arguments[++i]);
    };
    if (name == "--samples") continue;
    if (name == "--verify") {
      request.verify = true;
    } else if (name == "--bytes") {
      request.bytes = true;
    } else if (name == "--workers") {
      request.workers = static_cast<std::uint32_t>(std::stoul(value()));
    } else if (name == "--tasks") {
      request.tasks = std::stoull(value());
    } else if (name == "--tiles") {
      request.tiles = static_cast<std::uint32_t>(std::stoul(value()));
    } else if (name == "--repetitions") {
      request.repetitions = static_cast<std::uint32_t>(std::stoul(value()));
    } else if (name == "--kernels") {
      request.kernels = static_cast<std::uint32_t>(std::stoul(value()));
    } else if (name == "--library") {
      request.only_library = std::stoi(value());
    } else {
      throw std::invalid_argument("unknown argument " + std::string(name));
    }
  }
  return request;
}

inline std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages_in_all = 0;
  std::int64_t pages_resident = 0;
  statm >> pages_in_all >> pages_resident;
  return pages_resident * sysconf(_SC_PAGESIZE);
}

struct EmptyBody {
  void operator()(std::uint64_t) const {}
};
struct WorkBody {
  Work* work;
  void operator()(std::uint64_t index) const { work->run(index); }
};

struct Samples {
  std::vector<std::int64_t> both;
  std::vector<std::int64_t> cpu;
  std::vector<std::int64_t> submit;
  std::vector<std::int64_t> execute;
};

inline void print_list(const char* name, const std::vector<std::int64_t>& values) {
  std::printf(",\"%s\":[", name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("%s%" PRId64, i == 0 ? "" : ",", values[i]);
  }
  std::printf("]");
}

// A Library has
//   static constexpr bool kInferred    it is told accesses and finds the dependencies itself
//   std::string name() const           of the rows
//   bool runs(Shape) const
//   void prepare(const Graph&)         data; not timed
//   bool hold()                        nothing submitted from now on runs; false: it cannot
//   void let_go()
//   void submit(const Graph&, Body)    all tasks of the graph; Body is called with the task's number
//   void wait()
//
// The answers of most of them.
struct LibraryDefaults {
  bool runs(Shape) const { return true; }
  void prepare(const Graph&) {}
  bool hold() { return true; }
  void let_go() {}
};

template <typename Library>
Samples time_graph(Library& library, const Graph& graph, std::uint32_t repetitions) {
  Samples samples;
  // The first run is not kept: pools fill, pages are touched.
  for (std::uint32_t i = 0; i <= repetitions; ++i) {
    const std::int64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const std::int64_t start = clock_ns(CLOCK_MONOTONIC);
    library.submit(graph, EmptyBody{});
    library.wait();
    if (i == 0) continue;
    samples.both.push_back(clock_ns(CLOCK_MONOTONIC) - start);
    samples.cpu.push_back(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  }
  for (std::uint32_t i = 0; i <= repetitions; ++i) {
    if (!library.hold()) break;
    const std::int64_t start = clock_ns(CLOCK_MONOTONIC);
    library.submit(graph, EmptyBody{});
    const std::int64_t submitted = clock_ns(CLOCK_MONOTONIC);
    library.let_go();
    library.wait();
    if (i == 0) continue;
    samples.submit.push_back(submitted - start);
    samples.execute.push_back(clock_ns(CLOCK_MONOTONIC) - submitted);
  }
  return samples;
}

// True if the tasks ran while they were being submitted, on the thread that submitted them.
template <typename Library>
bool verify_graph(Library& library, const Graph& graph) {
  Ledger ledger(graph);
  ledger.begin_submission();
  library.submit(graph, WorkBody{&ledger});
  ledger.end_submission();
  library.wait();
  ledger.check(library.name(), graph.shape);
  return ledger.ran_at_creation();
}

template <typename Library>
void print_head(const Library& library, const Request& request, const Graph& graph) {
  std::printf("{\"runtime\":\"%s\",\"shape\":\"%s\",\"workers\":%u,\"tasks\":%" PRIu64
              ",\"inferred\":%s",
              library.name().c_str(), std::string(to_string(graph.shape)).c_str(), request.workers,
              graph.tasks, Library::kInferred ? "true" : "false");
}

#if VICINAL_HAVE_BLAS
// Of a real factorisation, in flops per ns. Its result is checked once.
template <typename Library>
void print_kernels(Library& library, const Request& request) {
  if (!library.runs(Shape::cholesky)) return;
  const Graph graph = make_graph(Shape::cholesky, request.tasks, request.tiles);
  TileWork work(graph, request.kernels);
  library.prepare(graph);
  std::printf("{\"runtime\":\"%s\",\"shape\":\"tiles of %u\",\"workers\":%u,\"tasks\":%" PRIu64
              ",\"inferred\":%s,\"gflops\":[",
              library.name().c_str(), request.kernels, request.workers, graph.tasks,
              Library::kInferred ? "true" : "false");
  for (std::uint32_t i = 0; i <= request.repetitions; ++i) {
    work.fill();
    const std::int64_t start = clock_ns(CLOCK_MONOTONIC);
    library.submit(graph, WorkBody{&work});
    library.wait();
    const auto ns = static_cast<double>(clock_ns(CLOCK_MONOTONIC) - start);
    if (i == 0) {
      work.check(library.name());
    } else {
      std::printf("%s%.3f", i == 1 ? "" : ",", work.flops() / ns);
    }
  }
  std::printf("]}\n");
}
#else
template <typename Library>
void print_kernels(Library&, const Request&) {
  throw std::invalid_argument("--kernels needs a build with a serial OpenBLAS");
}
#endif

// The resident set before and after a submission that fills a process that has run no task.
template <typename Library>
void print_bytes(Library& library, const Request& request) {
  if (!library.runs(Shape::pending)) return;
  const Graph graph = make_graph(Shape::pending, request.tasks, request.tiles);
  library.prepare(graph);
  if (!library.hold()) return;
  const std::int64_t before = resident_bytes();
  library.submit(graph, EmptyBody{});
  const std::int64_t after = resident_bytes();
  library.let_go();
  library.wait();
  print_head(library, request, graph);
  std::printf(",\"bytes_per_task\":%.1f}\n",
              static_cast<double>(after - before) / static_cast<double>(graph.tasks));
}

template <typename Library>
void print_samples(Library& library, const Request& request) {
  if (request.bytes) return print_bytes(library, request);
  if (request.kernels > 0) return print_kernels(library, request);
  for (const Shape shape : {Shape::independent, Shape::chain, Shape::cholesky}) {
    if (!library.runs(shape)) continue;
    const Graph graph = make_graph(shape, request.tasks, request.tiles);
    library.prepare(graph);
    std::string at_creation;
    if (request.verify) {
      at_creation = verify_graph(library, graph) ? ",\"runs_at_creation\":true"
                                                 : ",\"runs_at_creation\":false";
    }
    const Samples samples = time_graph(library, graph, request.repetitions);
    print_head(library, request, graph);
    std::printf("%s", at_creation.c_str());
    print_list("both", samples.both);
    print_list("cpu", samples.cpu);
    print_list("submit", samples.submit);
    print_list("execute", samples.execute);
    std::printf("}\n");
    std::fflush(stdout);
  }
}

// Of the library of this number, made from the arguments, if it is wanted.
template <typename Library, typename... Arguments>
void print_samples_of(const Request& request, int number, const Arguments&... arguments) {
  if (!request.wants(number)) return;
  Library library(arguments...);
  print_samples(library, request);
}

// main() of a peer: `measure(request)` prints its samples.
template <typename Measure>
int peer_main(int count, char** arguments, Measure&& measure) {
  return bench::peer_main(count, arguments, "overhead",
                          [&] { measure(parse_request(count, arguments)); });
}

// Where each library is made from a number of workers.
template <typename... Libraries>
int peer_main(int count, char** arguments) {
  return peer_main(count, arguments, [](const Request& request) {
    int number = 0;
    (print_samples_of<Libraries>(request, number++, request.workers), ...);
  });
}

}  // namespace overhead
