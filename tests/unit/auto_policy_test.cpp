#include "play/auto_policy.hpp"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs/linalg_graphs.hpp"
#include "play/play.hpp"

namespace vicinal::play {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

graph::Graph cholesky(std::uint64_t tile) {
  return graphs::cholesky({.tiles = 8, .tile = tile});
}
machine::MachineModel gpu(Bytes memory) {
  return machine::load_machine("v100p", {.gpus = 1, .gpu_memory = memory});
}
constexpr Bytes tiles(std::uint64_t count, std::uint64_t tile) {
  return {count * tile * tile * 4};
}

double seconds_of(const graph::Graph& graph, const machine::MachineModel& machine,
                  const std::string& policy) {
  Options options;
  options.policy = policy;
  const Played played =
      play(graph, machine, options, 1, starting_place(graph, machine.description));
  return (played.after.now - played.before.now).seconds();
}

TEST(AutoPolicy, TakesTheFastestOfThoseThatItSimulates) {
  const graph::Graph graph = cholesky(3840);
  const machine::MachineModel machine = gpu(tiles(9, 3840));
  const AutoPolicy chosen = auto_policy(graph, machine, {});
  ASSERT_GE(chosen.trials.size(), 2U);
  EXPECT_EQ(chosen.trials.front().policy, "horizon");
  for (const Trial& trial : chosen.trials) {
    EXPECT_EQ(trial.seconds, seconds_of(graph, machine, trial.policy)) << trial.policy;
  }
  const Trial& best = *std::ranges::min_element(chosen.trials, {}, &Trial::seconds);
  EXPECT_EQ(chosen.policy, best.policy);
  EXPECT_THAT(chosen.why, HasSubstr(best.policy));
}

TEST(AutoPolicy, SimulatesNothingThatTakesMoreThanItsShareOfTheRun) {
  const graph::Graph graph = cholesky(240);
  const machine::MachineModel machine = gpu(tiles(9, 240));
  const AutoPolicy chosen = auto_policy(graph, machine, {});
  EXPECT_THAT(chosen.trials, IsEmpty());
  EXPECT_EQ(chosen.policy, "horizon");
  EXPECT_THAT(chosen.why, HasSubstr("too much"));
  EXPECT_GE(auto_policy(graph, machine, {}, 100).trials.size(), 4U);
}

TEST(AutoPolicy, IsTheDefaultWhereAPlanOrOtherRulesAreGiven) {
  const graph::Graph graph = cholesky(3840);
  const machine::MachineModel machine = gpu(tiles(9, 3840));
  Options options;
  options.plan = "a.plan";
  EXPECT_THAT(auto_policy(graph, machine, options).trials, IsEmpty());
  options.plan.clear();
  options.memory_rules = "lru";
  EXPECT_THAT(auto_policy(graph, machine, options).trials, IsEmpty());
  EXPECT_EQ(auto_policy(graph, machine, options).policy, "dmdas");
}

// What is recorded, and shown while it runs, is the run and not a trial.
TEST(AutoPolicy, TrialsLeaveNoFiles) {
  const graph::Graph graph = cholesky(3840);
  const machine::MachineModel machine = gpu(tiles(9, 3840));
  Options options;
  options.trace = "/nonexistent/run.vtrace";
  options.status = "/nonexistent/status";
  EXPECT_GE(auto_policy(graph, machine, options).trials.size(), 2U);
}

}  // namespace
}  // namespace vicinal::play
