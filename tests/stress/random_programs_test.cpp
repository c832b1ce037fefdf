// Random programs that keep to the contract must end, with the right result, whatever they do. A few
// here; TEST_SEEDS_VICINAL=10000 for so many simulated and a tenth of it real ones. A failure says how to run its program again, alone.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "support/failing_allocations.hpp"
#include "support/named_crash.hpp"
#include "support/random_runs.hpp"
#include "support/real_program.hpp"
#include "support/simulated_program.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"

namespace vicinal {
namespace {

using testing::FailingAllocations;
using testing::Faults;
using testing::NamedCrash;
using testing::RealProgram;
using testing::SimulatedProgram;
using testing::TemporaryFolder;
using testing::Watchdog;

// So many failures are enough to look at.
constexpr int kMostFailures = 20;

std::string to_repeat(const char* test, std::uint64_t seed, const std::string& label) {
  return "TEST_SEED_VICINAL=" + std::to_string(seed) +
         " tests/stress --gtest_filter=RandomPrograms." + test + "  (" + label + ")";
}

// Calls program(seed), with an exception as a failure, which may go on with the next seed.
template <typename Program>
void for_each_program(std::uint64_t by_default, std::uint64_t share, Program program) {
  int failures = 0;
  for (const std::uint64_t seed : testing::seeds(by_default, share)) {
    const int before =
        ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    program(seed);
    const int after =
        ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    if (after != before && ++failures == kMostFailures) return;
  }
}

TEST(RandomPrograms, SimulatedEndInOrderWithinTheLimitsAndTheSameTwice) {
  for_each_program(150, 1, [](std::uint64_t seed) {
    SimulatedProgram program(seed);
    const std::string label =
        to_repeat("SimulatedEndInOrderWithinTheLimitsAndTheSameTwice", seed, program.label());
    SCOPED_TRACE(label);
    const NamedCrash named(label);
    Watchdog watchdog(label, 20, Watchdog::Counts::tasks);
    try {
      const std::string first = program.run(watchdog);
      EXPECT_EQ(first, program.run(watchdog));
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  });
}

TEST(RandomPrograms, SimulatedEndInAWorldWhereTheySubmitOnAClockOfTheirOwn) {
  for_each_program(100, 1, [](std::uint64_t seed) {
    SimulatedProgram program(seed);
    const std::string label =
        to_repeat("SimulatedEndInAWorldWhereTheySubmitOnAClockOfTheirOwn", seed, program.label());
    SCOPED_TRACE(label);
    const NamedCrash named(label);
    Watchdog watchdog(label, 20, Watchdog::Counts::tasks);
    try {
      const std::string first = program.run(watchdog, true);
      EXPECT_EQ(first, program.run(watchdog, true));
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  });
}

void run_real(const char* test, std::uint64_t seed, Faults faults) {
  const TemporaryFolder folder("random");
  RealProgram program(seed, folder.path(), faults);
  const std::string label = to_repeat(test, seed, program.label());
  SCOPED_TRACE(label);
  const NamedCrash named(label);
  Watchdog watchdog(label, 30, Watchdog::Counts::tasks);
  const auto arm = [&]() -> std::shared_ptr<void> {
    if (faults != Faults::allocations) return nullptr;
    // One alone, some, or so many that little is left to succeed.
    const std::uint64_t again = seed % 3 == 0 ? 50 : seed % 5 == 0 ? 7 : 0;
    return std::make_shared<FailingAllocations>(1 + seed * 7919 % (seed % 2 == 0 ? 300 : 3000),
                                                again);
  };
  try {
    program.run(watchdog, arm);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

TEST(RandomPrograms, RealHaveTheResultOfTheSequence) {
  for_each_program(60, 10, [](std::uint64_t seed) {
    run_real("RealHaveTheResultOfTheSequence", seed, Faults::no);
  });
}

TEST(RandomPrograms, RealThatFailAndAreCancelledEndAndLoseNothingElse) {
  for_each_program(60, 10, [](std::uint64_t seed) {
    run_real("RealThatFailAndAreCancelledEndAndLoseNothingElse", seed, Faults::failures);
  });
}

TEST(RandomPrograms, RealWithoutMemoryForTheRuntimeEnd) {
  if (testing::excluded().failing_allocations) GTEST_SKIP() << "left out, see exclusions.hpp";
  for_each_program(60, 10, [](std::uint64_t seed) {
    run_real("RealWithoutMemoryForTheRuntimeEnd", seed, Faults::allocations);
  });
}

}  // namespace
}  // namespace vicinal
