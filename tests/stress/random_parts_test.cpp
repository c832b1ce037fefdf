// Random programs on handles in parts, parts of parts, and recursive tasks, with room for no more than the largest
// task: they end, real programs with the content that the same operations leave in sequence. Programs with failures are
// in support/failing_parts.hpp. A few here; TEST_SEEDS_VICINAL=10000 for so many simulated and a tenth of it real ones.
// A failure names its seed.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/failing_parts.hpp"
#include "support/named_crash.hpp"
#include "support/parts_numbers.hpp"
#include "support/parts_plan.hpp"
#include "support/policy_names.hpp"
#include "support/random_runs.hpp"
#include "support/simulated_parts.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/recursion.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using testing::mix;
using testing::Numbers;
using testing::numbers_of;
using testing::PartsPlan;
using testing::PartsShape;
using testing::PlannedStep;
using testing::PlannedTask;
using testing::TemporaryFolder;
using testing::Told;
using testing::Watchdog;

void mix_kernel(KernelContext& k) {
  mix(numbers_of(k), k.parameter<Told>());
}

void mix_in_parts(Recursion& r);
const Codelet kMix{.name = "mix", .cpu = mix_kernel};
// Its operands are equally long.
const Codelet kDivided{.name = "divided", .cpu = mix_kernel, .recursive = mix_in_parts};

void mix_in_parts(Recursion& r) {
  const auto told = r.parameter<Told>();
  const Divide how = row_blocks(testing::parts_inside(told.key));
  std::vector<Parts> divided;
  for (std::size_t o = 0; o < r.operands(); ++o) divided.push_back(r.parts(o, how));
  for (std::size_t i = 0; i < divided[0].size(); ++i) {
    std::vector<Operand> operands;
    for (std::size_t o = 0; o < divided.size(); ++o) {
      operands.push_back({divided[o][i], r.mode(o)});
    }
    const bool again = testing::divides_again(told.key) && r.layout(0).rows() > 64;
    r.submit({.codelet = again ? &kDivided : &kMix,
              .operands = operands,
              .parameters = told,
              .recursive = Recursive::always});
  }
}

// Plays a plan with numbers in every cell, and beside it the same operations one after the other.
class RealParts {
 public:
  RealParts(std::uint64_t seed, const std::string& folder) : random_(seed) {
    const std::vector<std::string> names = testing::policy_names();
    options_.policy = names[seed % names.size()];
    options_.workers = 1 + static_cast<std::uint32_t>(random_.below(3));
    options_.accelerators = static_cast<std::uint32_t>(random_.below(3));
    options_.submitter_works = chance(2);
    options_.seed = seed;
    if (chance(4)) options_.window_tasks = 1 + random_.below(20);
    limited_ = chance(2);
    PartsShape shape;
    for (std::uint64_t i = 1 + random_.below(3); i > 0; --i) {
      const std::size_t count = std::size_t{1} << random_.below(12);
      shape.roots.push_back(count);
      roots_.emplace_back(count);
      for (std::uint64_t& value : roots_.back()) value = random_.next();
      at_home_.push_back(chance(2));
    }
    memory_ = roots_;
    shape.steps = 10 + random_.below(60);
    shape.nodes = 1 + options_.accelerators;
    shape.may_divide = [](std::uint32_t, const std::vector<std::size_t>&) { return true; };
    plan_ = testing::PartsPlanMaker(random_, shape).make();
    if (limited_) set_limits(folder);
  }

  std::string label() const {
    return "policy " + options_.policy + ", " + std::to_string(options_.workers) + " workers, " +
           std::to_string(options_.accelerators) + " accelerators" +
           (limited_ ? ", " + std::to_string(options_.memory->value) + " bytes of memory" : "") +
           (options_.window_tasks > 0 ? ", window" : "");
  }

  void run(Watchdog& watchdog) {
    Runtime runtime(options_);
    const testing::Watched watched(watchdog, runtime);
    runtime_ = &runtime;
    handles_.assign(plan_.pieces.size(), Handle{});
    parts_.assign(plan_.partitions.size(), Parts{});
    for (std::size_t r = 0; r < roots_.size(); ++r) add_root(r);
    for (const PlannedStep& step : plan_.steps) play(step);
    runtime.wait();
    for (std::size_t p = 0; p < plan_.pieces.size(); ++p) {
      if (plan_.pieces[p].there) acquire(p, AccessMode::R);
    }
    for (std::size_t r = 0; r < roots_.size(); ++r) runtime.unregister(handles_[r]);
    for (std::size_t r = 0; r < roots_.size(); ++r) {
      if (at_home_[r]) {
        EXPECT_EQ(memory_[r], roots_[r]) << "root " << r;
      }
    }
  }

