#include "vicinal/options.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "base/options_page.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vicinal/error.hpp"

namespace vicinal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal_of(std::string_view name, std::string_view value) {
  Options options;
  try {
    options.set(name, value);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::string refusal_of_environment() {
  try {
    (void)Options::from_environment();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Options, SetsOneOptionOfEachType) {
  Options options;
  options.set("workers", "4");
  options.set("bind", "off");
  options.set("policy", "darts");
  options.set("memory", "800MiB");
  options.set("accelerator_memory", "1.5 GiB");
  options.set("accelerator_bandwidth", "12GB");
  options.set("window_tasks", "5000000000");
  options.set("stall_seconds", "2.5");
  EXPECT_EQ(options.workers, 4U);
  EXPECT_FALSE(options.bind);
  EXPECT_EQ(options.policy, "darts");
  EXPECT_EQ(options.memory, 800_MiB);
  EXPECT_EQ(options.accelerator_memory, 1536_MiB);
  EXPECT_EQ(options.accelerator_bandwidth.value, 12e9);
  EXPECT_EQ(options.window_tasks, 5'000'000'000U);
  EXPECT_EQ(options.stall_seconds, 2.5);
}

TEST(Options, ALimitMayBeTakenBackWithNone) {
  Options options;
  options.set("memory", "1GiB");
  options.set("memory", "none");
  EXPECT_EQ(options.memory, std::nullopt);
}

TEST(Options, ABandwidthMaySayPerSecond) {
  Options options;
  options.set("accelerator_bandwidth", "6000 MB/s");
  EXPECT_EQ(options.accelerator_bandwidth.value, 6e9);
}

TEST(Options, AnUnknownNameIsRefusedAndTheNearestOffered) {
  EXPECT_THAT(refusal_of("memroy", "1GiB"),
              AllOf(HasSubstr("unknown option \"memroy\""), HasSubstr("did you mean \"memory\"?")));
  EXPECT_THAT(refusal_of("frobnicate", "1"),
              AllOf(HasSubstr("unknown option \"frobnicate\""), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(refusal_of("", "1"), HasSubstr("unknown option \"\""));
}

TEST(Options, AValueThatIsNotOfTheTypeIsRefusedWithNameTextAndAcceptedForms) {
  EXPECT_THAT(
      refusal_of("workers", "many"),
      AllOf(HasSubstr("option workers"), HasSubstr("\"many\""), HasSubstr("from 0 to 4096")));
  EXPECT_THAT(refusal_of("memory", "lots"), AllOf(HasSubstr("option memory"), HasSubstr("\"lots\""),
                                                  HasSubstr("800MiB"), HasSubstr("or none")));
  EXPECT_THAT(refusal_of("bind", "perhaps"),
              AllOf(HasSubstr("option bind"), HasSubstr("\"perhaps\""), HasSubstr("true, yes")));
  EXPECT_THAT(refusal_of("stall_seconds", "soon"),
              AllOf(HasSubstr("option stall_seconds"), HasSubstr("\"soon\""), HasSubstr("0.5")));
}

TEST(Options, AValueOutOfRangeIsRefusedWithTheRange) {
  EXPECT_THAT(refusal_of("workers", "-1"), HasSubstr("from 0 to 4096"));
  EXPECT_THAT(refusal_of("look_ahead", "-1"), HasSubstr("from 0 to 1000000"));
  EXPECT_THAT(refusal_of("disk_copies", "5000000000"), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(refusal_of("memory", "0"),
              AllOf(HasSubstr("bytes from 4096 to"), HasSubstr("or none")));
  EXPECT_THAT(refusal_of("accelerator_memory", "100"), HasSubstr("bytes from 4096 to"));
  EXPECT_THAT(refusal_of("stall_seconds", "-0.5"), HasSubstr("from 0 to 1000000000"));
  EXPECT_THAT(refusal_of("accelerator_bandwidth", "-1GB"), HasSubstr("negative"));
}

TEST(Options, ARefusedValueLeavesTheOptionAsItWas) {
  Options options;
  options.memory = 3_MiB;
  EXPECT_THROW(options.set("memory", "0"), UsageError);
  EXPECT_EQ(options.memory, 3_MiB);
}

std::string refusal_of(const Options& options) {
  try {
    options.check();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Options, ValuesSetInCodeAreCheckedAsTextIsWithTheSameMessages) {
  const auto refused = [](std::string_view name, std::string_view text, const auto& change) {
    SCOPED_TRACE(std::string(name));
    Options options;
    change(options);
    const std::string message = refusal_of(options);
    EXPECT_NE(message, "accepted");
    EXPECT_EQ(message, refusal_of(name, text));
  };
  refused("workers", "100000", [](Options& o) { o.workers = 100'000; });
  refused("disk_copies", "0", [](Options& o) { o.disk_copies = 0; });
  refused("look_ahead", "4000000000", [](Options& o) { o.look_ahead = 4'000'000'000U; });
  refused("accelerators", "100", [](Options& o) { o.accelerators = 100; });
  refused("memory", "1", [](Options& o) { o.memory = Bytes{1}; });
  refused("accelerator_memory", "0", [](Options& o) { o.accelerator_memory = Bytes{0}; });
  refused("window_bytes", "18446744073709551615",
          [](Options& o) { o.window_bytes = Bytes{~std::uint64_t{0}}; });
  refused("accelerator_bandwidth", "-5", [](Options& o) { o.accelerator_bandwidth = {-5}; });
  refused("accelerator_bandwidth", "0.5", [](Options& o) { o.accelerator_bandwidth = {0.5}; });
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refused("accelerator_bandwidth", "nan", [&](Options& o) { o.accelerator_bandwidth = {nan}; });
  refused("accelerator_bandwidth", "inf",
          [](Options& o) { o.accelerator_bandwidth = {std::numeric_limits<double>::infinity()}; });
  refused("stall_seconds", "-1", [](Options& o) { o.stall_seconds = -1; });
  refused("stall_seconds", "nan", [&](Options& o) { o.stall_seconds = nan; });
}

TEST(Options, WhatIsInRangeIsAcceptedWhereverItComesFrom) {
  EXPECT_EQ(refusal_of(Options{}), "accepted");
  Options options;
  options.memory = 1_GiB;
  options.disk = "a folder, with = and \"";
  options.accelerator_bandwidth = {1.5e9 + 0.25};
  options.stall_seconds = 1e-3;
  options.window_tasks = options.seed = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(refusal_of(options), "accepted");
  options.set("seed", "18446744073709551615");
  EXPECT_EQ(options.seed, std::numeric_limits<std::uint64_t>::max());
}

TEST(Options, EveryDefaultInTheTableIsAcceptedAndIsTheDefault) {
  for (const OptionDescription& option : option_table()) {
    SCOPED_TRACE(std::string(option.name));
    Options options;
    options.set(option.name, option.default_value);
    EXPECT_FALSE(option.sentence.empty());
  }
  // Set from the texts of the table, nothing differs from Options{}.
  Options options;
  options.accelerator_memory = 1_MiB;
  options.memory = 1_MiB;
  options.disk = "folder";
  options.look_ahead = 3;
  for (const OptionDescription& option : option_table())
    options.set(option.name, option.default_value);
  EXPECT_EQ(options.accelerator_memory, Options{}.accelerator_memory);
  EXPECT_EQ(options.memory, std::nullopt);
  EXPECT_EQ(options.disk, "");
  EXPECT_EQ(options.look_ahead, Options{}.look_ahead);
}

TEST(Options, TheTableKnowsEveryMemberOfTheStructure) {
  // A new member is a new entry: this list binds all of them and no longer compiles then.
  [[maybe_unused]] const auto& [machine, workers, submitter_works, bind, worker_processors, policy,
                                memory, disk, disk_space, direct_io, disk_copies, accelerators,
                                accelerator_memory, accelerator_bandwidth, accelerator_api,
                                cuda_devices, cuda_library, cublas_library, cusolver_library,
                                opencl_devices, devices, device_memory, pin_memory, device_queues,
                                device_tasks, look_ahead, contention, window_tasks, window_bytes,
                                plan, plan_pause, compute_priorities, measure_scheduling,
                                check_reads, undelivered_errors, stall_seconds, status, models,
                                memory_rules, seed, trace, trace_events, trace_memory, mpi,
                                broadcast, broadcast_finding, reduction_tree, receive_placement,
                                numa_placement, receive_numa, rank_link, rank_timeout] = Options{};
  EXPECT_EQ(option_table().size(), 52U);
  std::vector<std::string_view> names;
  for (const OptionDescription& option : option_table()) names.push_back(option.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << "a name comes twice";
}

TEST(OptionsFromEnvironment, AreTheDefaultsChangedByTheVariables) {
  const Variable memory("VICINAL_MEMORY", "64MiB");
  const Variable ahead("VICINAL_LOOK_AHEAD", "5");
  const Variable other("VICINALITY", "not ours");
  const Options options = Options::from_environment();
  EXPECT_EQ(options.memory, 64_MiB);
  EXPECT_EQ(options.look_ahead, 5U);
  EXPECT_EQ(options.policy, Options{}.policy);
}

TEST(OptionsFromEnvironment, AnUnknownVariableIsRefusedAndTheNearestOffered) {
  {
    const Variable variable("VICINAL_MEMROY", "64MiB");
    EXPECT_THAT(refusal_of_environment(),
                AllOf(HasSubstr("VICINAL_MEMROY"), HasSubstr("did you mean VICINAL_MEMORY?")));
  }
  {
    const Variable variable("VICINAL_memory", "64MiB");
    EXPECT_THAT(refusal_of_environment(), HasSubstr("did you mean VICINAL_MEMORY?"));
  }
  const Variable variable("VICINAL_", "");
  EXPECT_THAT(refusal_of_environment(),
              HasSubstr("unknown environment variable VICINAL_: unset it"));
}

TEST(OptionsFromEnvironment, AWrongValueIsRefusedWithTheNameOfTheVariable) {
  const Variable variable("VICINAL_WORKERS", "two");
  EXPECT_THAT(refusal_of_environment(), AllOf(HasSubstr("environment variable VICINAL_WORKERS"),
                                              HasSubstr("\"two\""), HasSubstr("from 0 to 4096")));
}

TEST(OptionsPage, HasOneRowPerOption) {
  const std::string page = base::options_markdown();
  EXPECT_THAT(page, HasSubstr("# Options\n"));
  EXPECT_THAT(page, HasSubstr("| `accelerator_memory` | `VICINAL_ACCELERATOR_MEMORY` | bytes | "
                              "`256 MiB` | Limit on the replicas in the memory of each. |\n"));
  EXPECT_THAT(page, HasSubstr("| `memory` | `VICINAL_MEMORY` | bytes | `none` |"));
  EXPECT_THAT(page, HasSubstr("| `disk` | `VICINAL_DISK` | text | (empty) |"));
  const auto rows = std::count(page.begin(), page.end(), '\n');
  const std::size_t first = page.find("|---|");
  EXPECT_EQ(std::count(page.begin() + static_cast<std::ptrdiff_t>(first), page.end(), '\n'),
            static_cast<std::ptrdiff_t>(option_table().size()) + 1);
  EXPECT_GT(rows, 0);
}

}  // namespace
}  // namespace vicinal
