// Tasks that are functions of the application, in every way to run.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/every_way.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/tiled_matrix.hpp"

namespace vicinal::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::size_t kLength = kPage.value / sizeof(double);

// Bytes of all replicas.
std::uint64_t resident(const Runtime& runtime) {
  std::uint64_t sum = 0;
  for (const NodeStatistics& node : runtime.statistics().nodes) sum += node.resident.value;
  return sum;
}

void axpy(double a, std::span<const double> x, std::span<double> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
}

TEST_P(Every, TypedTasksGetDataAndValuesInTheOrderOfTheirParameters) {
  std::vector<double> xs(kLength, 1.0);
  std::vector<double> ys(kLength, 2.0);
  Runtime runtime(options());
  const auto x = runtime.data(xs, "x");
  const auto y = runtime.data(std::span(ys), "y");
  for (int i = 0; i < 3; ++i) {
    runtime.task(
        "axpy",
        [](double a, std::span<const double> from, std::span<double> to) { axpy(a, from, to); },
        2.0, priority(i), in(x), inout(y));
  }
  runtime.task("axpy", axpy, 1.0F, in(x), inout(y));  // values are converted
  EXPECT_EQ(runtime.read(y)[kLength - 1], 9);
  EXPECT_EQ(runtime.read(y).size(), kLength);
  runtime.release(y);
  EXPECT_THAT(ys, Each(9));
}

// The runtime has it where there is room, and a kernel sees it packed or not.
TEST_P(Every, TypedTilesSayTheirShape) {
  Runtime runtime(options());
  const auto tile = runtime.tile<float>(20, 30, "tile");
  runtime.task(
      "fill",
      [](Tile<float> to, float first) {
        for (std::uint64_t j = 0; j < to.columns(); ++j) {
          for (float& element : to.column(j)) element = first++;
        }
      },
      out(tile), 5.0F);
  const auto last = runtime.task(
      "last", [](Tile<const float> from) { return from(from.rows() - 1, from.columns() - 1); },
      in(tile));
  EXPECT_EQ(last.get(), 5 + 20 * 30 - 1);
  EXPECT_EQ(runtime.read(tile)(1, 1), 5 + 21);
}

TEST_P(Every, WhatATypedFunctionCapturesLivesAsLongAsTheTask) {
  const auto held = std::make_shared<int>(7);
  Runtime runtime(options());
  const auto x = runtime.data<std::int64_t>(16, "x");
  const std::vector<std::int64_t> added(16, 3);
  for (int i = 0; i < 5; ++i) {
    runtime.task(
        "captures",
        [held, i](std::span<std::int64_t> to, const std::vector<std::int64_t>& more) {
          for (std::size_t at = 0; at < to.size(); ++at) to[at] = *held + i + more[at];
        },
        out(x), added);
  }
  for (const std::int64_t value : runtime.read(x)) EXPECT_EQ(value, 7 + 4 + 3);
  runtime.wait();
  EXPECT_EQ(held.use_count(), 1);
}

TEST_P(Every, TypedResultsAreReadByOthers) {
  Runtime runtime(options());
  const auto x = runtime.data<double>(kLength, "x");
  runtime.task(
      "ones", [](std::span<double> to) { std::ranges::fill(to, 1.0); }, out(x));
  const auto sum = runtime.task(
      "sum",
      [](std::span<const double> from) { return std::accumulate(from.begin(), from.end(), 0.0); },
      in(x));
  const auto half = runtime.task(
      "half", [](auto whole) { return whole[0] / 2; }, in(sum.data()));
  EXPECT_EQ(half.get(), kLength / 2.0);
  EXPECT_EQ(sum.get(), kLength);
}

// A result goes with its last copy, when its tasks have ended: nobody waits for them.
TEST_P(Every, ResultsThatNobodyHasAnyMoreGo) {
  Runtime runtime(options());
  const std::uint64_t kept = resident(runtime);
  std::int64_t sum = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto result = runtime.task(
        "one", [](int number) { return number; }, i);
    if (i % 2 == 0) sum += result.get();
  }
  runtime.wait();
  EXPECT_EQ(sum, 1499 * 1500);
  // Of the last ones copies may still be in flight, begun when nobody used them any more.
  for (int i = 0; i < 10'000 && resident(runtime) != kept; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    runtime.wait();
  }
  EXPECT_EQ(resident(runtime), kept);
}

