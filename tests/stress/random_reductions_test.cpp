// Random programs whose tasks reduce into some data and read and write them between: they end, also in the least memory,
// with the content that the same operations leave one after the other. A failure names its seed.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/named_crash.hpp"
#include "support/policy_names.hpp"
#include "support/random_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using testing::TemporaryFolder;
using testing::Watchdog;

constexpr std::size_t kElements = 512;
constexpr Bytes kPage{kElements * 8};
constexpr std::size_t kHandles = 4;

// By the parameter all the operands that a task changes.
void add_to_all(KernelContext& k) {
  const auto number = k.parameter<std::uint64_t>();
  for (std::size_t operand = 0; operand < k.operands(); ++operand) {
    for (std::size_t i = 0; i < kElements; ++i) k.data<std::uint64_t>(operand)[i] += number * i;
  }
}
void set_zero(KernelContext& k) {
  for (std::size_t i = 0; i < kElements; ++i) k.data<std::uint64_t>(0)[i] = 0;
}
// Operand 0 is read.
void add_first(KernelContext& k) {
  for (std::size_t i = 0; i < kElements; ++i) {
    k.data<std::uint64_t>(1)[i] += k.data<std::uint64_t>(0)[i];
  }
}
void combine(KernelContext& k) {
  for (std::size_t i = 0; i < kElements; ++i) {
    k.data<std::uint64_t>(0)[i] += k.data<std::uint64_t>(1)[i];
  }
}
const Codelet kAddToAll{.name = "add", .cpu = add_to_all};
const Codelet kZero{.name = "zero", .cpu = set_zero};
const Codelet kAddFirst{.name = "add_first", .cpu = add_first};
const Codelet kCombine{.name = "combine", .cpu = combine};

class ReducingProgram {
 public:
  ReducingProgram(std::uint64_t seed, const std::string& folder) : random_(seed) {
    const std::vector<std::string> names = testing::policy_names();
    options_.policy = names[seed % names.size()];
    options_.models = "none";
    options_.seed = seed;
    options_.workers = 1 + static_cast<std::uint32_t>(random_.below(3));
    options_.accelerators = static_cast<std::uint32_t>(random_.below(4));
    options_.compute_priorities = random_.below(4) == 0;
    // Two of those that a task reduces into at once.
    options_.accelerator_memory = kPage * (2 + random_.below(4));
    if (random_.below(3) == 0) return;
    const bool has_disk = random_.below(2) == 0;
    // Without a disk a copy of each has its place, and a handle if it has no home.
    options_.memory = kPage * ((has_disk ? 2 : 2 * kHandles) + random_.below(3));
    if (has_disk) options_.disk = folder;
  }
  std::string label() const {
    return options_.policy + ", " + std::to_string(options_.accelerators) + " accelerators";
  }

  void run(Watchdog& watchdog) {
    std::vector<std::vector<std::uint64_t>> homes(kHandles,
                                                  std::vector<std::uint64_t>(kElements, 1));
    Runtime runtime(options_);
    const testing::Watched watched(watchdog, runtime);
    for (std::size_t h = 0; h < kHandles; ++h) {
      const bool has_home = random_.below(2) == 0;
      expected_.emplace_back(kElements, has_home ? 1 : 0);
      handles_.push_back(has_home ? runtime.register_buffer(homes[h].data(), kPage)
                                  : runtime.register_empty(kPage));
      runtime.set_reduction(handles_[h], {.neutral = &kZero, .combine = &kCombine});
      // Otherwise the first combination finds no content.
      if (!has_home) reduce(runtime, h, h);
    }
    const std::uint64_t steps = 20 + random_.below(60);
    for (std::uint64_t step = 0; step < steps; ++step) one_step(runtime);
    for (std::size_t h = 0; h < kHandles; ++h) {
      const Acquired held = runtime.acquire(handles_[h], AccessMode::R);
      for (std::size_t i = 0; i < kElements; ++i) {
        ASSERT_EQ(held.data<std::uint64_t>()[i], expected_[h][i]) << h << ", " << i;
      }
    }
    runtime.wait();
  }

 private:
  void reduce(Runtime& runtime, std::size_t a, std::size_t b) {
    const std::uint64_t number = 1 + random_.below(100);
    TaskSpec spec{.codelet = &kAddToAll, .parameters = number};
    if (a == b) {
      spec.operands = {Reduce(handles_[a])};
    } else {
      spec.operands = {Reduce(handles_[a]), Reduce(handles_[b])};
    }
    runtime.submit(spec);
    for (std::size_t i = 0; i < kElements; ++i) {
      expected_[a][i] += number * i;
      if (a != b) expected_[b][i] += number * i;
    }
  }
  void one_step(Runtime& runtime) {
    const std::size_t a = random_.below(kHandles);
    const std::size_t b = random_.below(kHandles);
    switch (random_.below(10)) {
      case 0:
        runtime.submit({.codelet = &kZero, .operands = {W(handles_[a])}});
        return expected_[a].assign(kElements, 0);
      case 1:
      case 2: {
        if (a == b) return;
        const bool reduces = random_.below(2) == 0;
        const Operand to = reduces ? Reduce(handles_[b]) : RW(handles_[b]);
        runtime.submit({.codelet = &kAddFirst, .operands = {R(handles_[a]), to}});
        for (std::size_t i = 0; i < kElements; ++i) expected_[b][i] += expected_[a][i];
        return;
      }
      case 3:
        return runtime.wait(handles_[a]);
      default:
        return reduce(runtime, a, b);
    }
  }

  base::Random random_;
  Options options_;
  std::vector<Handle> handles_;
  std::vector<std::vector<std::uint64_t>> expected_;
};

TEST(RandomReductions, HaveTheResultOfTheSequence) {
  for (const std::uint64_t seed : testing::seeds(100)) {
    const TemporaryFolder folder("reductions");
    ReducingProgram program(seed, folder.path());
    const std::string label = "TEST_SEED_VICINAL=" + std::to_string(seed) +
                              " tests/stress --gtest_filter=RandomReductions.* (" +
                              program.label() + ")";
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

}  // namespace
}  // namespace vicinal
