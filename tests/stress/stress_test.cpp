// Much at once, for some seconds: TEST_SECONDS_VICINAL (3 by default) for each of these tests. Meant
// to be run under the thread and address sanitizers as well.
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sched/policy.hpp"
#include "support/device_queues.hpp"
#include "support/random_runs.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/tested.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

class Stress : public ::testing::Test {
 protected:
  using Clock = std::chrono::steady_clock;

  // Calls round(seed, random, options) with a seed after the other until the time is over or one has
  // failed. The round may change its options, and says with_seed() what they are.
  template <typename Round>
  void for_each_seed(Round round) {
    while (Clock::now() < end_ && !HasFailure()) {
      const std::uint64_t seed = ++seed_;
      base::Random random(seed);
      Options options = random_options(random);
      if (random.below(2) == 0) options.models = folder_.path();
      round(seed, random, options);
    }
  }
  // With a few pages of RAM, a disk and devices.
  void limit(Options& options, std::uint64_t pages, base::Random& random) const {
    options.memory = kPage * pages;
    options.disk = folder_.path();
    options.accelerators = static_cast<std::uint32_t>(random.below(5));
    options.accelerator_memory = kPage * pages;
    testing::choose_queues(options, random);
  }

  TemporaryFolder folder_{"stress"};
  Watchdog watchdog_{::testing::UnitTest::GetInstance()->current_test_info()->name(), 60};

 private:
  static Options random_options(base::Random& random) {
    Options options = small_options(2 + static_cast<std::uint32_t>(random.below(3)));
    const auto table = testing::tested_policies();
    options.policy = table[random.below(table.size())].name;
    options.submitter_works = random.below(2) == 0;
    options.look_ahead = 1 + static_cast<std::uint32_t>(random.below(8));
    return options;
  }

  const Clock::time_point end_ =
      Clock::now() + std::chrono::seconds(testing::from_environment("TEST_SECONDS_VICINAL", 3));
  std::uint64_t seed_ = testing::from_environment("TEST_SEED_VICINAL", 0);
};

std::string with_seed(std::uint64_t seed, const Options& options) {
  return "TEST_SEED_VICINAL=" + std::to_string(seed - 1) + ", policy " + options.policy + ", " +
         std::to_string(options.workers) + " workers, " + std::to_string(options.accelerators) +
         " devices (" + options.accelerator_api + "), memory " +
         std::to_string(options.memory.value_or(Bytes{0}).value) + ", window " +
         std::to_string(options.window_tasks) + " tasks " +
         std::to_string(options.window_bytes.value) + " bytes";
}

std::vector<Handle> pages_of_zeros(Runtime& runtime, int count) {
  std::vector<Handle> pages;
  for (int i = 0; i < count; ++i) {
    pages.push_back(runtime.register_empty(kPage));
    runtime.submit(set(pages.back(), 0));
  }
  return pages;
}

void increment_kernel(KernelContext& k) {
  for (std::size_t i = 0; i < k.operands(); ++i) ++*k.data<std::int64_t>(i);
}
const Codelet kIncrement{.name = "increment", .cpu = increment_kernel};
const Codelet kIncrementOnDevice{.name = "increment",
                                 .kernels = {{ProcessorKind::emulated, increment_kernel}}};

TEST_F(Stress, ManyTinyTasksOverFewHandles) {
  for_each_seed([&](std::uint64_t seed, base::Random& random, Options& options) {
    SCOPED_TRACE(with_seed(seed, options));
    Runtime runtime(options);
    const Watched watched(watchdog_, runtime);
    std::vector<std::int64_t> numbers(4, 0);
    std::vector<std::int64_t> expected(4, 0);
    std::vector<Handle> handles;
    for (auto& number : numbers) handles.push_back(runtime.register_buffer(&number, Bytes{8}));
    for (int i = 0; i < 20'000; ++i) {
      const std::size_t a = random.below(4);
      const std::size_t b = random.below(4);
      if (a == b || random.below(2) == 0) {
        runtime.submit({.codelet = &kIncrement, .operands = {RW(handles[a])}});
        ++expected[a];
      } else {
        runtime.submit({.codelet = &kIncrement, .operands = {RW(handles[a]), RW(handles[b])}});
        ++expected[a];
        ++expected[b];
      }
      if (random.below(5000) == 0) runtime.wait();
    }
    runtime.wait();
    ASSERT_EQ(numbers, expected);
  });
}