 private:
  using Kind = PlannedStep::Kind;
  bool chance(std::uint64_t in) { return random_.below(in) == 0; }

  // Room for the largest task, or for a piece and all that it may be copied to.
  void set_limits(const std::string& folder) {
    const auto padded = [&](std::size_t piece) {
      return (std::uint64_t{plan_.pieces[piece].count} * 8 + 4095) / 4096 * 4096;
    };
    std::uint64_t largest = 4096;
    for (const PlannedTask& task : plan_.tasks) {
      std::vector<std::size_t> pieces;
      for (const auto& access : task.accesses) pieces.push_back(access.piece);
      std::ranges::sort(pieces);
      pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
      std::uint64_t sum = 0;
      for (const std::size_t piece : pieces) sum += padded(piece);
      largest = std::max(largest, sum);
    }
    for (const auto& partition : plan_.partitions) {
      for (const std::size_t part : partition.parts) {
        largest = std::max(largest, padded(partition.whole) + padded(part));
      }
    }
    for (std::size_t r = 0; r < roots_.size(); ++r) largest = std::max(largest, padded(r));
    options_.memory = Bytes{largest};
    options_.accelerator_memory = Bytes{largest};
    options_.disk = folder;
  }

  void add_root(std::size_t r) {
    const TileShape shape{roots_[r].size(), 1, 0, 8};
    const std::string name = "root" + std::to_string(r);
    if (at_home_[r]) {
      handles_[r] = runtime_->register_tile(memory_[r].data(), shape, name);
      return;
    }
    handles_[r] = runtime_->register_empty(shape, name);
    const Acquired held = runtime_->acquire(handles_[r], AccessMode::W);
    std::ranges::copy(roots_[r], held.data<std::uint64_t>());
  }

  std::uint64_t* content(std::size_t p) {
    return roots_[plan_.pieces[p].root].data() + plan_.pieces[p].first;
  }

  void play(const PlannedStep& step) {
    switch (step.kind) {
      case Kind::task:
        return submit(plan_.tasks[step.what]);
      case Kind::divide:
        return divide(step.what);
      case Kind::unite:
        return runtime_->unpartition(parts_[step.what]);
      case Kind::acquire:
        return acquire(step.what, step.mode);
      case Kind::wait_handle:
        return runtime_->wait(handles_[step.what]);
      case Kind::wait:
        return runtime_->wait();
      case Kind::prefetch:
        return runtime_->prefetch(handles_[step.what], NodeId{step.node});
      case Kind::renew:
        break;  // not asked for
    }
  }

  void submit(const PlannedTask& task) {
    Told told{task.key, static_cast<std::uint32_t>(task.writes()), 0};
    std::vector<Operand> operands;
    std::vector<Numbers> numbers;
    for (const auto& access : task.accesses) {
      if (access.mode == AccessMode::W) told.overwritten |= 1U << operands.size();
      operands.push_back({handles_[access.piece], access.mode});
      numbers.push_back({content(access.piece), plan_.pieces[access.piece].count});
    }
    mix(numbers, told);
    runtime_->submit({.codelet = task.divisible ? &kDivided : &kMix,
                      .operands = operands,
                      .parameters = told,
                      .priority = task.priority,
                      .recursive = task.recursive});
  }

  void divide(std::size_t p) {
    const auto& partition = plan_.partitions[p];
    const auto blocks = [&](const Layout&) {
      Division division;
      for (const std::size_t part : partition.parts) {
        const auto& piece = plan_.pieces[part];
        division.blocks.push_back({.row = piece.first - plan_.pieces[partition.whole].first,
                                   .column = 0,
                                   .rows = piece.count,
                                   .columns = 1});
      }
      return division;
    };
    parts_[p] =
        runtime_->partition(handles_[partition.whole], blocks,
                            partition.writable ? PartAccess::writable : PartAccess::read_only);
    std::ranges::copy(parts_[p],
                      handles_.begin() + static_cast<std::ptrdiff_t>(partition.parts.front()));
  }

