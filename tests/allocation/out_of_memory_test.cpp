// One allocation of a run is refused, each in turn: the run ends with an exception or completes, and what it did not
// touch is there.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/machines.hpp"
#include "support/policy_names.hpp"
#include "support/refusal.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using vicinal::testing::Refusal;
using vicinal::testing::TemporaryFolder;
using vicinal::testing::Watchdog;

constexpr Bytes kTile = 8_KiB;
constexpr int kKept = 4;
constexpr int kTiles = 24;

void set_kernel(KernelContext& k) {
  k.data<std::int64_t>(0)[0] = k.parameter<std::int64_t>();
}
void add_kernel(KernelContext& k) {
  k.data<std::int64_t>(1)[0] += k.data<std::int64_t>(0)[0];
}
const Codelet kSetCodelet{.name = "set",
                          .cpu = set_kernel,
                          .kernels = {{ProcessorKind::emulated, set_kernel}},
                          .expected = {Time{100}, Time{100}}};
const Codelet kAddCodelet{.name = "add",
                          .cpu = add_kernel,
                          .kernels = {{ProcessorKind::emulated, add_kernel}},
                          .expected = {Time{100}, Time{100}}};
// Much to read, for longer and longer on one kind of worker: what a policy notes of both grows.
void look_kernel(KernelContext&) {}
const std::vector<Codelet> kLookCodelets = [] {
  std::vector<Codelet> codelets(6);
  for (std::size_t i = 0; i < codelets.size(); ++i) {
    const auto longer = static_cast<std::int64_t>(100 + 100 * i);
    codelets[i] = {.name = "look",
                   .cpu = look_kernel,
                   .kernels = {{ProcessorKind::emulated, look_kernel}},
                   .expected = {Time{100}, Time{longer}}};
  }
  return codelets;
}();

Handle written(Runtime& runtime, const std::string& name, std::int64_t value) {
  const Handle handle = runtime.register_empty(kTile, name);
  runtime.submit({.codelet = &kSetCodelet, .operands = {W(handle)}, .parameters = value});
  return handle;
}

std::int64_t value_of(Runtime& runtime, Handle handle) {
  return *runtime.acquire(handle, AccessMode::R).data<std::int64_t>();
}

// Tiles are set and added up, with more than the memory holds of them; some tasks have names, groups, callbacks,
// many operands. The sums are checked if it completes.
void run_some(Runtime& runtime, bool simulated) {
  std::vector<Handle> tiles;
  for (int i = 0; i < kTiles; ++i) tiles.push_back(runtime.register_empty(kTile));
  Group group;
  std::atomic<int> ended{0};
  try {
    for (int i = 0; i < kTiles; ++i) {
      runtime.submit({.codelet = &kSetCodelet,
                      .operands = {W(tiles[i])},
                      .parameters = std::int64_t{i},
                      .priority = i % 3,
                      .on_end = [&ended, i](Outcome) { ended += i; }});
    }
    for (int round = 0; round < 3; ++round) {
      for (int i = 1; i < kTiles; ++i) {
        runtime.submit({.codelet = &kAddCodelet,
                        .operands = {R(tiles[0]), RW(tiles[i])},
                        .group = &group,
                        .name = "a name that is too long to lie in the string itself"});
      }
    }
    for (std::size_t i = 0; i < kLookCodelets.size(); ++i) {
      std::vector<Operand> operands;
      for (std::size_t o = 0; o <= i; ++o) operands.push_back(R(tiles[3 * i + o]));
      runtime.submit({.codelet = &kLookCodelets[i], .operands = operands});
    }
    const Handle sum = tiles[1];
    runtime.prefetch(sum, kRam);
    if (!simulated) {
      EXPECT_EQ(value_of(runtime, sum), 1);
    }
    runtime.wait(group);
    runtime.invalidate(tiles[kTiles - 1]);
    runtime.unregister(tiles[kTiles - 1]);
    runtime.wait();
  } catch (...) {
    runtime
        .wait();  // what was submitted counts in what this scope holds; throws the cause if there is another
    throw;
  }
  for (int i = 0; !simulated && i < kTiles - 1; ++i) EXPECT_EQ(value_of(runtime, tiles[i]), i);
}

