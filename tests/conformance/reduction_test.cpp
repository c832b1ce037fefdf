// Tasks that reduce: each adds to a private copy, and who reads finds the sum.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "support/cuda_library.hpp"
#include "support/policy_names.hpp"
#include "support/temporary_folder.hpp"
#include "support/tested.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

constexpr std::size_t kElements = 512;  // of a vector: a page
constexpr Bytes kBytes{kElements * 8};
using Values = std::vector<std::uint64_t>;

void set_zero(KernelContext& k) {
  std::memset(k.data<std::byte>(0), 0, k.operand(0).layout.bytes().value);
}
void add_kernel(KernelContext& k) {
  auto* to = k.data<std::uint64_t>(0);
  const auto* from = k.data<std::uint64_t>(1);
  for (std::size_t i = 0; i < k.count<std::uint64_t>(0); ++i) to[i] += from[i];
}
// Operand 2 is what it reduces into.
void add_products(KernelContext& k) {
  const auto* x = k.data<std::uint64_t>(0);
  const auto* y = k.data<std::uint64_t>(1);
  auto* sum = k.data<std::uint64_t>(2);
  for (std::size_t i = 0; i < kElements; ++i) sum[i] += x[i] * y[i];
}
void double_all(KernelContext& k) {
  for (std::size_t i = 0; i < kElements; ++i) k.data<std::uint64_t>(0)[i] *= 2;
}
const Codelet kZero{.name = "zero", .cpu = set_zero};
const Codelet kSumOfAll{.name = "sum", .cpu = add_kernel};
const Codelet kProducts{.name = "products", .cpu = add_products};
const Codelet kDouble{.name = "double", .cpu = double_all};
const Reduction kAdds{.neutral = &kZero, .combine = &kSumOfAll};

struct ReductionMachine {
  const char* name;
  std::uint32_t accelerators;
  std::uint64_t pages;  // of RAM, where two are combined; 0: no limit
  bool disk;
  bool queues = false;  // the accelerators have
};

class Reductions : public ::testing::TestWithParam<std::tuple<std::string, ReductionMachine>> {
 protected:
  void SetUp() override {
    const auto& [policy, machine] = GetParam();
    Options options{.workers = 2, .policy = policy};
    const Bytes of_one_task{3 * 4096};
    testing::use_accelerators(options, machine.accelerators,
                              machine.pages > 0 ? of_one_task : options.accelerator_memory);
    options.models = "none";
    if (machine.queues) {
      options.accelerator_api = "cuda";
      options.cuda_library = testing::cuda_library();
      testing::set_stand_in({.devices = 2});
    }
    if (machine.pages > 0) {
      options.memory = Bytes{machine.pages * 4096};
    }
    if (machine.disk) {
      folder.emplace();
      options.disk = folder->path();
    }
    runtime.emplace(options);
  }
  Handle vector(Values& values, const char* name) {
    return runtime->register_buffer(values.data(), kBytes, name);
  }
  Handle empty(const char* name) { return runtime->register_empty(kBytes, name); }
  Values content(Handle handle) {
    const Acquired held = runtime->acquire(handle, AccessMode::R);
    return {held.data<std::uint64_t>(), held.data<std::uint64_t>() + kElements};
  }

  std::optional<testing::TemporaryFolder> folder;
  std::optional<Runtime> runtime;
  // Declared behind the buffers of a test: a copy may still read one when the result is known.
  struct Ends {
    std::optional<Runtime>& runtime;
    ~Ends() { runtime.reset(); }
  };
};

std::vector<ReductionMachine> reduction_machines() {
  std::vector<ReductionMachine> all{{"cores", 0, 0, false},
                                    {"device", 1, 0, false},
                                    {"devices", 4, 0, false},
                                    {"least_memory", 0, 2, false},
                                    {"least_memory_and_disk", 0, 2, true},
                                    {"devices_and_least_memory", 2, 2, false},
                                    {"devices_and_least_memory_and_disk", 2, 2, true}};
  if (testing::has_cuda()) all.push_back({"devices_with_queues", 2, 0, false, true});
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    Every, Reductions,
    ::testing::Combine(::testing::ValuesIn(testing::policy_names_of_each_way()),
                       ::testing::ValuesIn(reduction_machines())),
    [](const auto& instance) {
      return std::get<0>(instance.param) + "_on_" + std::get<1>(instance.param).name;
    });

