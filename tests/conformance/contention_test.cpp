// Memory-bound tasks wait for each other (option contention): what the choice gains, what is told of it, and that nothing
// hangs under any policy, simulated or real.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "reports/explain.hpp"
#include "runtime/runtime_impl.hpp"
#include "support/decision_rules.hpp"
#include "support/listener.hpp"
#include "support/machines.hpp"
#include "support/policy_names.hpp"
#include "support/random_runs.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/tested.hpp"
#include "trace/reader.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::contention_choice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;

// Four cores on a memory of 8 GB/s.
MachineDescription four_cores() {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}};
  machine.segments = {{"memory", BytesPerSecond{8e9}}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    machine.workers.push_back({WorkerId{i}, ProcessorKind::cpu, kRam});
    machine.workers.back().draws_on = {0};
  }
  return machine;
}

Codelet demanding(std::string name, double bytes_per_second) {
  Codelet codelet{.name = std::move(name)};
  codelet.expected[0] = Time{1000};
  codelet.demands[0] = BytesPerSecond{bytes_per_second};
  return codelet;
}

// Four tasks that load at 8 GB/s, then twelve that compute, of 1 us each.
template <typename Submit>
void load_then_compute(const Submit& submit) {
  static const Codelet kLoad = demanding("load", 8e9);
  static const Codelet kCompute = demanding("compute", 0);
  for (int i = 0; i < 4; ++i) submit(kLoad);
  for (int i = 0; i < 12; ++i) submit(kCompute);
}

Time time_of(const std::string& policy, const std::string& contention) {
  Options options;
  options.policy = policy;
  options.contention = contention;
  Runtime runtime(four_cores(), options);
  load_then_compute([&](const Codelet& codelet) { runtime.submit({.codelet = &codelet}); });
  runtime.wait();
  return runtime.statistics().now;
}

// First in, first out: all that load run at once, at a quarter of their speed each, 4 us; then three rounds of what computes.
// Or one load at a time with three computations beside it: 4 us in all.
TEST(ContentionChoice, RunsWhatComputesBesideWhatLoads) {
  EXPECT_EQ(time_of("eager", "off"), Time{7000});
  EXPECT_EQ(time_of("eager", "auto"), Time{4000});
}

TEST(ContentionChoice, TakesNoLongerUnderAnyPolicy) {
  for (const std::string& policy : testing::policy_names()) {
    EXPECT_LE(time_of(policy, "auto"), time_of(policy, "off")) << policy;
  }
}

TEST(ContentionChoice, OnlyAutoAndOffAreForASimulatedMachine) {
  EXPECT_THAT(message_of<UsageError>([] { time_of("eager", "henri"); }),
              AllOf(HasSubstr("option contention"), HasSubstr("write auto or off")));
}

TEST(ContentionChoice, OfAMachineThatIsThereAnUnknownOrSilentOneIsRefused) {
  const auto refusal = [](const std::string& contention) {
    return message_of<UsageError>([&] {
      Options options;
      options.workers = 1;
      options.contention = contention;
      const Runtime runtime(options);
    });
  };
  EXPECT_THAT(refusal("of"), HasSubstr("option contention: it is auto, off, or a machine"));
  EXPECT_THAT(refusal("v100"), HasSubstr("does not say on what its cores draw"));
}

// The second that loads waits beside the first.
TEST(ContentionChoice, IsToldAndExplained) {
  const TemporaryFolder folder;
  testing::Listener listener;
  Options options;
  options.policy = "eager";
  {
    runtime::RuntimeImpl impl(options, runtime::MachineSetup(four_cores()), &listener);
    impl.start_trace(folder.file("run.vtrace"), "all");
    load_then_compute([&](const Codelet& codelet) { impl.submit({.codelet = &codelet}); });
    impl.wait();
    impl.stop_trace();
    impl.close();
  }
  std::size_t waits = 0;
  for (const trace::Decision& decision : listener.heard()) {
    EXPECT_EQ(testing::winner_by_rule(decision), decision.winner);
    if (decision.reason == trace::Reason::memory_saturated) ++waits;
  }
  EXPECT_EQ(waits, 3U);
  const analysis::RecordedRun run(trace::Reader(folder.file("run.vtrace")));
  EXPECT_THAT(reports::explain(run, {.task = "1"}, false).text,
              AllOf(HasSubstr("load 1 waited: 1 memory-bound task saturated the memory already"),
                    HasSubstr("The rule \"memory saturated\""), HasSubstr("demanded 7.451 GiB")));
  EXPECT_THAT(reports::explain(run, {}, false).text,
              HasSubstr("3 tasks waited as others saturated the memory (option contention)"));
}

