// Question: what does a typed task cost over the same task with a codelet? Tasks that read two vectors and change a third by
// a value, on 64 such triples in turn, from submission to the end of the last, in one process; the two forms take turns
// in pairs, so that what else the machine does meets both. Reported: the median of each form, and median and quartiles of the
// pairs' differences, in nanoseconds per task. Lower bound of the difference: 0.
//
//   typed [--pairs 2001] [--tasks 2000] [--workers 1] [--most NANOSECONDS]
//
// Exit status 1: the median difference is above --most.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "help.hpp"
#include "vicinal/runtime.hpp"

namespace {

using namespace vicinal;

constexpr const char* kHelp = R"(What a typed task costs over one with a codelet, in ns per task.

  typed [--pairs 2001] [--tasks 2000] [--workers 1] [--most NANOSECONDS]

Exit status 1: the median difference is above --most.
)";

constexpr std::size_t kTriples = 64;
constexpr std::size_t kLength = 8;

struct Arguments {
  std::size_t pairs = 2001;
  std::size_t tasks = 2000;
  unsigned workers = 1;
  double most = 0;  // 0: any
};

void update(double by, std::span<const double> x, std::span<const double> y, std::span<double> z) {
  for (std::size_t i = 0; i < z.size(); ++i) z[i] += by * x[i] * y[i];
}
void update_kernel(KernelContext& k) {
  update(k.parameter<double>(), {k.data<double>(0), k.count<double>(0)},
         {k.data<double>(1), k.count<double>(1)}, {k.data<double>(2), k.count<double>(2)});
}
const Codelet update_codelet{.name = "codelet", .cpu = update_kernel};

using Triple = std::array<Data<double>, 3>;

void submit_codelet(Runtime& runtime, const Triple& on) {
  runtime.submit({.codelet = &update_codelet,
                  .operands = {R(on[0].handle()), R(on[1].handle()), RW(on[2].handle())},
                  .parameters = 0.5});
}
void submit_typed(Runtime& runtime, const Triple& on) {
  runtime.task(
      "typed",
      [](double by, std::span<const double> x, std::span<const double> y, std::span<double> z) {
        update(by, x, y, z);
      },
      0.5, in(on[0]), in(on[1]), inout(on[2]));
}

template <typename Submit>
double nanoseconds_per_task(Runtime& runtime, const std::vector<Triple>& data, std::size_t tasks,
                            const Submit& submit) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < tasks; ++i) submit(runtime, data[i % kTriples]);
  runtime.wait();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / static_cast<double>(tasks);
}

// `part` of 0.5: the median.
double quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

int measure(const Arguments& arguments) {
  Options options;
  options.workers = arguments.workers;
  Runtime runtime(options);
  std::vector<std::vector<double>> memory(3 * kTriples, std::vector<double>(kLength, 1.0));
  std::vector<Triple> data(kTriples);
  for (std::size_t i = 0; i < memory.size(); ++i) data[i / 3][i % 3] = runtime.data(memory[i]);

  // Warm: what tasks are made of is taken from pools.
  nanoseconds_per_task(runtime, data, arguments.tasks, submit_codelet);
  nanoseconds_per_task(runtime, data, arguments.tasks, submit_typed);
  std::vector<double> codelet;
  std::vector<double> typed;
  std::vector<double> more;
  for (std::size_t pair = 0; pair < arguments.pairs; ++pair) {
    // Each form is the first of every other pair.
    if (pair % 2 == 0)
      codelet.push_back(nanoseconds_per_task(runtime, data, arguments.tasks, submit_codelet));
    typed.push_back(nanoseconds_per_task(runtime, data, arguments.tasks, submit_typed));
    if (pair % 2 == 1)
      codelet.push_back(nanoseconds_per_task(runtime, data, arguments.tasks, submit_codelet));
    more.push_back(typed.back() - codelet.back());
  }
  const double median = quantile(more, 0.5);
  std::printf(
      "codelet %.1f, typed %.1f; typed - codelet %.1f [%.1f, %.1f] ns per task, %zu pairs of %zu "
      "tasks, %u workers\n",
      quantile(codelet, 0.5), quantile(typed, 0.5), median, quantile(more, 0.25),
      quantile(more, 0.75), arguments.pairs, arguments.tasks, arguments.workers);
  return arguments.most > 0 && median > arguments.most ? 1 : 0;
}

}  // namespace

int main(int count, char** texts) {
  if (bench::helped(count, texts, kHelp)) return 0;
  Arguments arguments;
  try {
    for (int i = 1; i + 1 < count; i += 2) {
      const std::string_view name = texts[i];
      const std::string value = texts[i + 1];
      if (name == "--pairs") {
        arguments.pairs = std::max<std::size_t>(std::stoul(value), 1);
      } else if (name == "--tasks") {
        arguments.tasks = std::max<std::size_t>(std::stoul(value), 1);
      } else if (name == "--workers") {
        arguments.workers = static_cast<unsigned>(std::stoul(value));
      } else if (name == "--most") {
        arguments.most = std::stod(value);
      } else {
        std::fputs(kHelp, stderr);
        return 2;
      }
    }
    return measure(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "typed: %s\n", error.what());
    return 2;
  }
}
