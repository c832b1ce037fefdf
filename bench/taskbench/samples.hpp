// Runs task graphs with one library in one process: either once, with a report in the words that the
// scripts of Task Bench look for, or with shorter and shorter tasks, with one JSON object of all times
// for bench/taskbench.cpp. Used by it and, each in an executable of its own, by its peers.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "peer_main.hpp"
#include "taskbench/graphs.hpp"
#include "taskbench/tasks.hpp"

namespace taskbench {

struct Request {
  std::vector<Shape> shapes = {Shape{}};
  std::uint32_t workers = std::max(1U, std::thread::hardware_concurrency());
  bool verify = true;    // first, the order of execution
  bool samples = false;  // from -iter down, for bench/taskbench.cpp
};

template <typename Enum, std::size_t N>
Enum parse_name(const std::string& option, const std::string& text,
                const std::string_view (&names)[N]) {
  const auto* const found = std::ranges::find(names, text);
  if (found == std::end(names)) throw std::invalid_argument(option + ": no " + text);
  return static_cast<Enum>(found - names);
}

inline std::uint64_t parse_number(const std::string& option, const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) {
    throw std::invalid_argument(option + ": " + text + " is not a number");
  }
  return std::stoull(text);
}

inline double parse_fraction(const std::string& option, const std::string& text) {
  double value = -1;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || parsed != end || !(value >= 0 && value <= 1)) {
    throw std::invalid_argument(option + ": " + text + " is not between 0 and 1");
  }
  return value;
}

// False if it is none of the options of a graph.
inline bool parse_shape(Shape& shape, const std::string& option, const std::string& value) {
  const auto number = [&] { return parse_number(option, value); };
  const auto small = [&] {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(number(), UINT32_MAX));
  };
  if (option == "-steps") {
    shape.steps = small();
  } else if (option == "-width") {
    shape.width = small();
  } else if (option == "-type") {
    shape.pattern = parse_name<Pattern>(option, value, kPatternNames);
  } else if (option == "-radix") {
    shape.radix = small();
  } else if (option == "-period") {
    shape.period = small();
  } else if (option == "-fraction") {
    shape.fraction = parse_fraction(option, value);
  } else if (option == "-field") {
    shape.fields = small();
  } else if (option == "-kernel") {
    shape.kernel.type = parse_name<KernelType>(option, value, kKernelNames);
  } else if (option == "-iter") {
    shape.kernel.iterations = number();
  } else if (option == "-output") {
    shape.output = number();
  } else if (option == "-scratch") {
    shape.kernel.scratch = number();
  } else if (option == "-sample") {
    shape.kernel.samples = number();
  } else {
    return false;
  }
  return true;
}

// A later option prevails. Throws std::invalid_argument that names the wrong one.
inline Request parse_request(std::span<const std::string> arguments) {
  Request request;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "-and") {
      request.shapes.emplace_back();
    } else if (name == "--samples") {
      request.samples = true;
    } else if (name == "-skip-graph-validation") {
      request.verify = false;
    } else if (i + 1 == arguments.size()) {
      throw std::invalid_argument(name + ": unknown, or without its value");
    } else if (name == "-worker" || name == "-workers") {
      const std::uint64_t workers = parse_number(name, arguments[++i]);
      if (workers == 0 || workers > 1024) throw std::invalid_argument(name + ": 1 to 1024");
      request.workers = static_cast<std::uint32_t>(workers);
    } else if (!parse_shape(request.shapes.back(), name, arguments[i + 1])) {
      throw std::invalid_argument("unknown argument " + name);
    } else {
      ++i;
    }
  }
  return request;
}