TEST_P(Every, AResultThatIsGoneIsThereForTheTasksThatReadIt) {
  Runtime runtime(options());
  const auto total = runtime.data<std::int64_t>(1, "total");
  runtime.task(
      "zero", [](std::span<std::int64_t> to) { to[0] = 0; }, out(total));
  std::atomic<bool> goes{false};
  runtime.task(
      "gate",
      [&goes](std::span<std::int64_t> /*to*/) {
        while (!goes) std::this_thread::yield();
      },
      inout(total));
  for (std::int64_t i = 1; i <= 600; ++i) {
    const auto part = runtime.task(
        "part", [](std::int64_t number) { return number; }, i);
    runtime.task(
        "add",
        [](std::span<const std::int64_t> from, std::span<std::int64_t> to) { to[0] += from[0]; },
        in(part.data()), inout(total));
  }
  goes = true;
  EXPECT_EQ(runtime.read(total)[0], 600 * 601 / 2);
}

TEST_P(Every, CopiesOfAResultAreTheSameUntilTheLastGoes) {
  Runtime runtime(options());
  std::optional<Result<int>> first = runtime.task("seven", [] { return 7; });
  const Data<int> data = first->data();
  std::optional<Result<int>> second = first;
  first.reset();
  EXPECT_EQ(second->get(), 7);
  Result<int> third = std::move(*second);
  EXPECT_THROW(second->get(), UsageError);  // NOLINT(bugprone-use-after-move): what it says
  second.reset();
  EXPECT_EQ(runtime.read(data)[0], 7);
  EXPECT_EQ(third.get(), 7);
  third = runtime.task("eight", [] { return 8; });
  EXPECT_EQ(third.get(), 8);
  EXPECT_THAT(message_of<UsageError>([&] { runtime.read(data); }), HasSubstr("seven result"));
  runtime.release(third.data());  // by hand, before it would go
  EXPECT_THROW(third.get(), UsageError);
  // What a task has captured goes with the task; what outlives the runtime is nothing then.
  runtime.task("keeps", [kept = runtime.task("nine", [] { return 9; })] {});
  runtime.wait();
}

TEST_P(Every, ARefusedTaskLeavesNoResultBehind) {
  Runtime runtime(options());
  const auto unwritten = runtime.data<int>(1, "unwritten");
  const std::uint64_t kept = resident(runtime);
  for (int i = 0; i < 600; ++i) {
    EXPECT_THROW(runtime.task(
                     "reads", [](std::span<const int> from) { return from[0]; }, in(unwritten)),
                 UsageError);
  }
  runtime.wait();
  EXPECT_EQ(resident(runtime), kept);
}

TEST_P(Every, TypedOptionsAreThoseOfTasks) {
  Runtime runtime(options());
  const auto x = runtime.data<int>(4, "x");
  Group group;
  const TaskId first = runtime.task(
      "first", [](std::span<int> to) { to[0] = 1; }, out(x), into(group));
  std::atomic<int> behind{0};
  runtime.task(
      "second", [&behind] { ++behind; }, after(std::span(&first, 1)), into(group));
  runtime.wait(group);
  EXPECT_EQ(behind, 1);
  EXPECT_EQ(group.pending(), 0U);
  runtime.task(
      "fails", [](std::span<int> /*to*/) { throw std::runtime_error("no pivot"); }, inout(x),
      named("potrf(3)"));
  EXPECT_EQ(message_of<TaskError>([&] { runtime.wait(); }), "task potrf(3) failed: no pivot");
  EXPECT_THAT(message_of<PoisonedError>([&] { runtime.read(x); }), HasSubstr("x"));
}