  void acquire(std::size_t p, AccessMode mode) {
    const auto& piece = plan_.pieces[p];
    const Acquired held = runtime_->acquire(handles_[p], mode);
    auto* const there = held.data<std::uint64_t>();
    if (reads(mode)) {
      EXPECT_TRUE(std::equal(content(p), content(p) + piece.count, there))
          << "cells " << piece.first << " + " << piece.count << " of root " << piece.root;
    }
    if (!writes(mode)) return;
    for (std::size_t i = 0; i < piece.count; ++i) there[i] = content(p)[i] = random_.next();
  }

  base::Random random_;
  Options options_;
  bool limited_ = false;
  PartsPlan plan_;
  std::vector<std::vector<std::uint64_t>>
      roots_;  // as the operations leave them, one after the other
  std::vector<std::vector<std::uint64_t>> memory_;  // homes
  std::vector<bool> at_home_;
  Runtime* runtime_ = nullptr;
  std::vector<Handle> handles_;  // of pieces
  std::vector<Parts> parts_;     // of partitions
};

std::string to_repeat(const char* test, std::uint64_t seed, const std::string& label) {
  return "TEST_SEED_VICINAL=" + std::to_string(seed) + " tests/stress --gtest_filter=RandomParts." +
         test + " (" + label + ")";
}

TEST(RandomParts, SimulatedEndInOrderWithinTheLimitsAndTheSameTwice) {
  for (const std::uint64_t seed : testing::seeds(100)) {
    testing::SimulatedParts program(seed);
    const std::string label =
        to_repeat("SimulatedEndInOrderWithinTheLimitsAndTheSameTwice", seed, program.label());
    SCOPED_TRACE(label);
    const testing::NamedCrash named(label);
    Watchdog watchdog(label, 20, Watchdog::Counts::tasks);
    try {
      const std::string first = program.run(watchdog);
      EXPECT_EQ(first, program.run(watchdog));
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(RandomParts, SimulatedEndInAWorldWhereTheySubmitOnAClockOfTheirOwn) {
  for (const std::uint64_t seed : testing::seeds(60)) {
    testing::SimulatedParts program(seed);
    const std::string label =
        to_repeat("SimulatedEndInAWorldWhereTheySubmitOnAClockOfTheirOwn", seed, program.label());
    SCOPED_TRACE(label);
    const testing::NamedCrash named(label);
    Watchdog watchdog(label, 20, Watchdog::Counts::tasks);
    try {
      const std::string first = program.run(watchdog, true);
      EXPECT_EQ(first, program.run(watchdog, true));
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(RandomParts, RealHaveTheResultOfTheSequence) {
  for (const std::uint64_t seed : testing::seeds(40, 10)) {
    const TemporaryFolder folder("parts");
    RealParts program(seed, folder.path());
    const std::string label = to_repeat("RealHaveTheResultOfTheSequence", seed, program.label());
    SCOPED_TRACE(label);
    const testing::NamedCrash named(label);
    Watchdog watchdog(label, 30, Watchdog::Counts::tasks);
    try {
      program.run(watchdog);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

// Kernels and recursive functions throw, the run is cancelled, data come and go, tasks reduce, several threads submit:
// each task has the outcome that follows from what happened, what was done is there, and what was not done is refused.
void run_failing(const char* test, std::uint64_t seed, bool simulated) {
  const TemporaryFolder folder("failing");
  testing::FailingParts program(seed, folder.path(), simulated);
  const std::string label = to_repeat(test, seed, program.label());
  SCOPED_TRACE(label);
  const testing::NamedCrash named(label);
  Watchdog watchdog(label, 30, Watchdog::Counts::tasks);
  try {
    program.run(watchdog);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

TEST(RandomParts, RealThatFailHaveTheOutcomesAndTheResultOfTheSequence) {
  for (const std::uint64_t seed : testing::seeds(60, 4)) {
    run_failing("RealThatFailHaveTheOutcomesAndTheResultOfTheSequence", seed, false);
    if (HasFailure()) break;
  }
}

TEST(RandomParts, SimulatedThatFailHaveTheOutcomesOfTheSequence) {
  for (const std::uint64_t seed : testing::seeds(100)) {
    run_failing("SimulatedThatFailHaveTheOutcomesOfTheSequence", seed, true);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace vicinal
