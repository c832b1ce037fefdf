// Accesses that commute, and scratch, under every policy: with room for one task on cores and devices, with failures,
// in parts, acquired, and simulated. Sums of integers do not depend on the order.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/policy_names.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/tested.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using testing::for_each_element;
using testing::kPage;
using testing::TemporaryFolder;
using testing::Watchdog;

// Adds the parameter to each element of the operands; the last one is scratch, which must stay what is written there.
void add_all(KernelContext& k) {
  const auto value = k.parameter<std::int64_t>();
  const std::size_t sums = k.operands() - 1;
  auto* const scratch = k.data<std::int64_t>(sums);
  const std::size_t count = k.count<std::int64_t>(sums);
  std::fill_n(scratch, count, value);
  for (std::size_t i = 0; i < sums; ++i) {
    for_each_element(k.operand(i), [&](std::int64_t& x) { x += value; });
  }
  if (std::any_of(scratch, scratch + count, [&](std::int64_t x) { return x != value; })) {
    throw std::logic_error("another task was at the scratch of this one");
  }
}
void copy_first(KernelContext& k) {
  const std::int64_t value = *k.data<std::int64_t>(0);
  for_each_element(k.operand(1), [&](std::int64_t& x) { x = value; });
}
void set_all(KernelContext& k) {
  const auto value = k.parameter<std::int64_t>();
  for_each_element(k.operand(0), [&](std::int64_t& x) { x = value; });
}
void fail_always(KernelContext& /*k*/) {
  throw std::runtime_error("as it should");
}
const Codelet kAddInTurn{.name = "add", .cpu = add_all};
const Codelet kCopy{.name = "copy", .cpu = copy_first};
const Codelet kSetFirst{.name = "set", .cpu = set_all};
const Codelet kFail{.name = "fail", .cpu = fail_always};

struct CommuteMachine {
  const char* name;
  std::uint32_t accelerators;
  bool tight;  // room for one task; what does not fit goes to disk
  bool planned = false;
};

class CommuteUnder : public ::testing::TestWithParam<std::tuple<std::string, CommuteMachine>> {
 protected:
  static constexpr std::uint64_t kMostOperandsHere = 4;  // of a task, a page each
  void SetUp() override {
    const auto& [policy, machine] = GetParam();
    Options options{.workers = 2, .policy = policy};
    testing::use_accelerators(
        options, machine.accelerators,
        machine.tight ? kPage * kMostOperandsHere : options.accelerator_memory);
    options.compute_priorities = machine.planned;
    if (machine.tight) {
      options.memory = kPage * kMostOperandsHere;
      options.disk = folder.path();
    }
    runtime.emplace(options);
  }
  Handle sum(std::int64_t start = 0) {
    const Handle handle = runtime->register_empty(kPage);
    set(handle, start);
    return handle;
  }
  void set(Handle handle, std::int64_t value) {
    runtime->submit({.codelet = &kSetFirst, .operands = {W(handle)}, .parameters = value});
  }
  void add(std::vector<Operand> operands, std::int64_t value, Bytes scratch = kPage) {
    operands.push_back(Scratch(scratch));
    runtime->submit({.codelet = &kAddInTurn, .operands = operands, .parameters = value});
  }
  std::int64_t value_of(Handle handle) {
    return *runtime->acquire(handle, AccessMode::R).data<std::int64_t>();
  }

  TemporaryFolder folder{"commute"};
  Watchdog watchdog{::testing::UnitTest::GetInstance()->current_test_info()->name(), 20};
  std::optional<Runtime> runtime;
};

std::string name_of_commuting(const ::testing::TestParamInfo<CommuteUnder::ParamType>& instance) {
  return std::get<0>(instance.param) + "_on_" + std::get<1>(instance.param).name;
}

INSTANTIATE_TEST_SUITE_P(
    Every, CommuteUnder,
    ::testing::Combine(::testing::ValuesIn(testing::policy_names_of_each_way()),
                       ::testing::Values(CommuteMachine{"cores", 0, false},
                                         CommuteMachine{"tight_cores", 0, true},
                                         CommuteMachine{"devices", 2, true, true})),
    name_of_commuting);