// Each run under its name: models and reports go by them.
TEST_P(Every, OneTypedFunctionMayHaveSeveralNames) {
  Runtime runtime(options());
  const auto x = runtime.data<int>(1, "x");
  for (const char* name : {"red", "green", "red"}) {
    runtime.task(
        name, [](std::span<int> to) { to[0] = 1; }, out(x));
  }
  runtime.task(
      "blue", [](std::span<const int> /*from*/) { throw std::runtime_error("why not"); }, in(x));
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }), HasSubstr("blue"));
}

// Names that number tasks are those of the tasks alone beyond some: codelets do not go.
TEST_P(Every, ManyNamesOfATypedFunctionAreNamesOfItsTasks) {
  Runtime runtime(options());
  const auto nothing = [] {};
  // Policies that look at all ready tasks are tested, too: there are never many.
  const auto wait_now_and_then = [&](int i) {
    if (i % 200 == 0) runtime.wait();
  };
  for (int i = 0; i < 5000; ++i) {
    wait_now_and_then(i);
    runtime.task("gemm(" + std::to_string(i) + ")", nothing);
  }
  runtime.wait();
  const auto fails = [](int number) {
    if (number == 2999) throw std::runtime_error("no pivot");
  };
  for (int i = 0; i < 3000; ++i) {
    wait_now_and_then(i);
    runtime.task("trsm(" + std::to_string(i) + ")", fails, i);
  }
  EXPECT_EQ(message_of<TaskError>([&] { runtime.wait(); }), "task trsm(2999) failed: no pivot");
}

TEST_P(Every, TypedScratchAndCommutingAccesses) {
  Runtime runtime(options());
  const auto sum = runtime.data<std::int64_t>(1, "sum");
  runtime.task(
      "zero", [](std::span<std::int64_t> to) { to[0] = 0; }, out(sum));
  for (std::int64_t i = 1; i <= 10; ++i) {
    runtime.task(
        "add",
        [](std::span<std::int64_t> room, std::int64_t value, std::span<std::int64_t> to) {
          std::ranges::fill(room, value);
          to[0] += room.back();
        },
        scratch<std::int64_t>(100), i, commute(sum));
  }
  EXPECT_EQ(runtime.read(sum)[0], 55);
}

TEST_P(Every, TiledMatricesHaveTilesOfMemoryOrOfNothing) {
  constexpr std::uint64_t kRows = 50;
  constexpr std::uint64_t kColumns = 35;
  std::vector<double> whole(kRows * kColumns, 1.0);
  Runtime runtime(options());
  const TiledMatrix<double> a(runtime, Tile(whole.data(), kRows, kColumns, kRows), 20, 15, "A");
  const TiledMatrix<double> b(
      runtime, {.rows = kRows, .columns = kColumns, .tile_rows = 20, .tile_columns = 15});
  EXPECT_EQ(a.tile_rows(), 3U);
  EXPECT_EQ(a.tile_columns(), 3U);
  for (const TilePlace at : a) {
    runtime.task(
        "copy",
        [](Tile<const double> from, Tile<double> to, std::uint64_t row) {
          for (std::uint64_t j = 0; j < to.columns(); ++j) {
            for (std::uint64_t i = 0; i < to.rows(); ++i)
              to(i, j) = from(i, j) + static_cast<double>(row);
          }
        },
        in(a(at)), out(b(at)), at.row);
    runtime.task(
        "back",
        [](Tile<const double> from, Tile<double> to) {
          for (std::uint64_t j = 0; j < to.columns(); ++j)
            std::ranges::copy(from.column(j), to.column(j).begin());
        },
        in(b(at)), inout(a(at)));
  }
  for (const TilePlace at : a) runtime.release(a(at));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    ASSERT_EQ(whole[i], 1.0 + static_cast<double>(i % kRows / 20)) << i;
  }
}

