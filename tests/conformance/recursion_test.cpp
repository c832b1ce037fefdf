// Recursive tasks: others work on parts of their operands, and what follows finds it done.
#include "vicinal/recursion.hpp"

#include <atomic>
#include <cstdint>
#include <numeric>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "support/policy_names.hpp"
#include "support/temporary_folder.hpp"
#include "support/tested.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

constexpr std::size_t kElementsOfEach = 4096;  // of a vector: 8 pages

void add_elements(KernelContext& k) {
  const double* from = k.data<double>(0);
  auto* to = k.data<double>(1);
  for (std::size_t i = 0; i < k.count<double>(1); ++i) to[i] += from[i];
}
void add_in_halves(Recursion& r);
const Codelet kLeaf{.name = "leaf", .cpu = add_elements};
const Codelet kAddOnce{.name = "add", .cpu = add_elements, .recursive = add_in_halves};
void add_in_halves(Recursion& r) {
  const Parts from = r.parts(0, row_blocks(2));
  const Parts to = r.parts(1, row_blocks(2));
  const bool again = r.layout(1).bytes().value > 8192;
  for (std::size_t i = 0; i < 2; ++i) {
    r.submit({.codelet = again ? &kAddOnce : &kLeaf,
              .operands = {R(from[i]), RW(to[i])},
              .recursive = Recursive::always});
  }
}

struct RecursionMachine {
  const char* name;
  std::uint32_t accelerators;
  bool limited;  // RAM has room for one task, and there is a disk
};

class RecursiveTasks : public ::testing::TestWithParam<std::tuple<std::string, RecursionMachine>> {
 protected:
  void SetUp() override {
    const auto& [policy, machine] = GetParam();
    Options options{.workers = 2, .policy = policy};
    testing::use_accelerators(options, machine.accelerators);
    if (machine.limited) {
      folder.emplace();
      options.disk = folder->path();
      options.memory = Bytes{2 * kElementsOfEach * 8};
    }
    runtime.emplace(options);
  }
  // Where RAM is limited the runtime keeps the data, and they take room there.
  Handle vector(std::vector<double>& values, const char* name) {
    if (!std::get<1>(GetParam()).limited) {
      return runtime->register_buffer(values.data(), Bytes{values.size() * 8}, name);
    }
    const Handle handle = runtime->register_empty({values.size(), 1, 0, 8}, name);
    const Acquired held = runtime->acquire(handle, AccessMode::W);
    std::ranges::copy(values, held.data<double>());
    return handle;
  }
  std::vector<double> content(Handle handle) {
    const Acquired held = runtime->acquire(handle, AccessMode::R);
    return {held.data<double>(), held.data<double>() + kElementsOfEach};
  }

  std::optional<testing::TemporaryFolder> folder;
  std::optional<Runtime> runtime;
};

INSTANTIATE_TEST_SUITE_P(
    Every, RecursiveTasks,
    ::testing::Combine(::testing::ValuesIn(testing::policy_names_of_each_way()),
                       ::testing::Values(RecursionMachine{"cores", 0, false},
                                         RecursionMachine{"devices", 2, false},
                                         RecursionMachine{"little_memory", 0, true},
                                         RecursionMachine{"devices_and_little_memory", 2, true})),
    [](const auto& instance) {
      return std::get<0>(instance.param) + "_on_" + std::get<1>(instance.param).name;
    });

TEST_P(RecursiveTasks, TheTasksInsideComeBetweenThoseBeforeAndBehind) {
  std::vector<std::vector<double>> values(3, std::vector<double>(kElementsOfEach, 1.0));
  std::vector<Handle> data;
  for (auto& each : values) data.push_back(vector(each, "v"));
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < 3; ++i) {
      runtime->submit({.codelet = &kAddOnce,
                       .operands = {R(data[i]), RW(data[(i + 1) % 3])},
                       .recursive = static_cast<Recursive>(round % 3)});
    }
  }
  runtime->wait();
  // The same, one element each.
  double expected[3] = {1, 1, 1};
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < 3; ++i) expected[(i + 1) % 3] += expected[i];
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(content(data[i]), std::vector<double>(kElementsOfEach, expected[i])) << i;
  }
}