TEST_P(CommuteUnder, SumsAreThoseOfASerialRun) {
  base::Random random(7);
  std::vector<Handle> sums;
  std::vector<std::int64_t> expected;
  for (int i = 0; i < 6; ++i) {
    sums.push_back(sum(i));
    expected.push_back(i);
  }
  const Handle copy = sum();
  std::int64_t copied = 0;
  for (int t = 0; t < 150; ++t) {
    const std::size_t first = random.below(sums.size());
    const std::uint64_t kind = random.below(12);
    if (kind == 0) {
      runtime->submit({.codelet = &kCopy, .operands = {R(sums[first]), W(copy)}});
      copied = expected[first];
      continue;
    }
    if (kind == 1) {
      set(sums[first], t);
      expected[first] = t;
      continue;
    }
    std::vector<Operand> operands;
    for (std::size_t i = 0; i <= random.below(3); ++i) {
      const std::size_t at = (first + i * 2) % sums.size();
      operands.push_back(kind == 2 && i == 0 ? RW(sums[at]) : Commute(sums[at]));
      expected[at] += t;
    }
    if (random.below(2) == 0) std::ranges::reverse(operands);
    add(operands, t);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(value_of(sums[i]), expected[i]) << i;
  EXPECT_EQ(value_of(copy), copied);
  runtime->wait();
}

TEST_P(CommuteUnder, AFailedOnePoisonsAndTheRestOfItsRunIsCancelled) {
  const Handle x = sum();
  std::array<std::atomic<int>, 3> ends{};
  const auto on_end = [&](Outcome outcome) { ++ends.at(static_cast<std::size_t>(outcome)); };
  for (std::int64_t i = 0; i < 10; ++i) {
    runtime->submit({.codelet = &kAddInTurn,
                     .operands = {Commute(x), Scratch(kPage)},
                     .parameters = i,
                     .on_end = on_end});
  }
  runtime->submit({.codelet = &kFail, .operands = {Commute(x), Scratch(kPage)}, .on_end = on_end});
  runtime->submit({.codelet = &kAddInTurn,
                   .operands = {RW(x), Scratch(kPage)},
                   .parameters = std::int64_t{1},
                   .on_end = on_end});
  EXPECT_THROW(runtime->wait(), Error);
  EXPECT_EQ(ends.at(static_cast<std::size_t>(Outcome::failed)), 1);
  EXPECT_GE(ends.at(static_cast<std::size_t>(Outcome::cancelled)),
            1);  // that behind the run at least
  EXPECT_EQ(ends[0] + ends[1] + ends[2], 12);
  EXPECT_THROW(runtime->acquire(x, AccessMode::commute), PoisonedError);
  set(x, 5);
  add({Commute(x)}, 2);
  EXPECT_EQ(value_of(x), 7);
}

TEST_P(CommuteUnder, PartsAndTheWholeSeeEachOthersChanges) {
  const Handle whole = sum();
  const Parts parts = runtime->partition(whole, row_blocks(2));
  for (std::int64_t i = 1; i <= 5; ++i) {
    add({Commute(parts[0])}, i);
    add({Commute(parts[1]), Commute(parts[0])}, i);
  }
  for (std::int64_t i = 1; i <= 5; ++i) add({Commute(whole)}, 100 * i);
  for (std::int64_t i = 1; i <= 5; ++i) add({Commute(parts[1])}, 10'000 * i);
  EXPECT_EQ(value_of(parts[0]), 30 + 1500);
  EXPECT_EQ(value_of(parts[1]), 15 + 1500 + 150'000);
  runtime->unpartition(parts);
  EXPECT_EQ(value_of(whole), 30 + 1500);
}

TEST_P(CommuteUnder, TheApplicationMayTakeItsTurnAsWell) {
  const Handle x = sum();
  for (std::int64_t i = 1; i <= 20; ++i) {
    add({Commute(x)}, i);
    if (i % 5 != 0) continue;
    const Acquired acquired = runtime->acquire(x, AccessMode::commute);
    for (std::size_t e = 0; e < kPage.value / 8; ++e) acquired.data<std::int64_t>()[e] += 1000;
  }
  EXPECT_EQ(value_of(x), 210 + 4000);
  runtime->unregister(x);
}

TEST_P(CommuteUnder, WhatIsCancelledWhileItWaitsForItsTurnEnds) {
  const Handle x = sum();
  {
    const Acquired acquired = runtime->acquire(x, AccessMode::commute);
    for (std::int64_t i = 1; i <= 20; ++i) add({Commute(x)}, i);
    runtime->cancel();
  }
  runtime->wait();
  set(x, 1);
  add({Commute(x)}, 1);
  EXPECT_EQ(value_of(x), 2);
}

// --- scratch

TEST(ScratchRoom, OfATaskThatCanNeverFitIsRefusedWithItsBytes) {
  const TemporaryFolder folder{"scratch"};
  Options options{.workers = 1};
  options.memory = kPage * 4;
  options.disk = folder.path();
  Runtime runtime(options);
  const Handle x = runtime.register_empty(kPage);
  const auto submit = [&](Bytes bytes) {
    runtime.submit({.codelet = &kAddInTurn,
                    .operands = {Commute(x), Scratch(bytes)},
                    .parameters = std::int64_t{1}});
  };
  runtime.submit({.codelet = &kSetFirst, .operands = {W(x)}, .parameters = std::int64_t{0}});
  submit(kPage * 3);
  EXPECT_THAT(testing::message_of<CapacityError>([&] { submit(kPage * 4); }),
              ::testing::HasSubstr("needs 20480 bytes"));
  EXPECT_THROW(submit(Bytes{std::uint64_t{1} << 60}), UsageError);
  EXPECT_THROW(runtime.submit({.codelet = &kSetFirst, .operands = {{x, AccessMode::scratch}}}),
               UsageError);
  EXPECT_THROW(runtime.acquire(x, AccessMode::scratch), UsageError);
  runtime.wait();
}

TEST(ScratchRoom, IsNoneOfTheDataThatHaveNoHome) {
  Options options{.workers = 2};
  options.memory = kPage * 4;  // and no disk
  Runtime runtime(options);
  const Handle x = runtime.register_empty(kPage);
  runtime.submit({.codelet = &kSetFirst, .operands = {W(x)}, .parameters = std::int64_t{0}});
  const auto add = [&](Bytes scratch) {
    runtime.submit({.codelet = &kAddInTurn,
                    .operands = {Commute(x), Scratch(scratch)},
                    .parameters = std::int64_t{1}});
  };
  for (int i = 0; i < 50; ++i) add(kPage * 2);  // together far more than there is
  // One page beside them, but not two: the tasks above would have no room.
  const Handle y = runtime.register_empty(kPage);
  runtime.submit({.codelet = &kSetFirst, .operands = {W(y)}, .parameters = std::int64_t{0}});
  const Handle z = runtime.register_empty(kPage);
  EXPECT_THROW(
      runtime.submit({.codelet = &kSetFirst, .operands = {W(z)}, .parameters = std::int64_t{0}}),
      CapacityError);
  EXPECT_THROW(add(kPage * 3), CapacityError);
  runtime.wait();
  EXPECT_EQ(*runtime.acquire(x, AccessMode::R).data<std::int64_t>(), 50);
  const Statistics statistics = runtime.statistics();
  EXPECT_LE(statistics.nodes[0].peak, kPage * 4);
}

TEST(ScratchRoom, IsNeverCopied) {
  std::vector<std::int64_t> numbers(kPage.value / 8);  // outlives the runtime
  Options options{.workers = 1};
  options.accelerators = 1;
  options.accelerator_memory = kPage * 2;
  Runtime runtime(options);
  const Codelet on_device{.name = "add", .kernels = {{ProcessorKind::emulated, add_all}}};
  const Handle x = runtime.register_buffer(numbers.data(), kPage);
  const auto before = runtime.statistics();
  for (int i = 0; i < 20; ++i) {
    runtime.submit({.codelet = &on_device,
                    .operands = {Commute(x), Scratch(kPage)},
                    .parameters = std::int64_t{1}});
  }
  runtime.wait();
  const auto after = runtime.statistics();
  Bytes copied;
  for (std::size_t l = 0; l < after.links.size(); ++l) {
    copied += after.links[l].bytes - before.links[l].bytes;
  }
  EXPECT_EQ(copied, kPage);  // x, once
}

// --- simulated

TEST(CommuteSimulated, ARunTakesTheSumOfItsTasksWhateverTheWorkers) {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}};
  for (std::uint32_t w = 0; w < 4; ++w) {
    machine.workers.push_back({WorkerId{w}, ProcessorKind::cpu, kRam});
  }
  const Codelet timed{.name = "timed", .expected = {Time{1000}}};
  for (const std::string& policy : testing::policy_names_of_each_way()) {
    SCOPED_TRACE(policy);
    Options options;
    options.policy = policy;
    Runtime runtime(machine, options);
    const Handle x = runtime.register_simulated(kPage, kRam, "x");
    for (int i = 0; i < 10; ++i) {
      runtime.submit({.codelet = &timed, .operands = {Commute(x), Scratch(kPage)}});
    }
    runtime.wait();
    EXPECT_EQ(runtime.statistics().now, Time{10'000});
  }
}

}  // namespace
}  // namespace vicinal