// A tree of tasks: each submits two more, down to a depth, on its own part of the data.
struct Branch {
  Runtime* runtime;
  const std::vector<Handle>* handles;
  std::uint32_t depth;
  std::uint32_t seed;
};
void branch_kernel(KernelContext& k) {
  static const Codelet branch{.name = "branch", .cpu = branch_kernel};
  Branch self = k.parameter<Branch>();
  const auto& handles = *self.handles;
  self.runtime->submit(
      {.codelet = &kIncrement, .operands = {RW(handles[self.seed % handles.size()])}});
  if (self.depth == 0) return;
  for (const std::uint32_t side : {0U, 1U}) {
    Branch child = self;
    --child.depth;
    child.seed = 2 * self.seed + side;
    self.runtime->submit({.codelet = &branch, .parameters = child});
  }
}

TEST_F(Stress, TasksThatSubmitTasks) {
  const Codelet branch{.name = "branch", .cpu = branch_kernel};
  for_each_seed([&](std::uint64_t seed, base::Random& random, Options& options) {
    if (random.below(2) == 0) limit(options, 6, random);
    if (random.below(2) == 0) options.window_tasks = 1 + random.below(20);
    if (random.below(4) == 0) options.window_bytes = Bytes{8 + random.below(100)};
    SCOPED_TRACE(with_seed(seed, options));
    Runtime runtime(options);
    const Watched watched(watchdog_, runtime);
    std::vector<std::int64_t> numbers(7, 0);
    std::vector<Handle> handles;
    for (auto& number : numbers) handles.push_back(runtime.register_buffer(&number, Bytes{8}));
    for (std::uint32_t i = 1; i <= 4; ++i) {
      runtime.submit({.codelet = &branch, .parameters = Branch{&runtime, &handles, 7, i}});
    }
    for (const Handle handle : handles) runtime.wait(handle);
    runtime.wait();
    for (const Handle handle : handles) runtime.unregister(handle);
    // 4 trees of 2^8 - 1 branches, one increment each.
    std::int64_t sum = 0;
    for (const std::int64_t number : numbers) sum += number;
    const Statistics s = runtime.statistics();
    ASSERT_EQ(sum, 4 * 255) << s.tasks_submitted << " submitted, " << s.tasks_done << " done";
  });
}