// A Library has
//   std::string name() const
//   void prepare(const Graphs&)   data; not timed
//   void submit(const Graphs&)    all tasks
//   void wait()
template <typename Library>
std::int64_t time_graphs(Library& library, const Graphs& graphs) {
  const auto start = std::chrono::steady_clock::now();
  library.submit(graphs);
  library.wait();
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

template <typename Library>
void verify(Library& library, Graphs& graphs) {
  Verification verification;
  graphs.verify_with(&verification);
  library.submit(graphs);
  library.wait();
  graphs.verify_with(nullptr);
  verification.check(library.name(), graphs.tasks());
}

// The report of one run.
inline void print_configuration(const Request& request) {
  std::printf("Configuration:\n");
  for (const Shape& shape : request.shapes) {
    std::printf("  Time Steps: %u\n  Max Width: %u\n  Dependence Type: %s\n", shape.steps,
                shape.width, std::string(shape.name()).c_str());
    std::printf("  Kernel: %s\n  Iterations: %" PRIu64 "\n  Output Bytes: %" PRIu64 "\n",
                std::string(kKernelNames[static_cast<std::size_t>(shape.kernel.type)]).c_str(),
                shape.kernel.iterations, shape.output);
  }
}
inline void print_report(const Graphs& graphs, std::int64_t ns) {
  const std::uint64_t flops = graphs.sum([](const Kernel& kernel) { return kernel.flops(); });
  const std::uint64_t bytes = graphs.sum([](const Kernel& kernel) { return kernel.bytes(); });
  const double seconds = static_cast<double>(ns) * 1e-9;
  std::printf("Total Tasks %" PRIu64 "\nTotal Dependencies %" PRIu64 "\n", graphs.tasks(),
              graphs.dependencies());
  std::printf("Total FLOPs %" PRIu64 "\nTotal Bytes %" PRIu64 "\n", flops, bytes);
  std::printf("Elapsed Time %e seconds\n", seconds);
  std::printf("FLOP/s %e\nB/s %e\n", static_cast<double>(flops) / seconds,
              static_cast<double>(bytes) / seconds);
}

struct Times {
  std::uint64_t work = 0;
  std::vector<std::int64_t> ns;
  // The best one, per nanosecond.
  double rate() const {
    return static_cast<double>(work) / static_cast<double>(std::ranges::min(ns));
  }
};

// At least so often; a short run more often.
template <typename Library>
Times time_repeatedly(Library& library, const Graphs& graphs, std::size_t least = 1) {
  constexpr std::int64_t kEnough = 30'000'000;  // ns
  constexpr std::size_t kMost = 5;
  Times times{.work = graphs.sum([](const Kernel& kernel) { return kernel.work(); }), .ns = {}};
  std::int64_t spent = 0;
  while (times.ns.size() < least || (times.ns.size() < kMost && spent < kEnough)) {
    times.ns.push_back(time_graphs(library, graphs));
    spent += times.ns.back();
  }
  return times;
}

// Twice the iterations in a few steps: the rate when there is next to no overhead.
template <typename Library>
double long_tasks_rate(Library& library, Shape shape) {
  shape.steps = std::min(shape.steps, 50U);
  shape.kernel.iterations *= 2;
  return time_repeatedly(library, Graphs({shape}), 3).rate();
}

using TimesByIterations = std::map<std::uint64_t, Times, std::greater<>>;

inline void print_times(const TimesByIterations& curve) {
  const char* separator = "";
  for (const auto& [iterations, times] : curve) {
    std::printf("%s\n{\"iterations\":%" PRIu64 ",\"work\":%" PRIu64 ",\"ns\":[", separator,
                iterations, times.work);
    separator = ",";
    for (std::size_t i = 0; i < times.ns.size(); ++i) {
      std::printf("%s%" PRId64, i == 0 ? "" : ",", times.ns[i]);
    }
    std::printf("]}");
  }
}

// From the iterations asked for upwards until most of the best rate is reached, in a few steps at most;
// downwards until a fifth is left; factors of two.
template <typename Library>
void print_samples(Library& library, const Request& request, Graphs& graphs) {
  const Shape& shape = request.shapes.front();
  const std::uint64_t first = shape.kernel.iterations;
  TimesByIterations curve;
  const auto time = [&](std::uint64_t iterations) {
    graphs.set_iterations(iterations);
    return curve.emplace(iterations, time_repeatedly(library, graphs)).first->second.rate();
  };

  // Not kept: pools fill, pages are touched.
  graphs.set_iterations(std::min<std::uint64_t>(first, 64));
  time_graphs(library, graphs);
  double best = long_tasks_rate(library, shape);
  for (std::uint64_t iterations = first; iterations <= 8 * first; iterations *= 2) {
    const double rate = time(iterations);
    best = std::max(best, rate);
    if (rate > 0.6 * best) break;
  }
  for (std::uint64_t iterations = first / 2; iterations > 0; iterations /= 2) {
    const double rate = time(iterations);
    best = std::max(best, rate);
    if (rate < 0.2 * best) break;
  }

  std::printf(
      "{\"runtime\":\"%s\",\"workers\":%u,\"pattern\":\"%s\",\"steps\":%u,\"width\":%u,"
      "\"radix\":%u,\"tasks\":%" PRIu64 ",\"curve\":[",
      library.name().c_str(), request.workers, std::string(shape.name()).c_str(), shape.steps,
      shape.width, shape.radix, graphs.tasks());
  print_times(curve);
  std::printf("],\"best_rate\":%.6f}\n", best);  // work per nanosecond
}

template <typename Library>
void run_request(Library& library, const Request& request) {
  Graphs graphs(request.shapes);
  library.prepare(graphs);
  if (request.verify) verify(library, graphs);
  if (request.samples) {
    print_samples(library, request, graphs);
  } else {
    print_configuration(request);
    print_report(graphs, time_graphs(library, graphs));
  }
}

// main() of a peer: `run(request)` calls run_request.
template <typename Run>
int peer_main(int count, char** arguments, Run&& run) {
  return bench::peer_main(count, arguments, "taskbench", [&] {
    run(parse_request(std::vector<std::string>(arguments + 1, arguments + count)));
  });
}

}  // namespace taskbench