TEST_P(Reductions, ADotProductIsThatOfASerialRun) {
  constexpr std::size_t kBlocks = 24;
  std::vector<Values> x(kBlocks, Values(kElements));
  std::vector<Values> y(kBlocks, Values(kElements));
  Values expected(kElements, 7);
  Values sums(kElements, 7);
  std::vector<Handle> xs;
  std::vector<Handle> ys;
  for (std::size_t b = 0; b < kBlocks; ++b) {
    for (std::size_t i = 0; i < kElements; ++i) {
      x[b][i] = 3 * b + i;
      y[b][i] = 5 * b + 2 * i + 1;
      expected[i] += x[b][i] * y[b][i];
    }
    xs.push_back(vector(x[b], "x"));
    ys.push_back(vector(y[b], "y"));
  }
  const Ends ends{runtime};
  const Handle sum = vector(sums, "sum");
  runtime->set_reduction(sum, kAdds);
  for (std::size_t b = 0; b < kBlocks; ++b) {
    runtime->submit({.codelet = &kProducts, .operands = {R(xs[b]), R(ys[b]), Reduce(sum)}});
  }
  EXPECT_EQ(content(sum), expected);
  runtime->wait();
}

TEST_P(Reductions, WhatComesBetweenThemSeesTheSumSoFar) {
  std::vector<Values> x(4, Values(kElements));
  std::vector<Handle> xs;
  for (std::size_t b = 0; b < 4; ++b) {
    for (std::size_t i = 0; i < kElements; ++i) x[b][i] = b + i;
    xs.push_back(vector(x[b], "x"));
  }
  const Ends ends{runtime};
  const Handle sum = empty("sum");  // the first combination finds no content
  runtime->set_reduction(sum, kAdds);
  Values expected(kElements, 0);
  for (int round = 0; round < 5; ++round) {
    for (std::size_t b = 0; b < 4; ++b) {
      for (std::size_t i = 0; i < kElements; ++i) expected[i] += x[b][i] * x[(b + 1) % 4][i];
      runtime->submit(
          {.codelet = &kProducts, .operands = {R(xs[b]), R(xs[(b + 1) % 4]), Reduce(sum)}});
    }
    for (std::uint64_t& value : expected) value *= 2;
    runtime->submit({.codelet = &kDouble, .operands = {RW(sum)}});
  }
  runtime->wait();
  EXPECT_EQ(content(sum), expected);
  runtime->unregister(sum);
}

// C of 2 x 2 vectors, each a sum over 6.
TEST_P(Reductions, AProductSplitOverTheInnerDimensionIsThatOfASerialRun) {
  // A copy of each has its room.
  if (std::get<1>(GetParam()).pages > 0 && !std::get<1>(GetParam()).disk) return;
  constexpr std::size_t kInner = 6;
  std::vector<Values> values(4 * kInner, Values(kElements));
  std::vector<Handle> data;
  for (std::size_t v = 0; v < values.size(); ++v) {
    for (std::size_t i = 0; i < kElements; ++i) values[v][i] = v * 11 + i * 3;
    data.push_back(vector(values[v], "v"));
  }
  const auto a = [&](std::size_t row, std::size_t k) { return row * kInner + k; };
  const auto b = [&](std::size_t k, std::size_t column) { return (2 + column) * kInner + k; };
  std::vector<Values> c(4, Values(kElements, 1));
  std::vector<Values> expected = c;
  const Ends ends{runtime};
  std::vector<Handle> cs;
  for (Values& each : c) {
    cs.push_back(vector(each, "c"));
    runtime->set_reduction(cs.back(), kAdds);
  }
  for (std::size_t k = 0; k < kInner; ++k) {
    for (std::size_t of = 0; of < 4; ++of) {
      const std::size_t left = a(of / 2, k);
      const std::size_t right = b(k, of % 2);
      for (std::size_t i = 0; i < kElements; ++i) {
        expected[of][i] += values[left][i] * values[right][i];
      }
      runtime->submit(
          {.codelet = &kProducts, .operands = {R(data[left]), R(data[right]), Reduce(cs[of])}});
    }
  }
  for (std::size_t of = 0; of < 4; ++of) runtime->unregister(cs[of]);
  EXPECT_EQ(c, expected);
}

const Codelet kFailsToReduce{.name = "fails", .cpu = [](KernelContext&) { throw Error("no"); }};