const Codelet kThrowsAtOnce{.name = "fails", .cpu = [](KernelContext&) { throw Error("no"); }};
const Codelet kFailsInside{.name = "outer", .recursive = [](Recursion& r) {
                             const Parts parts = r.parts(0, row_blocks(4));
                             r.submit({.codelet = &kThrowsAtOnce, .operands = {RW(parts[2])}});
                           }};

TEST_P(RecursiveTasks, AFailureInsideIsOneOfTheTask) {
  std::vector<double> values(kElementsOfEach, 1.0);
  const Handle handle = vector(values, "v");
  runtime->submit({.codelet = &kFailsInside, .operands = {RW(handle)}});
  EXPECT_THROW(runtime->wait(), TaskError);
  EXPECT_THROW(runtime->acquire(handle, AccessMode::R), PoisonedError);
  runtime->acquire(handle, AccessMode::W);
}

TEST_P(RecursiveTasks, ATaskInsideMayNotNameWhatTheOuterOneHolds) {
  std::vector<double> values(kElementsOfEach, 1.0);
  const Handle handle = vector(values, "v");
  const Codelet wrong{.name = "wrong", .recursive = [&](Recursion& r) {
                        r.submit({.codelet = &kLeaf, .operands = {R(handle), RW(r.whole(0))}});
                      }};
  runtime->submit({.codelet = &wrong, .operands = {RW(handle)}});
  try {
    runtime->wait();
    FAIL() << "no exception";
  } catch (const TaskError& error) {
    EXPECT_NE(std::string(error.what()).find("names its operand v"), std::string::npos)
        << error.what();
  }
}

// --- the outcome of a divided task

const Codelet kLooksInside{.name = "looks", .cpu = [](KernelContext&) {}};

// A task on one datum, divided into what the function submits.
class Outcomes : public ::testing::Test {
 protected:
  Outcome of(void (*inside)(Recursion&), Operand (*access)(Handle) = RW) {
    const Codelet outer{.name = "outer", .recursive = inside};
    Outcome outcome{};
    runtime_.submit({.codelet = &outer, .operands = {access(data_)}, .on_end = [&](Outcome ended) {
                       outcome = ended;
                     }});
    try {
      runtime_.wait();
    } catch (const Error&) {  // told by the outcome
    }
    runtime_.acquire(data_, AccessMode::W);
    return outcome;
  }
  Options options() const {
    return {.workers = 2, .submitter_works = false, .bind = false, .models = "none"};
  }
  testing::Watchdog watchdog_{"the outcome of a divided task", 20};
  std::vector<double> values_ = std::vector<double>(64, 1.0);
  Runtime runtime_{options()};
  Handle data_ = runtime_.register_buffer(values_.data(), Bytes{64 * 8}, "data");
};

TEST_F(Outcomes, IsFailedIfATaskInsideThrewThatOnlyReads) {
  EXPECT_EQ(of(
                [](Recursion& r) {
                  const Parts parts = r.parts(0, row_blocks(4));
                  r.submit({.codelet = &kThrowsAtOnce, .operands = {R(parts[2])}});
                },
                R),
            Outcome::failed);
}

TEST_F(Outcomes, IsFailedThoughWhatTheTaskLeftIsWrittenAnew) {
  EXPECT_EQ(of([](Recursion& r) {
              const Parts parts = r.parts(0, row_blocks(4));
              r.submit({.codelet = &kThrowsAtOnce, .operands = {W(parts[2])}});
              r.submit({.codelet = &kLooksInside, .operands = {W(parts[2])}});
            }),
            Outcome::failed);
}

TEST_F(Outcomes, IsFailedIfATaskInsideOneInsideThrew) {
  static const Codelet inner{.name = "inner", .recursive = [](Recursion& r) {
                               const Parts parts = r.parts(0, row_blocks(2));
                               r.submit({.codelet = &kThrowsAtOnce, .operands = {R(parts[1])}});
                             }};
  EXPECT_EQ(of([](Recursion& r) {
              for (const Handle part : r.parts(0, row_blocks(4))) {
                r.submit({.codelet = &inner, .operands = {R(part)}});
              }
            }),
            Outcome::failed);
}

