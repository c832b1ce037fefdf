// Run times that a runtime has learned are there for the next one, whatever policy asks for them.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machine/performance_model.hpp"
#include "sched/policy.hpp"
#include "support/policy_names.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using machine::PerformanceModel;
using testing::kPage;
using testing::TemporaryFolder;

constexpr std::size_t kLearnedHandles = 6;
constexpr int kRounds = 60;

// Adds one to each of some pages, many times over; on cores and on an accelerator.
void run_with(const std::string& policy, const std::string& models) {
  Options options = testing::small_options(3);
  options.accelerators = 1;
  options.accelerator_memory = kPage * 4;
  options.policy = policy;
  options.models = models;
  std::vector<std::vector<std::int64_t>> pages(kLearnedHandles,
                                               std::vector<std::int64_t>(kPage.value / 8));
  {
    Runtime runtime(options);
    // A codelet of this run: what is learned of it is handed on after it has gone.
    const Codelet add{.name = "add", .cpu = testing::add_kernel};
    std::vector<Handle> handles;
    handles.reserve(kLearnedHandles);
    for (auto& page : pages) handles.push_back(runtime.register_buffer(page.data(), kPage));
    for (int round = 0; round < kRounds; ++round) {
      for (const Handle handle : handles) {
        runtime.submit({.codelet = &add, .operands = {RW(handle)}, .parameters = std::int64_t{1}});
      }
    }
    runtime.wait();
  }
  for (const auto& page : pages) EXPECT_EQ(page.back(), kRounds);
}

std::uint64_t known_runs(const std::string& folder) {
  PerformanceModel model;
  std::string why;
  model.read(*machine::performance_model_file(folder), why);
  machine::Footprint footprint;
  footprint.add(kPage, AccessMode::RW);
  return model.runs("add", ProcessorKind::cpu, footprint) +
         model.runs("add", ProcessorKind::emulated, footprint);
}

class LearnedTimes : public ::testing::TestWithParam<std::string> {
 protected:
  TemporaryFolder folder_{"models"};
  testing::Watchdog watchdog_{"LearnedTimes", 60};
};

TEST_P(LearnedTimes, AreKeptIfThePolicyAsksForThemAndAddedToByTheNextRun) {
  run_with(GetParam(), folder_.path());
  const std::uint64_t first = known_runs(folder_.path());
  if (!sched::make_policy(GetParam())->traits().wants_run_times) {
    EXPECT_EQ(first, 0U);
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
    return;
  }
  EXPECT_GE(first, 15U);  // those that must be timed before any is passed over
  run_with(GetParam(), folder_.path());
  EXPECT_GT(known_runs(folder_.path()), first);
}

TEST_P(LearnedTimes, AFileThatIsNoneIsLeftAloneAndTheRunGoesOn) {
  const std::string path = *machine::performance_model_file(folder_.path());
  std::ofstream(path) << "my notes";
  run_with(GetParam(), folder_.path());
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "my notes");
}

TEST_P(LearnedTimes, AFolderThatCannotBeMadeIsNoError) {
  run_with(GetParam(), "/proc/none/here");
}

INSTANTIATE_TEST_SUITE_P(Policies, LearnedTimes,
                         ::testing::ValuesIn(testing::policy_names_of_each_way()),
                         [](const auto& of) { return of.param; });

TEST(LearnedTimesOff, NothingIsKept) {
  const TemporaryFolder folder("models");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());  // "none" is no folder of that name
  run_with("dmda", "none");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace vicinal