TEST_P(Reductions, ATaskThatFailsPoisonsTheSumUntilItIsWrittenAnew) {
  Values x(kElements, 2);
  const Ends ends{runtime};
  const Handle xs = vector(x, "x");
  const Handle sum = empty("sum");
  runtime->set_reduction(sum, kAdds);
  runtime->submit({.codelet = &kProducts, .operands = {R(xs), R(xs), Reduce(sum)}});
  runtime->submit({.codelet = &kFailsToReduce, .operands = {Reduce(sum)}});
  EXPECT_THROW(runtime->wait(), TaskError);
  EXPECT_ANY_THROW(content(sum));
  EXPECT_NO_THROW(runtime->wait());
  runtime->submit({.codelet = &kZero, .operands = {W(sum)}});
  runtime->submit({.codelet = &kProducts, .operands = {R(xs), R(xs), Reduce(sum)}});
  EXPECT_EQ(content(sum), Values(kElements, 4));
}

TEST_P(Reductions, WhatNobodyReadsGoesWithTheRuntime) {
  Values x(kElements, 2);
  Values home(kElements, 1);
  const Handle xs = vector(x, "x");
  const Handle sum = vector(home, "sum");
  runtime->set_reduction(sum, kAdds);
  for (int i = 0; i < 3; ++i) {
    runtime->submit({.codelet = &kProducts, .operands = {R(xs), R(xs), Reduce(sum)}});
  }
  runtime.reset();
  EXPECT_EQ(home, Values(kElements, 13));
}

// --- bytes

Bytes moved(const Statistics& s) {
  Bytes sum;
  for (const LinkStatistics& link : s.links) sum += link.bytes;
  return sum;
}

// K accelerators have a copy each: with pairs of them K - 1 copies are moved, over links from one to another, and the sum
// of data that had no content stays where it is; what had some in RAM is combined there, with one copy more. Fewer is not
// possible: all but one of the places have to send something.
class ReductionBytes : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Every, ReductionBytes,
                         ::testing::ValuesIn(testing::policy_names_of_each_way()),
                         [](const auto& instance) { return instance.param; });

TEST_P(ReductionBytes, ATreeMovesAsManyCopiesAsItMust) {
  const std::string& policy = GetParam();
  for (const std::uint32_t devices : {1, 2, 3, 4}) {
    for (const bool has_content : {false, true}) {
      SCOPED_TRACE(std::to_string(devices) + " devices, content: " + std::to_string(has_content));
      Options options{.workers = 1, .policy = policy};
      options.accelerators = devices;
      options.models = "none";
      Runtime runtime(options);
      Values home(kElements, 1);
      const Handle sum = has_content ? runtime.register_buffer(home.data(), kBytes, "sum")
                                     : runtime.register_empty(kBytes, "sum");
      runtime.set_reduction(sum, kAdds);
      const Codelet three{.name = "three", .cpu = [](KernelContext& k) {
                            for (std::size_t i = 0; i < kElements; ++i) {
                              k.data<std::uint64_t>(0)[i] += 3;
                            }
                          }};
      for (std::uint32_t task = 0; task < 3 * devices; ++task) {
        runtime.submit(
            {.codelet = &three, .operands = {Reduce(sum)}, .worker = WorkerId{1 + task % devices}});
      }
      runtime.wait();
      EXPECT_EQ(moved(runtime.statistics()), Bytes{0});
      runtime.wait(sum);
      const std::uint64_t copies = devices - 1 + (has_content ? 1 : 0);
      EXPECT_EQ(moved(runtime.statistics()), kBytes * copies);
      const Acquired held = runtime.acquire(sum, AccessMode::R);
      EXPECT_EQ(held.data<std::uint64_t>()[0], 9 * devices + (has_content ? 1 : 0));
    }
  }
}

