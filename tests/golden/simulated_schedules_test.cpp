// What every policy makes of one graph on one simulated machine, to the nanosecond and to the byte: a
// decision that has changed shows here.
//
// A change that was meant: take over the rows that the test prints, and say in the CHANGELOG what they
// became better or worse by.
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graphs/linalg_graphs.hpp"
#include "sched/policy.hpp"
#include "tools/play.hpp"

namespace vicinal {
namespace {

struct Schedule {
  std::string_view policy;
  std::int64_t ns = 0;             // until the last task has ended
  std::uint64_t loaded = 0;        // bytes into the GPUs, until the results are at home
  std::uint64_t written_back = 0;  // bytes into RAM
};

// Cholesky of 12 x 12 tiles of 960 (274 MiB, 364 tasks) on the first two GPUs of v100p.
constexpr Schedule kRoomy[] = {
    {"lws", 0, 0, 0},
};
// The same with 100 MiB on each GPU, where evictions decide.
constexpr Schedule kTight[] = {
    {"lws", 0, 0, 0},
};

Schedule played(std::string_view policy, const machine::MachineChoice& choice) {
  const tools::TaskGraph graph = graphs::cholesky({.tiles = 12, .tile = 960});
  Options options;
  options.policy = policy;
  const tools::Played played = tools::play(graph, machine::load_machine("v100p", choice), options);
  Schedule schedule{policy, (played.after.now - played.before.now).ns};
  for (std::size_t n = 1; n < played.last.nodes.size(); ++n) {
    schedule.loaded += played.last.nodes[n].bytes_in.value;
  }
  schedule.written_back = played.last.nodes[0].bytes_in.value;
  return schedule;
}

std::string row(const Schedule& schedule) {
  return fmt::format("{{\"{}\", {}, {}, {}}},", schedule.policy, schedule.ns, schedule.loaded,
                     schedule.written_back);
}

template <std::size_t N>
std::string row_of(const Schedule (&known)[N], std::string_view policy) {
  for (const Schedule& schedule : known) {
    if (schedule.policy == policy) return row(schedule);
  }
  return "no row";
}

TEST(SimulatedSchedules, OfCholeskyInMemoryAreAsStored) {
  for (const sched::PolicyEntry& policy : sched::policies()) {
    EXPECT_EQ(row(played(policy.name, {.gpus = 2})), row_of(kRoomy, policy.name));
  }
}

TEST(SimulatedSchedules, OfCholeskyWithEvictionsAreAsStored) {
  for (const sched::PolicyEntry& policy : sched::policies()) {
    EXPECT_EQ(row(played(policy.name, {.gpus = 2, .gpu_memory = 100_MiB})),
              row_of(kTight, policy.name));
  }
}

TEST(SimulatedSchedules, AreTheSameAgain) {
  for (const sched::PolicyEntry& policy : sched::policies()) {
    EXPECT_EQ(row(played(policy.name, {.gpus = 3})), row(played(policy.name, {.gpus = 3})));
  }
}

}  // namespace
}  // namespace vicinal