// --- random programs

class RandomDraws {
 public:
  RandomDraws(std::uint64_t seed, std::string policy)
      : random_(seed * 2 + 1), policy_(std::move(policy)) {
    make_machine();
    for (int i = 0; i < 5; ++i) make_codelet();
  }

  void run() {
    Options options;
    options.policy = policy_;
    options.seed = random_.next();
    Runtime runtime(machine_, options);
    for (std::size_t i = 0; i < 3 + random_.below(8); ++i) {
      data_.push_back(runtime.register_simulated(kDatum));
    }
    const std::size_t tasks = 1 + random_.below(60);
    for (std::size_t i = 0; i < tasks; ++i) {
      submit(runtime);
      if (random_.below(30) == 0) runtime.wait();
    }
    runtime.wait();
    EXPECT_EQ(runtime.statistics().tasks_done, runtime.statistics().tasks_submitted);
    for (const Handle handle : data_) runtime.unregister(handle);
  }

 private:
  static constexpr Bytes kDatum = 1_MiB;
  static constexpr std::size_t kOperands = 3;

  // RAM and accelerators hold three data and more, or all; what memory gives rises, falls or stays.
  void make_machine() {
    const auto limit = [&]() -> std::optional<Bytes> {
      if (random_.below(2) == 0) return std::nullopt;
      return Bytes{kDatum.value * (kOperands + random_.below(4))};
    };
    const std::optional<Bytes> ram = limit();
    machine_.nodes = {{kRam, "ram", NodeKind::ram, ram}};
    SegmentDescription memory{"memory", BytesPerSecond{1e10}};
    for (std::size_t i = random_.below(5); i > 0; --i) {
      memory.by_kernels.push_back(BytesPerSecond{1e9 * (1 + 9 * random_.uniform())});
    }
    if (random_.below(2) == 0) memory.for_copies = BytesPerSecond{1e9};
    machine_.segments = {memory};
    const auto join = [&](NodeId node) {
      testing::join(machine_, kRam, node,
                    {BytesPerSecond{1e9 * static_cast<double>(random_.below(3))}});
      for (LinkDescription& link : machine_.links) link.segments = {0};
    };
    if (ram) {
      machine_.nodes.push_back({NodeId{1}, "disk", NodeKind::disk, {}});
      join(NodeId{1});
    }
    for (std::size_t i = 1 + random_.below(6); i > 0; --i) {
      add_worker(ProcessorKind::cpu, kRam);
      if (random_.below(4) > 0) machine_.workers.back().draws_on = {0};
    }
    if (random_.below(3) == 0) {
      const NodeId node{static_cast<std::uint32_t>(machine_.nodes.size())};
      machine_.nodes.push_back({node, "device", NodeKind::device, limit()});
      join(node);
      add_worker(ProcessorKind::gpu, node);
    }
  }
  void add_worker(ProcessorKind kind, NodeId node) {
    const WorkerId id{static_cast<std::uint32_t>(machine_.workers.size())};
    machine_.workers.push_back({id, kind, node});
  }
  void make_codelet() {
    Codelet& codelet = codelets_.emplace_back();
    codelet.name = "k" + std::to_string(codelets_.size());
    codelet.expected[0] = Time{1000 + static_cast<std::int64_t>(random_.below(1'000'000))};
    if (random_.below(2) == 0) {
      codelet.expected[static_cast<std::size_t>(ProcessorKind::gpu)] = Time{10'000};
    }
    if (random_.below(3) > 0) {
      codelet.demands[0] = BytesPerSecond{std::pow(10.0, 8 + 2.5 * random_.uniform())};
    }
  }
  void submit(Runtime& runtime) {
    const Codelet& codelet = codelets_[random_.below(codelets_.size())];
    std::vector<Operand> operands;
    for (std::size_t i = random_.below(kOperands + 1); i > 0; --i) {
      const Handle handle = data_[random_.below(data_.size())];
      const bool named = std::ranges::any_of(
          operands, [&](const Operand& other) { return other.handle == handle; });
      if (!named) operands.push_back({handle, static_cast<AccessMode>(1 + random_.below(3))});
    }
    const bool bound = random_.below(8) == 0;
    runtime.submit({.codelet = &codelet,
                    .operands = operands,
                    .priority = static_cast<int>(random_.below(4)),
                    .worker = bound ? std::optional(WorkerId{0}) : std::nullopt});
  }

  base::Random random_;
  std::string policy_;
  MachineDescription machine_;
  std::deque<Codelet> codelets_;
  std::vector<Handle> data_;
};

TEST(ContentionChoice, NeverHangsUnderAnyPolicyHoweverSmallTheMemory) {
  for (const std::string& policy : testing::policy_names()) {
    for (const std::uint64_t seed : testing::seeds(100)) {
      SCOPED_TRACE("TEST_SEED_VICINAL=" + std::to_string(seed) + ", policy " + policy);
      try {
        RandomDraws(seed, policy).run();
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
      if (HasFailure()) return;
    }
  }
}

// Chains of tasks, every other one memory-bound, on threads and on the disk.
TEST(ContentionChoice, RealWorkersRunEachTaskOnceUnderAllPolicies) {
  constexpr int kChains = 12;
  constexpr int kLength = 40;
  const TemporaryFolder folder;
  std::ofstream(folder.file("like.toml")) << R"(name = "like"
sentence = "four cores on a memory"
[segment.memory]
bandwidth = "10 GB/s"
duplex = "half"
for_copies = "1 GB/s"
[cpu]
most = 4
draws_on = ["memory"]
)";
  Codelet load{.name = "load", .cpu = testing::add_kernel};
  load.demands[0] = BytesPerSecond{9e9};
  const Codelet compute{.name = "compute", .cpu = testing::add_kernel};
  for (const std::string& policy : testing::policy_names()) {
    for (const bool is_tight : {false, true}) {
      SCOPED_TRACE(policy + (is_tight ? ", on the disk" : ""));
      Options options{.workers = 4};
      options.bind = false;
      options.policy = policy;
      options.models = "none";
      options.contention = folder.file("like.toml");
      if (is_tight) {
        options.memory = Bytes{std::uint64_t{5} << 19};
        options.disk = folder.path();
        options.direct_io = false;
      }
      Runtime runtime(options);
      std::vector<Handle> data;
      for (int c = 0; c < kChains; ++c) {
        data.push_back(runtime.register_empty(512_KiB, "x" + std::to_string(c)));
        runtime.submit({.codelet = &testing::kSet,
                        .operands = {W(data.back())},
                        .parameters = std::int64_t{c}});
      }
      for (int i = 0; i < kLength; ++i) {
        for (int c = 0; c < kChains; ++c) {
          runtime.submit({.codelet = (i + c) % 2 == 0 ? &load : &compute,
                          .operands = {RW(data[static_cast<std::size_t>(c)])},
                          .parameters = std::int64_t{1}});
        }
      }
      runtime.wait();
      for (int c = 0; c < kChains; ++c) {
        const Acquired acquired = runtime.acquire(data[static_cast<std::size_t>(c)], AccessMode::R);
        EXPECT_EQ(*acquired.data<std::int64_t>(), c + kLength);
      }
    }
  }
}

}  // namespace
}  // namespace vicinal::contention_choice