// C += A B of 3 x 2 tiles, the inner dimension in blocks that go round the accelerators: those of A and B are used on one
// accelerator each, which loads them once, and each has a sum of its own of each tile of C. With K of them K - 1 sums of a
// tile move between accelerators; the last one goes to RAM, where the content is, and is combined into it there. Each of
// these must move.
TEST_P(ReductionBytes, AProductSplitOverTheInnerDimensionMovesAsLittleAsItMust) {
  constexpr std::uint32_t kDevices = 4;
  constexpr std::uint32_t kRows = 3;
  constexpr std::uint32_t kColumns = 2;
  for (const std::uint32_t inner : {1, 2, 3, 4, 8, 10}) {
    SCOPED_TRACE(std::to_string(inner) + " blocks");
    std::vector<Values> a(kRows * inner, Values(kElements));
    std::vector<Values> b(inner * kColumns, Values(kElements));
    std::vector<Values> c(kRows * kColumns, Values(kElements, 5));
    Options options{.workers = 1, .policy = GetParam()};
    options.accelerators = kDevices;
    options.models = "none";
    Runtime runtime(options);
    const auto registered = [&](std::vector<Values>& blocks, std::uint64_t factor) {
      std::vector<Handle> handles;
      for (Values& block : blocks) {
        if (factor > 0) {
          for (std::size_t i = 0; i < kElements; ++i) block[i] = factor * handles.size() + i;
        }
        handles.push_back(runtime.register_buffer(block.data(), kBytes));
      }
      return handles;
    };
    const std::vector<Handle> as = registered(a, 7);
    const std::vector<Handle> bs = registered(b, 3);
    const std::vector<Handle> cs = registered(c, 0);
    std::vector<Values> expected = c;
    for (const Handle tile : cs) runtime.set_reduction(tile, kAdds);
    for (std::uint32_t k = 0; k < inner; ++k) {
      for (std::uint32_t of = 0; of < kRows * kColumns; ++of) {
        const std::uint32_t left = of / kColumns * inner + k;
        const std::uint32_t right = k * kColumns + of % kColumns;
        runtime.submit({.codelet = &kProducts,
                        .operands = {R(as[left]), R(bs[right]), Reduce(cs[of])},
                        .worker = WorkerId{1 + k % kDevices}});
        for (std::size_t i = 0; i < kElements; ++i) expected[of][i] += a[left][i] * b[right][i];
      }
    }
    for (const Handle tile : cs) runtime.combine(tile);
    runtime.wait();
    Bytes sums;
    for (const LinkStatistics& link : runtime.statistics().links) {
      if (link.from != kRam) sums += link.bytes;
    }
    const std::uint64_t used = std::min(inner, kDevices);
    EXPECT_EQ(sums, kBytes * (used * kRows * kColumns));
    EXPECT_EQ(moved(runtime.statistics()) - sums, kBytes * (inner * (kRows + kColumns)));
    for (const Handle tile : cs) runtime.unregister(tile);
    EXPECT_EQ(moved(runtime.statistics()) - sums, kBytes * (inner * (kRows + kColumns)));
    EXPECT_EQ(c, expected);
  }
}

// Without waiting for it, and once.
TEST_P(ReductionBytes, WhatIsReducedIsCombinedWhenTheApplicationSaysSo) {
  Options options{.workers = 1, .policy = GetParam()};
  options.accelerators = 2;
  options.models = "none";
  Runtime runtime(options);
  Values home(kElements, 1);
  Values x(kElements, 2);
  const Handle xs = runtime.register_buffer(x.data(), kBytes);
  const Handle sum = runtime.register_buffer(home.data(), kBytes);
  runtime.combine(sum);
  runtime.set_reduction(sum, kAdds);
  runtime.combine(sum);
  for (int i = 0; i < 4; ++i) {
    runtime.submit({.codelet = &kProducts, .operands = {R(xs), R(xs), Reduce(sum)}});
  }
  runtime.combine(sum);
  runtime.wait();
  const std::uint64_t tasks = runtime.statistics().tasks_done;
  EXPECT_GT(tasks, 4U);
  EXPECT_EQ(tasks - runtime.statistics().own_tasks_done, 4U);
  runtime.combine(sum);
  runtime.wait(sum);
  runtime.unregister(sum);
  EXPECT_EQ(runtime.statistics().tasks_done, tasks);
  EXPECT_EQ(home, Values(kElements, 17));
}

TEST(SimulatedReductions, MoveAsManyCopies) {
  for (const bool has_content : {false, true}) {
    Options options;
    Options shape{.workers = 1};
    shape.accelerators = 4;
    Runtime real(shape);
    Runtime runtime(real.machine(), options);
    const auto time = [](Codelet codelet) {
      codelet.expected = {Time{1000}, Time{1000}};
      return codelet;
    };
    const Codelet zero = time(kZero);
    const Codelet combine = time(kSumOfAll);
    const Codelet task = time(kProducts);
    const Handle sum =
        has_content ? runtime.register_simulated(kBytes) : runtime.register_empty(kBytes);
    runtime.set_reduction(sum, {.neutral = &zero, .combine = &combine});
    for (std::uint32_t i = 0; i < 8; ++i) {
      runtime.submit({.codelet = &task, .operands = {Reduce(sum)}, .worker = WorkerId{1 + i % 4}});
    }
    runtime.wait();
    // Two tasks of 1 us on each, and before the first the neutral element.
    EXPECT_EQ(runtime.statistics().now.ns, 3000);
    runtime.wait(sum);
    EXPECT_EQ(moved(runtime.statistics()), kBytes * (has_content ? 4 : 3));
  }
}