// A kernel may always cast; where its task runs it is found out.
TEST_P(Every, WhatAKernelWritesThoughItReadsItIsFoundOut) {
  Options checked = options();
  checked.check_reads = true;
  checked.accelerator_api = "threads";  // the queues of devices are not looked at
  Runtime runtime(checked);
  const auto x = runtime.data<double>(kLength, "x");
  runtime.task(
      "fill", [](std::span<double> to) { std::ranges::fill(to, 1.0); }, out(x));
  runtime.task(
      "reads", [](std::span<const double> from) { ASSERT_EQ(from[3], 1); }, in(x));
  runtime.wait();
  runtime.task(
      "cheats", [](std::span<const double> from) { const_cast<double&>(from[3]) = 2; }, in(x));
  const std::string message = message_of<TaskError>([&] { runtime.wait(); });
  EXPECT_THAT(message, HasSubstr("task cheats failed"));
  EXPECT_THAT(message, HasSubstr("x changed, which it only reads"));
}

TEST(TypedData, OfFilesAreThereForTheNextRuntime) {
  TemporaryFolder folder("typed");
  Options with_disk = small_options();
  with_disk.disk = folder.path();
  const FileRegion file{.path = folder.path() + "/matrix"};
  const MatrixShape shape{.rows = 30, .columns = 20, .tile_rows = 16};
  {
    Runtime runtime(with_disk);
    const TiledMatrix<double> a(runtime, file, shape, "A");
    for (const TilePlace at : a) {
      runtime.task(
          "fill",
          [](Tile<double> to, double value) {
            for (std::uint64_t j = 0; j < to.columns(); ++j) std::ranges::fill(to.column(j), value);
          },
          out(a(at)), static_cast<double>(at.row + 10 * at.column));
    }
    for (const TilePlace at : a) runtime.release(a(at));
  }
  Runtime runtime(with_disk);
  const TiledMatrix<double> a(runtime, file, shape, "A");
  EXPECT_EQ(runtime.read(a(1, 1))(13, 3), 11);
  EXPECT_EQ(runtime.read(a(0, 1))(15, 3), 10);
}

// Handles that go are used again.
TEST(TypedResults, AreGivenBackWhenTheirTaskIsRefused) {
  Runtime runtime(small_options());
  const auto handles_of_300 = [&] {
    std::set<const void*> handles;
    std::vector<Result<int>> results;
    for (int i = 0; i < 300; ++i) {
      results.push_back(runtime.task("one", [] { return 1; }));
      handles.insert(results.back().data().handle().impl());
    }
    runtime.wait();
    return handles;
  };
  const std::set<const void*> before = handles_of_300();
  runtime.wait();
  const auto none = runtime.data<int>(1, "none");
  for (int i = 0; i < 1000; ++i) {
    EXPECT_THROW(runtime.task(
                     "read", [](std::span<const int> of) { return of[0]; }, in(none)),
                 UsageError);
  }
  runtime.wait();
  std::size_t fresh = 0;
  for (const void* const handle : handles_of_300()) fresh += before.contains(handle) ? 0 : 1;
  EXPECT_LE(fresh, 1U);  // that of `none` was one of those before
}

TEST(TypedData, MistakesOfRunTimeAreToldInWords) {
  Runtime runtime(small_options());
  const auto x = runtime.data<double>(10, "x");
  EXPECT_THAT(message_of<UsageError>([&] { runtime.task("early", axpy, 1.0, in(x), inout(x)); }),
              HasSubstr("x"));
  runtime.task(
      "fill", [](std::span<double> to) { to[0] = 1; }, out(x));
  runtime.release(x);
  EXPECT_THAT(message_of<UsageError>([&] {
                runtime.task(
                    "late", [](std::span<double> /*to*/) {}, inout(x));
              }),
              HasSubstr("no longer registered"));
  EXPECT_THAT(
      message_of<UsageError>([&] { TiledMatrix<double>(runtime, {.rows = 3, .columns = 3}, "A"); }),
      HasSubstr("matrix A"));
  const auto y = runtime.data<double>(10, "y");
  runtime.task(
      "waits", [&runtime](std::span<double> /*to*/) { runtime.wait(); }, out(y));
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }), HasSubstr("task waits failed"));
}

}  // namespace
}  // namespace vicinal::testing