TEST_F(Outcomes, IsFailedIfATaskInsideThrewThatUsesNoData) {
  EXPECT_EQ(of([](Recursion& r) { r.submit({.codelet = &kThrowsAtOnce}); }), Outcome::failed);
}

TEST_F(Outcomes, IsFailedIfItsFunctionThrew) {
  EXPECT_EQ(of([](Recursion& r) {
              r.submit({.codelet = &kLooksInside, .operands = {RW(r.whole(0))}});
              throw Error("no");
            }),
            Outcome::failed);
}

TEST_F(Outcomes, IsCancelledIfTasksInsideWereAndNoneThrew) {
  static Runtime* runtime = nullptr;
  runtime = &runtime_;
  EXPECT_EQ(of([](Recursion& r) {
              const Parts parts = r.parts(0, row_blocks(4));
              runtime->cancel();
              r.submit({.codelet = &kLooksInside, .operands = {RW(parts[0])}});
            }),
            Outcome::cancelled);
}

TEST_F(Outcomes, IsCancelledByTheFailureOfAnotherTask) {
  static std::atomic<bool> has_failed;
  has_failed = false;
  runtime_.submit({.codelet = &kThrowsAtOnce, .on_end = [](Outcome) {
                     has_failed = true;
                     has_failed.notify_all();
                   }});
  EXPECT_EQ(of([](Recursion& r) {
              has_failed.wait(false);
              const Parts parts = r.parts(0, row_blocks(4));
              r.submit({.codelet = &kLooksInside, .operands = {RW(parts[0])}});
            }),
            Outcome::cancelled);
}

TEST_F(Outcomes, IsDoneIfTheRunIsCancelledWhenAllInsideIsDone) {
  static Runtime* runtime = nullptr;
  runtime = &runtime_;
  EXPECT_EQ(of([](Recursion& r) {
              r.submit({.codelet = &kLooksInside,
                        .operands = {RW(r.whole(0))},
                        .on_end = [](Outcome) { runtime->cancel(); }});
            }),
            Outcome::done);
}

TEST_F(Outcomes, ComesBehindAllThatIsInside) {
  static std::atomic<int> ended;
  ended = 0;
  const Codelet outer{.name = "outer", .recursive = [](Recursion& r) {
                        for (const Handle part : r.parts(0, row_blocks(8))) {
                          r.submit({.codelet = &kLooksInside,
                                    .operands = {R(part)},
                                    .on_end = [](Outcome) { ++ended; }});
                        }
                        r.submit({.codelet = &kLooksInside, .on_end = [](Outcome) { ++ended; }});
                      }};
  for (int i = 1; i <= 20; ++i) {
    runtime_.submit({.codelet = &outer, .operands = {R(data_)}, .on_end = [&](Outcome) {
                       EXPECT_EQ(ended, 9 * i);
                     }});
    runtime_.wait();
  }
}

// An inner task on other data waits for a task behind the outer task: no circle of waits follows.
TEST_F(Outcomes, IsNotThatOfTasksOnOtherDataAlone) {
  static Handle other;
  static std::binary_semaphore begun{0};
  static std::binary_semaphore submitted{0};
  other = runtime_.register_empty(Bytes{8}, "other");
  const Codelet outer{.name = "outer", .recursive = [](Recursion& r) {
                        begun.release();
                        submitted.acquire();
                        r.submit({.codelet = &kThrowsAtOnce, .operands = {RW(other)}});
                      }};
  std::thread behind([this] {
    begun.acquire();
    runtime_.submit({.codelet = &kLooksInside, .operands = {R(data_), W(other)}});
    submitted.release();
  });
  Outcome outcome = Outcome::cancelled;
  runtime_.submit({.codelet = &outer, .operands = {RW(data_)}, .on_end = [&](Outcome ended) {
                     outcome = ended;
                   }});
  behind.join();
  EXPECT_THROW(runtime_.wait(), TaskError);
  EXPECT_EQ(outcome, Outcome::done);
}

}  // namespace
}  // namespace vicinal