// --- refusals

TEST(ReductionRefusals, SayWhatIsMissing) {
  Options one{.workers = 1};
  one.models = "none";
  Runtime runtime(one);
  const Handle sum = runtime.register_empty(kBytes, "sum");
  const TaskSpec spec{.codelet = &kDouble, .operands = {Reduce(sum)}};
  EXPECT_THROW(runtime.submit(spec), UsageError);
  EXPECT_THROW(runtime.set_reduction(sum, {.neutral = &kZero}), UsageError);
  runtime.set_reduction(sum, kAdds);
  EXPECT_THROW(runtime.set_reduction(sum, kAdds), UsageError);
  EXPECT_THROW(runtime.submit({.codelet = &kSumOfAll, .operands = {Reduce(sum), R(sum)}}),
               UsageError);
  EXPECT_THROW(runtime.acquire(sum, AccessMode::reduction), UsageError);
  EXPECT_THROW(runtime.partition(sum, row_blocks(2)), UsageError);
  const Handle whole = runtime.register_empty(kBytes, "whole");
  const Parts parts = runtime.partition(whole, row_blocks(2));
  EXPECT_THROW(runtime.set_reduction(whole, kAdds), UsageError);
  EXPECT_THROW(runtime.set_reduction(parts[0], kAdds), UsageError);
  runtime.submit(spec);
  runtime.wait(sum);
}

TEST(ReductionRefusals, WhatCanNeverFitIsRefusedWhenItIsDeclared) {
  Options options{.workers = 1};
  options.memory = Bytes{4096};
  options.models = "none";
  Runtime runtime(options);
  Values home(kElements, 1);
  const Handle fits = runtime.register_buffer(home.data(), kBytes, "fits");
  runtime.set_reduction(fits, kAdds);
  const Handle other = runtime.register_empty(kBytes, "other");
  try {
    runtime.set_reduction(other, kAdds);
    FAIL() << "no exception";
  } catch (const CapacityError& error) {
    EXPECT_NE(std::string(error.what()).find("other"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("option memory"), std::string::npos) << error.what();
  }
}

// --- what was done stays

Options two_workers_that_reduce() {
  return {.workers = 2, .submitter_works = false, .bind = false, .models = "none"};
}

void add_one_to_sum(KernelContext& k) {
  for (std::size_t i = 0; i < kElements; ++i) k.data<std::uint64_t>(0)[i] += 1;
}
const Codelet kOne{.name = "one", .cpu = add_one_to_sum};

// Three tasks have added one each to fives when the run is cancelled.
class CancelledReductions : public ::testing::TestWithParam<std::string> {
 protected:
  CancelledReductions() {
    Options options = two_workers_that_reduce();
    options.policy = GetParam();
    options.undelivered_errors = "warn";  // some end with one
    runtime_.emplace(options);
    sum_ = runtime_->register_buffer(home_.data(), kBytes, "sum");
    runtime_->set_reduction(sum_, kAdds);
    for (int i = 0; i < 3; ++i) runtime_->submit({.codelet = &kOne, .operands = {Reduce(sum_)}});
    runtime_->wait();
  }
  Values home_ = Values(kElements, 5);
  std::optional<Runtime> runtime_;
  Handle sum_;
};

INSTANTIATE_TEST_SUITE_P(Every, CancelledReductions,
                         ::testing::ValuesIn(testing::policy_names_of_each_way()),
                         [](const auto& instance) { return instance.param; });

TEST_P(CancelledReductions, AreWrittenHome) {
  runtime_->cancel();
  runtime_->unregister(sum_);
  EXPECT_EQ(home_, Values(kElements, 8));
}

TEST_P(CancelledReductions, AreRead) {
  runtime_->cancel();
  const Acquired held = runtime_->acquire(sum_, AccessMode::R);
  EXPECT_EQ(held.data<std::uint64_t>()[kElements - 1], 8U);
}

TEST_P(CancelledReductions, AreThereForWhatIsCancelledAndForWhatIsNot) {
  runtime_->cancel();
  runtime_->submit({.codelet = &kDouble, .operands = {R(sum_)}});
  runtime_->combine(sum_);
  runtime_->wait();
  runtime_->submit({.codelet = &kDouble, .operands = {RW(sum_)}});
  runtime_->unregister(sum_);
  EXPECT_EQ(home_, Values(kElements, 16));
}

TEST_P(CancelledReductions, AreWrittenHomeAtTheEndOfTheRuntime) {
  runtime_->cancel();
  runtime_.reset();
  EXPECT_EQ(home_, Values(kElements, 8));
}

TEST_P(CancelledReductions, AreNotLostByTheFailureOfAnotherTask) {
  runtime_->submit({.codelet = &kFailsToReduce});
  runtime_.reset();
  EXPECT_EQ(home_, Values(kElements, 8));
}

TEST_P(CancelledReductions, ArePoisonedByATaskThatIsCancelledItself) {
  runtime_->cancel();
  runtime_->submit({.codelet = &kOne, .operands = {Reduce(sum_)}});
  EXPECT_THROW(runtime_->acquire(sum_, AccessMode::R), PoisonedError);
  runtime_->wait();
  EXPECT_THROW(runtime_->unregister(sum_), PoisonedError);
  EXPECT_NO_THROW(runtime_->wait());
}

TEST_P(CancelledReductions, AreThereOnASimulatedMachine) {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, std::nullopt}};
  machine.workers.resize(2);
  machine.workers[1].id = WorkerId{1};
  Options options{.models = "none"};
  options.policy = GetParam();
  Runtime runtime(machine, options);
  Codelet timed = kOne;
  Codelet neutral = kZero;
  Codelet combine = kSumOfAll;
  for (Codelet* each : {&timed, &neutral, &combine}) each->expected.fill(Time{100});
  const Handle sum = runtime.register_empty(kBytes, "sum");
  runtime.set_reduction(sum, {.neutral = &neutral, .combine = &combine});
  for (int i = 0; i < 3; ++i) runtime.submit({.codelet = &timed, .operands = {Reduce(sum)}});
  runtime.wait();
  runtime.cancel();
  EXPECT_NO_THROW(runtime.acquire(sum, AccessMode::R));
  EXPECT_NO_THROW(runtime.unregister(sum));
}

