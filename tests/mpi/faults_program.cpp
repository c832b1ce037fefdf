// A program over several ranks, of which something goes wrong: `mpirun -n N faults_program MODE`, for tests/mpi/faults.py.
// It says "ready PID" on each rank, and "begins" on rank 0 when tasks run.
//
//   endless   tasks, until somebody ends it
//   submits   likewise, and the program waits for room in the submission window alone
//   computes  likewise, and soon the program of each rank computes for a minute
//   kernel    a kernel of 3 s on rank 1; then it ends well
//   long      a kernel of a minute on rank 0
//   throws    rank 1 throws
//   fails     a kernel of rank 1 throws
//   leaves    rank 1 returns from main
//   exits     rank 1 calls exit
//   differs   rank 1 submits another task
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "vicinal/ranks.hpp"
#include "vicinal/runtime.hpp"

namespace {

using namespace vicinal;

void say(const std::string& text) {
  std::puts(text.c_str());
  std::fflush(stdout);
}

void sleep_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

const Codelet kFill{.name = "fill", .cpu = [](KernelContext& k) {
                      std::fill_n(k.data<double>(0), k.count<double>(0), 1.0);
                    }};
const Codelet kStep{.name = "step", .cpu = [](KernelContext& k) {
                      k.data<double>(0)[0] += k.data<double>(1)[0];
                      std::this_thread::sleep_for(std::chrono::microseconds(100));
                    }};
const Codelet kFails{.name = "fails", .cpu = [](KernelContext&) {
                       throw std::runtime_error("the 7th tile is not finite");
                     }};
const Codelet kSleeps{.name = "sleeps", .cpu = [](KernelContext&) { sleep_seconds(3); }};
const Codelet kSleepsLong{.name = "sleeps", .cpu = [](KernelContext&) { sleep_seconds(60); }};

int run(const std::string& mode) {
  const Ranks ranks = Ranks::launched();
  const std::uint32_t here = ranks.rank().value;
  const std::uint32_t count = ranks.count();
  Options options = Options::from_environment();
  options.workers = 1;
  options.bind = false;
  options.window_tasks = 64;
  Runtime runtime(options, ranks);
  std::vector<Handle> x;
  for (std::uint32_t i = 0; i < 2 * count; ++i) {
    x.push_back(runtime.register_empty(RankId{i % count}, Bytes{i % 2 == 0 ? 80'000U : 80U},
                                       "x" + std::to_string(i)));
    runtime.submit({.codelet = &kFill, .operands = {W(x[i])}});
  }
  say("ready " + std::to_string(here) + " " + std::to_string(getpid()) + " ");
  const auto step = [&](std::uint64_t number, const Codelet& codelet = kStep,
                        std::uint64_t other = 1) {
    runtime.submit({.codelet = &codelet,
                    .operands = {RW(x[number % x.size()]), R(x[(number + other) % x.size()])}});
  };
  for (std::uint64_t number = 0; number < x.size(); ++number) step(number);
  runtime.wait();
  if (here == 0) say("begins");
  if (mode == "kernel") {
    step(1, kSleeps);
    for (std::uint64_t number = 0; number < 100; ++number) step(number);
    runtime.wait();
    return 0;
  }
  if (mode == "long") step(0, kSleepsLong);
  for (std::uint64_t number = 0;; ++number) {
    if (number == 200) {
      if (mode == "fails") step(1, kFails);
      if (mode == "throws" && here == 1) throw std::runtime_error("enough");
      if (mode == "leaves" && here == 1) return 0;
      if (mode == "exits" && here == 1) std::exit(0);
      if (mode == "computes") sleep_seconds(60);
    }
    step(number, kStep, mode == "differs" && here == 1 && number == 200 ? 2 : 1);
    if (mode != "submits" && number % 500 == 499) runtime.wait();
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count > 1 ? arguments[1] : "endless");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