TEST_F(Stress, LimitedMemoryWithDiskAndDevicesAndSeveralThreads) {
  for_each_seed([&](std::uint64_t seed, base::Random& random, Options& options) {
    limit(options, 4 + random.below(3), random);
    SCOPED_TRACE(with_seed(seed, options));
    Runtime runtime(options);
    const Watched watched(watchdog_, runtime);
    // Each thread has pages of its own, and all share some; a page counts its increments.
    const std::vector<Handle> shared = pages_of_zeros(runtime, 4);
    std::atomic<std::int64_t> shared_increments{0};
    in_threads(3, [&](std::size_t t) {
      base::Random own_random(seed * 10 + t);
      std::vector<Handle> own;
      std::vector<std::int64_t> expected;
      for (int i = 0; i < 6; ++i) {
        own.push_back(runtime.register_empty(Bytes{4096 + 512 * own_random.below(3)}));
        runtime.submit(set(own.back(), 0));
        expected.push_back(0);
      }
      for (int i = 0; i < 150; ++i) {
        const std::size_t at = own_random.below(own.size());
        const Handle other = shared[own_random.below(shared.size())];
        const bool device = options.accelerators > 0 && own_random.below(2) == 0;
        runtime.submit({.codelet = device ? &kIncrementOnDevice : &kIncrement,
                        .operands = {RW(own[at]), RW(other)}});
        ++expected[at];
        ++shared_increments;
        if (own_random.below(30) == 0) {
          const Acquired acquired = runtime.acquire(own[at], AccessMode::RW);
          EXPECT_EQ(*acquired.data<std::int64_t>(), expected[at]);
          ++*acquired.data<std::int64_t>();
          ++expected[at];
        }
        if (own_random.below(40) == 0) {  // one goes, another comes
          runtime.unregister(own[at]);
          own[at] = runtime.register_empty(kPage);
          runtime.submit(set(own[at], 0));
          expected[at] = 0;
        }
        if (own_random.below(50) == 0) runtime.prefetch(own[at], kRam);
        if (own_random.below(50) == 0) runtime.wont_use(own[at]);
      }
      for (std::size_t i = 0; i < own.size(); ++i) {
        const Acquired acquired = runtime.acquire(own[i], AccessMode::R);
        EXPECT_EQ(*acquired.data<std::int64_t>(), expected[i]);
      }
      for (const Handle handle : own) runtime.unregister(handle);
    });
    runtime.wait();
    std::int64_t sum = 0;
    for (const Handle handle : shared) {
      sum += *runtime.acquire(handle, AccessMode::R).data<std::int64_t>();
    }
    ASSERT_EQ(sum, shared_increments);
    const Statistics s = runtime.statistics();
    for (std::size_t n = 0; n < s.nodes.size(); ++n) {
      const auto most = runtime.machine().nodes[n].limit;
      EXPECT_TRUE(!most || s.nodes[n].peak <= *most) << n;
    }
  });
}

TEST_F(Stress, RuntimesComeAndGo) {
  for_each_seed([&](std::uint64_t seed, base::Random& random, Options& options) {
    if (random.below(2) == 0) limit(options, 3, random);
    if (random.below(4) == 0) options.stall_seconds = 100;
    SCOPED_TRACE(with_seed(seed, options));
    std::vector<std::int64_t> x(512, 0);
    const auto tasks = static_cast<std::int64_t>(random.below(30));
    {
      Runtime runtime(options);
      const Handle h = runtime.register_buffer(x.data(), kPage);
      for (std::int64_t i = 0; i < tasks; ++i) {
        const bool device = options.accelerators > 0 && i % 3 == 0;
        runtime.submit(add(h, 1, device ? kAddOnDevice : kAdd));
      }
      if (random.below(2) == 0) runtime.wait();
      if (random.below(2) == 0) runtime.unregister(h);
    }
    ASSERT_EQ(x, std::vector<std::int64_t>(512, tasks));
  });
}

TEST_F(Stress, ConcurrentAcquisitionsOfTheSameData) {
  for_each_seed([&](std::uint64_t seed, base::Random& random, Options& options) {
    if (random.below(2) == 0) limit(options, 4, random);
    SCOPED_TRACE(with_seed(seed, options));
    Runtime runtime(options);
    const Watched watched(watchdog_, runtime);
    const std::vector<Handle> handles = pages_of_zeros(runtime, 3);
    std::atomic<std::int64_t> increments{0};
    in_threads(4, [&](std::size_t t) {
      base::Random own(seed * 10 + t);
      for (int i = 0; i < 100; ++i) {
        const Handle handle = handles[own.below(handles.size())];
        if (own.below(3) == 0) {
          runtime.submit(add(handle, 1));
          ++increments;
        } else if (own.below(2) == 0) {
          const Acquired acquired = runtime.acquire(handle, AccessMode::RW);
          for_each_element(acquired.view(), [](std::int64_t& value) { ++value; });
          ++increments;
        } else {
          value_of(runtime, handle);
        }
        if (own.below(40) == 0) runtime.wait();
      }
    });
    std::int64_t sum = 0;
    for (const Handle handle : handles) sum += value_of(runtime, handle);
    ASSERT_EQ(sum, increments);
  });
}