struct Way {
  Options options;
  bool simulated = false;
};

MachineDescription simulated_machine() {
  return testing::around_ram(
      {{kRam, "ram", NodeKind::ram, 64_KiB},
       {NodeId{1}, "disk", NodeKind::disk, {}},
       {NodeId{2}, "gpu", NodeKind::device, 64_KiB}},
      {{WorkerId{0}, ProcessorKind::cpu, kRam}, {WorkerId{1}, ProcessorKind::emulated, NodeId{2}}},
      {.latency = Time{10}, .copies_in_flight = 2});
}

// An exception must say what it is about.
template <typename Function>
void may_lack_memory(const Function& function) {
  try {
    function();
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& error) {
    EXPECT_NE(std::string_view(error.what()).find("memory"), std::string_view::npos)
        << error.what();
  }
}

// False: the run took fewer allocations.
bool survives(const Way& way, long nth) {
  Runtime runtime =
      way.simulated ? Runtime(simulated_machine(), way.options) : Runtime(way.options);
  std::vector<Handle> kept;
  for (int i = 0; i < kKept; ++i) kept.push_back(written(runtime, "kept" + std::to_string(i), i));
  runtime.wait();
  bool refused = false;
  {
    const Refusal refusal(nth);
    may_lack_memory([&] { run_some(runtime, way.simulated); });
    refused = Refusal::happened();
  }
  may_lack_memory([&] { runtime.wait(); });  // a copy that was made for nobody may have failed
  for (int i = 0; !way.simulated && i < kKept; ++i) EXPECT_EQ(value_of(runtime, kept[i]), i);
  const Handle again = written(runtime, "again", 7);
  runtime.wait();
  if (!way.simulated) {
    EXPECT_EQ(value_of(runtime, again), 7);
  }
  return refused;
}

class OutOfMemory : public ::testing::TestWithParam<std::string> {
 protected:
  Options options() const {
    Options options;
    options.workers = 2;
    options.bind = false;
    options.models = "none";
    options.policy = GetParam();
    return options;
  }
  Options tight() const {
    Options tight = options();
    tight.memory = 64_KiB;
    tight.disk = folder_.path();
    tight.accelerators = 1;
    tight.accelerator_memory = 64_KiB;
    return tight;
  }
  // Each allocation of the first ones, then some: fewer under sanitizers, which are slow.
  void refuse_each(const Way& way) {
#if TEST_THREAD_SANITIZER || TEST_ADDRESS_SANITIZER
    constexpr long kDense = 4;
#else
    constexpr long kDense = 16;
#endif
    for (long nth = 0; !HasFailure(); nth += 1 + nth / kDense) {
      SCOPED_TRACE("allocation " + std::to_string(nth));
      const Watchdog watchdog("allocation " + std::to_string(nth) + " of " + way.options.policy,
                              30);
      if (!survives(way, nth)) break;
    }
  }

 private:
  TemporaryFolder folder_{"out_of_memory"};
};

TEST_P(OutOfMemory, EndsARunInTightMemoryWithAnExceptionAndLosesNothing) {
  refuse_each({tight()});
}

TEST_P(OutOfMemory, EndsARunWithoutALimitWithAnExceptionAndLosesNothing) {
  Options with_device = options();
  with_device.accelerators = 1;
  refuse_each({with_device});
  refuse_each({options()});
}

TEST_P(OutOfMemory, EndsASimulatedRunWithAnException) {
  Options simulated;
  simulated.policy = GetParam();
  refuse_each({simulated, true});
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, OutOfMemory,
                         ::testing::ValuesIn(testing::policy_names_of_each_way()),
                         [](const auto& policy) { return policy.param; });

}  // namespace
}  // namespace vicinal
