// Question: what do the tasks of conjugate gradients cost beside loops? The iterations of sparse::solve on Poisson's equation,
// beside those of a plain loop over compressed rows on one thread, and on as many threads as there are workers, which divide the
// rows and meet at a barrier three times per iteration. Each prints the shortest and the median time per iteration of runs
// that take turns, and the median of the processor time, which says more on a machine that others use, too.
//
// Lower bound: memory. An iteration reads the matrix, 12 bytes per entry, and reads or writes vectors 13 times.
#include "sparse/cg.hpp"

#include <algorithm>
#include <barrier>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "graphs/poisson.hpp"
#include "help.hpp"
#include "vicinal/runtime.hpp"

namespace {

using namespace vicinal;  // NOLINT(google-build-using-namespace)

constexpr const char* kHelp =
    R"(Conjugate gradients by tasks and by plain loops: bench/cg.cpp says how it is measured.
  --grid AxB[xC]   points (1000x1000)
  --blocks N       of rows (16)
  --iterations N   of each run (40)
  --workers N      and threads of the plain loop (2)
  --runs N         of each (5)
)";

struct Arguments {
  std::string grid = "1000x1000";
  std::uint32_t blocks = 16;
  std::uint32_t iterations = 40;
  std::uint32_t workers = 2;
  std::uint32_t runs = 5;
};

bool parse(int count, char** values, Arguments& into) {
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = values[i];
    if (i + 1 == count) return false;
    const std::string_view text = values[i + 1];
    if (name == "--grid") {
      into.grid = text;
      continue;
    }
    std::uint32_t* const number = name == "--blocks"       ? &into.blocks
                                  : name == "--iterations" ? &into.iterations
                                  : name == "--workers"    ? &into.workers
                                  : name == "--runs"       ? &into.runs
                                                           : nullptr;
    if (number == nullptr) return false;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || *number == 0) {
      return false;
    }
  }
  return true;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of all threads.
double processor_time() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Of an iteration, in seconds.
struct Sample {
  double wall = 0;
  double processor = 0;
};

// Compressed rows, and the vectors.
struct Plain {
  explicit Plain(const graphs::PoissonGrid& grid)
      : rows(grid.points()), starts{0}, x(rows), r(rows), p(rows), q(rows) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      grid.visit_row(row, [&](std::uint64_t column, double value) {
        columns.push_back(static_cast<std::uint32_t>(column));
        values.push_back(value);
      });
      starts.push_back(static_cast<std::uint32_t>(columns.size()));
    }
  }
  void begin() {
    for (std::uint64_t i = 0; i < rows; ++i) {
      x[i] = 0;
      r[i] = p[i] = static_cast<double>(i * 7919 % 1000) * 1e-3 - 0.5;
    }
  }
  double multiply(std::uint64_t first, std::uint64_t last) {
    double sum = 0;
    for (std::uint64_t row = first; row < last; ++row) {
      double of_row = 0;
      for (std::uint32_t e = starts[row]; e < starts[row + 1]; ++e) {
        of_row += values[e] * p[columns[e]];
      }
      q[row] = of_row;
      sum += p[row] * of_row;
    }
    return sum;
  }
  double update(double alpha, std::uint64_t first, std::uint64_t last) {
    double sum = 0;
    for (std::uint64_t i = first; i < last; ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      sum += r[i] * r[i];
    }
    return sum;
  }
  void direct(double beta, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) p[i] = r[i] + beta * p[i];
  }

  std::uint64_t rows;
  std::vector<std::uint32_t> starts;
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  std::vector<double> x;
  std::vector<double> r;
  std::vector<double> p;
  std::vector<double> q;
};

Sample plain_loop(Plain& plain, std::uint32_t threads, std::uint32_t iterations) {
  plain.begin();
  double before = 0;
  for (const double r : plain.r) before += r * r;
  std::barrier meeting(threads);
  std::vector<double> products(threads);
  std::vector<double> squares(threads);
  const auto work = [&](std::uint32_t thread) {
    const std::uint64_t first = plain.rows * thread / threads;
    const std::uint64_t last = plain.rows * (thread + 1) / threads;
    const auto total = [&](std::vector<double>& sums, double own) {
      sums[thread] = own;
      meeting.arrive_and_wait();
      double sum = 0;
      for (const double part : sums) sum += part;
      return sum;
    };
    double rr = before;
    for (std::uint32_t k = 0; k < iterations; ++k) {
      const double alpha = rr / total(products, plain.multiply(first, last));
      const double now = total(squares, plain.update(alpha, first, last));
      plain.direct(now / rr, first, last);
      rr = now;
      meeting.arrive_and_wait();
    }
  };
  const double start = now();
  const double used = processor_time();
  std::vector<std::thread> others;
  for (std::uint32_t thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
  work(0);
  for (std::thread& other : others) other.join();
  return {(now() - start) / iterations, (processor_time() - used) / iterations};
}

Sample by_tasks(const sparse::CgProblem& problem, const Arguments& arguments) {
  Runtime runtime({.workers = arguments.workers, .models = "none"});
  double used = 0;
  const sparse::CgOutcome outcome = sparse::solve(
      runtime, {.problem = &problem, .tolerance = 0, .iterations = arguments.iterations},
      [&](std::string_view, std::uint64_t) { used = processor_time(); });
  return {(outcome.after.now - outcome.before.now).seconds() / arguments.iterations,
          (processor_time() - used) / arguments.iterations};
}

void print(const char* what, std::vector<Sample> samples) {
  const std::size_t middle = samples.size() / 2;
  std::ranges::sort(samples, {}, &Sample::processor);
  const double processor = samples[middle].processor;
  std::ranges::sort(samples, {}, &Sample::wall);
  std::printf("%-24s %8.3f ms shortest %8.3f ms median %8.3f ms of processors\n", what,
              samples.front().wall * 1e3, samples[middle].wall * 1e3, processor * 1e3);
}

void measure(const Arguments& arguments) {
  const graphs::PoissonGrid grid = graphs::parse_grid(arguments.grid);
  const sparse::CgProblem problem = sparse::poisson_problem(grid, arguments.blocks);
  Plain plain(grid);
  std::vector<Sample> tasks;
  std::vector<Sample> alone;
  std::vector<Sample> together;
  for (std::uint32_t run = 0; run < arguments.runs; ++run) {
    alone.push_back(plain_loop(plain, 1, arguments.iterations));
    together.push_back(plain_loop(plain, arguments.workers, arguments.iterations));
    tasks.push_back(by_tasks(problem, arguments));
  }
  std::printf("%s points, %u blocks, %u iterations, %u workers, %u runs; per iteration\n",
              arguments.grid.c_str(), arguments.blocks, arguments.iterations, arguments.workers,
              arguments.runs);
  print("plain loop, one thread", alone);
  print("plain loop, threads", together);
  print("tasks", tasks);
}

}  // namespace

int main(int count, char** values) {
  if (bench::helped(count, values, kHelp)) return 0;
  Arguments arguments;
  if (!parse(count, values, arguments)) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  try {
    measure(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