TEST_F(Stress, CancellingInMidRun) {
  for_each_seed([&](std::uint64_t seed, base::Random& random, Options& options) {
    if (random.below(2) == 0) limit(options, 4, random);
    options.compute_priorities = random.below(4) == 0;
    SCOPED_TRACE(with_seed(seed, options));
    Runtime runtime(options);
    const Watched watched(watchdog_, runtime);
    std::vector<Handle> handles;
    for (int i = 0; i < 8; ++i) handles.push_back(runtime.register_empty(kPage));
    std::atomic<std::int64_t> ends{0};
    const auto wait = [&](const char* which, int round) {
      try {
        runtime.wait();
      } catch (const std::exception& error) {
        FAIL() << which << " wait of round " << round << ": " << error.what() << "\n"
               << with_seed(seed, options) << "\n"
               << runtime.stall_report();
      }
    };
    for (int round = 0; round < 10; ++round) {
      for (const Handle handle : handles) runtime.submit(set(handle, round));
      if (random.below(2) == 0) wait("first", round);
      std::thread canceller;
      if (random.below(2) == 0) {
        canceller = std::thread([&] { runtime.cancel(); });
      }
      const std::int64_t tasks = 200;
      ends = 0;
      for (std::int64_t i = 0; i < tasks; ++i) {
        TaskSpec spec = add(handles[random.below(8)], 1);
        spec.on_end = [&](Outcome) { ++ends; };
        runtime.submit(spec);
      }
      if (canceller.joinable()) {
        canceller.join();
      } else {
        runtime.cancel();
      }
      wait("last", round);
      ASSERT_EQ(ends, tasks);
      if (HasFailure()) return;
    }
    for (const Handle handle : handles) runtime.submit(set(handle, 7));
    runtime.wait();
    for (const Handle handle : handles) ASSERT_EQ(value_of(runtime, handle), 7);
  });
}

// Nothing else ends afterwards that would hide that somebody was not told.
TEST_F(Stress, DataComeAndGoInPartsInSeveralThreads) {
  for_each_seed([&](std::uint64_t seed, base::Random& random, Options& options) {
    if (random.below(4) == 0) limit(options, 64, random);
    SCOPED_TRACE(with_seed(seed, options));
    Runtime runtime(options);
    const Watched watched(watchdog_, runtime);
    in_threads(2 + random.below(2), [&](std::size_t t) {
      base::Random own(seed * 10 + t);
      for (int i = 0; i < 20; ++i) {
        const Handle handle = runtime.register_empty(kPage);
        runtime.submit(set(handle, 0));
        if (own.below(2) == 0) runtime.wait(handle);
        const Parts parts = runtime.partition(handle, row_blocks(1 + own.below(100)));
        if (own.below(4) == 0) static_cast<void>(runtime.partition(parts[0], row_blocks(2)));
        if (own.below(4) == 0) runtime.submit(add(parts[0], 1));
        if (own.below(3) == 0) runtime.unpartition(parts);
        runtime.unregister(handle);
      }
    });
  });
}

// Either comes first.
TEST_F(Stress, AHandleIsDividedAndUnregisteredAtOnce) {
  for_each_seed([&](std::uint64_t seed, base::Random& random, Options& options) {
    SCOPED_TRACE(with_seed(seed, options));
    Runtime runtime(options);
    const Watched watched(watchdog_, runtime);
    const std::size_t division = 1 + random.below(8);
    for (int i = 0; i < 50; ++i) {
      const Handle handle = runtime.register_empty(kPage);
      runtime.submit(set(handle, i));
      in_threads(2, [&](std::size_t t) {
        try {
          if (t == 0) return runtime.unregister(handle);
          static_cast<void>(runtime.partition(handle, row_blocks(division)));
        } catch (const UsageError&) {
          EXPECT_EQ(t, 1U);
        }
      });
    }
  });
}

}  // namespace
}  // namespace vicinal