// Parts with room of their own are copied into the whole by tasks of the runtime.
TEST(CancelledPartitions, AreJoined) {
  Runtime runtime(two_workers_that_reduce());
  const Handle whole = runtime.register_empty(kBytes, "whole");
  runtime.submit({.codelet = &kZero, .operands = {W(whole)}});
  for (const Handle part : runtime.partition(whole, row_blocks(2))) {
    static const Codelet set{.name = "set", .cpu = [](KernelContext& k) {
                               std::memset(k.data<std::byte>(0), 1,
                                           k.operand(0).layout.bytes().value);
                             }};
    runtime.submit({.codelet = &set, .operands = {RW(part)}});
  }
  runtime.wait();
  runtime.cancel();
  const Acquired held = runtime.acquire(whole, AccessMode::R);
  EXPECT_EQ(held.data<std::uint64_t>()[0], 0x0101010101010101U);
  EXPECT_EQ(held.data<std::uint64_t>()[kElements - 1], 0x0101010101010101U);
}

TEST(CancelledPartitions, HaveTheContentOfTheWhole) {
  Runtime runtime(two_workers_that_reduce());
  const Handle whole = runtime.register_empty(kBytes, "whole");
  runtime.submit({.codelet = &kZero, .operands = {W(whole)}});
  runtime.wait();
  const Parts parts = runtime.partition(whole, row_blocks(2));
  runtime.cancel();
  const Acquired held = runtime.acquire(parts[1], AccessMode::RW);
  EXPECT_EQ(held.data<std::uint64_t>()[0], 0U);
}

// --- what a failure of the two codelets says

std::string failure_of(const Codelet& neutral, const Codelet& combine) {
  Runtime runtime(two_workers_that_reduce());
  const Handle sum = runtime.register_empty(kBytes, "sum");
  runtime.set_reduction(sum, {.neutral = &neutral, .combine = &combine});
  runtime.submit({.codelet = &kOne, .operands = {Reduce(sum)}, .name = "one(0)"});
  runtime.combine(sum);
  try {
    runtime.wait();
  } catch (const TaskError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ReductionFailures, NameTheHandleAndTheTask) {
  EXPECT_EQ(failure_of(kFailsToReduce, kSumOfAll),
            "task one(0), where the neutral element of handle sum is put, failed: no");
  EXPECT_EQ(failure_of(kZero, kFailsToReduce),
            "task fails, which combines what tasks reduced into handle sum, failed: no");
}

}  // namespace
}  // namespace vicinal
