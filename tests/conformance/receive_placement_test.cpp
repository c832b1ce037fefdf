// Content of other ranks that goes on to an accelerator when it has come: where to, when, and that it is counted.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs/make_graph.hpp"
#include "machine/machine_model.hpp"
#include "play/play_on_ranks.hpp"
#include "support/cuda_library.hpp"
#include "support/local_ranks.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/simulated_cluster.hpp"

namespace vicinal::receive_placement {
namespace {

using ::testing::HasSubstr;

// Two hosts with GPUs and no cores: all links carry 1 GB/s without latency, and nothing has overheads, so that 1 MB takes
// 1 ms on each. `memory`: of a GPU.
machine::ClusterModel model_of(std::uint32_t gpus, const std::string& memory = "64 MB") {
  const std::string text = R"(name = "two"
sentence = "two hosts"
[ram]
[cpu]
most = 4
by_default = 0
[gpu]
most = )" + std::to_string(gpus) +
                           "\nmemory = \"" + memory + R"("
[[link]]
between = ["ram", "gpu"]
bandwidth = "1 GB/s"
[[link]]
between = ["gpu", "gpu"]
bandwidth = "1 GB/s"
[cluster]
hosts = 2
nic = "1 GB/s"
)";
  return machine::parse_cluster(text, "two.toml", {}).value();
}

Codelet lasting(const char* name, Time time) {
  Codelet made{.name = name};
  made.expected.fill(time);
  return made;
}
constexpr std::int64_t kMs = 1'000'000;
constexpr Bytes kMegabyte{1'000'000};
const Codelet kShort = lasting("short", Time{kMs / 10});
const Codelet kLong = lasting("long", Time{10 * kMs});

struct Case {
  std::string placement;
  std::optional<NodeId> advised = {};  // for y
  std::uint32_t gpus = 1;
  std::string memory = "64 MB";
  std::string policy = "eager";
};
struct Outcomes {
  Time end;
  Statistics receiver;
};

// x of rank 0 is read on rank 1 by a task that also writes y, after 10 ms of another task on y.
Outcomes play(const Case& how) {
  const SimulatedCluster cluster(model_of(how.gpus, how.memory), 0, "auto");
  std::deque<Runtime> ranks;
  for (std::uint32_t r = 0; r < 2; ++r) {
    Options options{.policy = how.policy};
    options.receive_placement = how.placement;
    ranks.emplace_back(cluster.host(), options, cluster.world(), cluster.rank(RankId{r}));
  }
  for (Runtime& runtime : ranks) {
    const Handle x = runtime.register_simulated(RankId{0}, kMegabyte, kRam, "x");
    const Handle y = runtime.register_empty(RankId{1}, kMegabyte, "y");
    if (how.advised) runtime.advise(y, how.advised);
    runtime.submit({.codelet = &kShort, .operands = {W(y)}});
    runtime.submit({.codelet = &kLong, .operands = {RW(y)}});
    runtime.submit({.codelet = &kShort, .operands = {RW(y), R(x)}});
  }
  for (Runtime& runtime : ranks) runtime.wait();
  return {cluster.world().now(), ranks[1].statistics()};
}

std::uint64_t bytes_into(const Statistics& statistics, NodeId node) {
  std::uint64_t sum = 0;
  for (const LinkStatistics& link : statistics.links) {
    if (link.to == node && link.from == kRam) sum += link.bytes.value;
  }
  return sum;
}

// The three tasks take 0.1, 10 and 0.1 ms. x comes to RAM after 1 ms. If it stays, its copy begins when the third task
// is ready, after 10.1 ms, and takes 1 ms; else the copy has ended after 2 ms.
TEST(ReceivePlacement, TheCopyBeginsOnArrivalAndNotWhenTheTaskIsReady) {
  const Outcomes in_ram = play({.placement = "ram"});
  EXPECT_EQ(in_ram.end.ns, 11'200'000);
  EXPECT_EQ(in_ram.receiver.placed_on_arrival, Bytes{0});
  for (const char* const rule : {"owner", "advised", "random"}) {
    const Outcomes placed = play({.placement = rule});
    EXPECT_EQ(placed.end.ns, 10'200'000) << rule;
    EXPECT_EQ(placed.receiver.placed_on_arrival, kMegabyte) << rule;
    EXPECT_EQ(placed.receiver.received, kMegabyte) << rule;
    EXPECT_EQ(bytes_into(placed.receiver, NodeId{1}), kMegabyte.value) << rule << ": once";
  }
}

TEST(ReceivePlacement, AdviceForWhatTheTaskWritesComesBeforeWhoWroteIt) {
  // Two GPUs; whoever is free first writes y, and advice names the other one.
  for (const NodeId node : {NodeId{1}, NodeId{2}}) {
    const Outcomes advised = play({.placement = "advised", .advised = node, .gpus = 2});
    EXPECT_GE(bytes_into(advised.receiver, node), kMegabyte.value);
    EXPECT_EQ(advised.receiver.placed_on_arrival, kMegabyte);
  }
  // It stays where RAM is advised, and the rule of owners does not look at advice.
  EXPECT_EQ(play({.placement = "advised", .advised = kRam}).receiver.placed_on_arrival, Bytes{0});
  EXPECT_EQ(play({.placement = "owner", .advised = kRam}).receiver.placed_on_arrival, kMegabyte);
  EXPECT_EQ(play({.placement = "owner", .advised = kRam}).end.ns, 10'200'000);
}

// y and x each take a megabyte and padding.
TEST(ReceivePlacement, AnAcceleratorThatHasRoomForBothTakesIt) {
  const Outcomes tight = play({.placement = "owner", .memory = "2.1 MB"});
  EXPECT_EQ(tight.receiver.placed_on_arrival, kMegabyte);
  EXPECT_EQ(tight.end.ns, 10'200'000);
}

// z and y are in use on the GPU when x comes, and both fill it. Later z leaves for x, and x for z.
TEST(ReceivePlacement, ContentStaysInRamWhereAllRoomIsInUse) {
  const SimulatedCluster cluster(model_of(1, "2.1 MB"), 0, "auto");
  std::deque<Runtime> ranks;
  for (std::uint32_t r = 0; r < 2; ++r) {
    Options options{.policy = "eager"};
    options.receive_placement = "owner";
    ranks.emplace_back(cluster.host(), options, cluster.world(), cluster.rank(RankId{r}));
  }
  for (Runtime& runtime : ranks) {
    const Handle x = runtime.register_simulated(RankId{0}, kMegabyte, kRam, "x");
    const Handle y = runtime.register_empty(RankId{1}, kMegabyte, "y");
    const Handle z = runtime.register_empty(RankId{1}, kMegabyte, "z");
    runtime.submit({.codelet = &kShort, .operands = {W(y), W(z)}});
    runtime.submit({.codelet = &kLong, .operands = {RW(y), RW(z)}});
    runtime.submit({.codelet = &kShort, .operands = {RW(y), R(x)}});
    runtime.submit({.codelet = &kShort, .operands = {RW(y), R(z)}});
  }
  for (Runtime& runtime : ranks) runtime.wait();
  const Statistics statistics = ranks[1].statistics();
  EXPECT_EQ(statistics.received, kMegabyte);
  EXPECT_EQ(statistics.placed_on_arrival, Bytes{0});
  EXPECT_EQ(statistics.application_tasks_done(), 4U);
}

TEST(ReceivePlacement, TheSeedDrawsTheAccelerator) {
  const auto first_into = [](std::uint64_t seed) {
    const SimulatedCluster cluster(model_of(4), 0, "auto");
    std::deque<Runtime> ranks;
    for (std::uint32_t r = 0; r < 2; ++r) {
      Options options{.policy = "directed"};
      options.receive_placement = "random";
      options.seed = seed;
      ranks.emplace_back(cluster.host(), options, cluster.world(), cluster.rank(RankId{r}));
    }
    for (Runtime& runtime : ranks) {
      for (int i = 0; i < 8; ++i) {
        const Handle x = runtime.register_simulated(RankId{0}, kMegabyte, kRam, "x");
        const Handle y = runtime.register_empty(RankId{1}, Bytes{8}, "y");
        runtime.advise(y, NodeId{1});
        runtime.submit({.codelet = &kShort, .operands = {W(y), R(x)}});
      }
    }
    for (Runtime& runtime : ranks) runtime.wait();
    std::vector<std::uint64_t> into;
    for (std::uint32_t gpu = 1; gpu <= 4; ++gpu) {
      into.push_back(bytes_into(ranks[1].statistics(), NodeId{gpu}));
    }
    return into;
  };
  EXPECT_EQ(first_into(1), first_into(1));
  EXPECT_NE(first_into(1), first_into(2));
}

TEST(ReceivePlacement, AnUnknownRuleIsRefused) {
  Options options;
  options.receive_placement = "nearest";
  try {
    const Runtime runtime(options);
    ADD_FAILURE() << "not refused";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("receive_placement: \"nearest\""));
  }
}

// --- a factorisation

TEST(ReceivePlacement, EveryRuleAndTreePlaysAFactorisation) {
  const graph::Graph graph = graphs::make_graph({.application = "cholesky", .tiles = 10});
  const auto cluster = machine::load_cluster("cluster:ranks=4,gpus=2", {});
  for (const char* const rule : {"ram", "advised", "owner", "random"}) {
    for (const char* const policy : {"directed", "dmdas", "darts"}) {
      for (const char* const tree : {"off", "chain"}) {
        Options options{.policy = policy};
        options.receive_placement = rule;
        const play::PlayedOnRanks played = play::play_on_ranks(
            graph, *cluster, options, {.broadcast = tree, .distribution = BlockCyclic2D(2, 2)});
        std::uint64_t done = 0;
        std::uint64_t placed = 0;
        std::uint64_t received = 0;
        for (const Statistics& rank : played.after) {
          done += rank.application_tasks_done();
          placed += rank.placed_on_arrival.value;
          received += rank.received.value;
        }
        EXPECT_EQ(done, graph.tasks().size()) << rule << " " << policy << " " << tree;
        EXPECT_LE(placed, received) << rule << " " << policy << " " << tree;
        EXPECT_EQ(placed > 0, std::string_view(rule) != "ram") << rule << " " << policy;
      }
    }
  }
}

// With advice for a grid of accelerators given, each tile is written on its accelerator alone: 2 x 2 ranks of 2 x 1 GPUs,
// 8 x 8 tiles of C, which take 4 tiles per rank in each row of GPUs.
TEST(ReceivePlacement, TheSecondLevelOfADistributionIsAdvised) {
  const graph::Graph graph = graphs::make_graph({.application = "gemm3d", .tiles = 8});
  const auto cluster = machine::load_cluster("cluster:ranks=4,gpus=2", {});
  const auto tasks_by_worker = [&](std::optional<play::DeviceGrid> devices) {
    const play::PlayedOnRanks played =
        play::play_on_ranks(graph, *cluster, Options{.policy = "directed"},
                            {.distribution = BlockCyclic2D(2, 2), .devices = devices});
    std::vector<std::uint64_t> tasks;
    for (const WorkerStatistics& worker : played.after[0].workers) {
      if (worker.tasks > 0) tasks.push_back(worker.tasks);
    }
    return tasks;
  };
  // A rank has 4 x 4 tiles of C, each written by 8 tasks: half of them on each GPU.
  EXPECT_THAT(tasks_by_worker(std::nullopt), ::testing::ElementsAre(64, 64));
  EXPECT_THAT(tasks_by_worker(play::DeviceGrid{2, 1}), ::testing::ElementsAre(64, 64));
  EXPECT_THAT(tasks_by_worker(play::DeviceGrid{1, 2}), ::testing::ElementsAre(64, 64));
  EXPECT_THROW(tasks_by_worker(play::DeviceGrid{2, 2}), UsageError);
}

// --- real content

const Codelet kFill{.name = "fill", .cpu = [](KernelContext& k) {
                      for (std::size_t i = 0; i < k.count<std::uint64_t>(0); ++i) {
                        k.data<std::uint64_t>(0)[i] = i + 1;
                      }
                    }};
const Codelet kAdd{.name = "add", .cpu = [](KernelContext& k) {
                     for (std::size_t i = 0; i < k.count<std::uint64_t>(0); ++i) {
                       k.data<std::uint64_t>(0)[i] += k.data<std::uint64_t>(1)[i];
                     }
                   }};

Options real_options(const char* api, const char* rule) {
  Options options{.workers = 1, .policy = "directed:cores=last"};
  options.bind = false;
  options.models = "none";
  options.accelerators = 2;
  options.accelerator_api = api;
  options.cuda_library = testing::cuda_library();
  options.receive_placement = rule;
  return options;
}

// Rank 1 adds what rank 0 sends to y, on its second accelerator.
void add_received(Runtime& runtime) {
  constexpr std::size_t kCount = 10'000;
  const Handle y = runtime.register_empty(RankId{1}, Bytes{kCount * 8}, "y");
  runtime.advise(y, NodeId{2});
  runtime.submit({.codelet = &kFill, .operands = {W(y)}});
  runtime.wait();
  for (int i = 0; i < 4; ++i) {
    const Handle x = runtime.register_empty(RankId{0}, Bytes{kCount * 8}, "x");
    runtime.submit({.codelet = &kFill, .operands = {W(x)}});
    runtime.submit({.codelet = &kAdd, .operands = {RW(y), R(x)}});
  }
  runtime.wait();
  const Acquired held = runtime.acquire(y, AccessMode::R);
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(held.data<std::uint64_t>()[i], 5 * (i + 1));
  }
}

TEST(ReceivePlacement, RealContentArrivesOnAcceleratorsOfEachKind) {
  std::vector<const char*> kinds{"threads"};
  if (testing::has_cuda()) kinds.push_back("cuda");
#if VICINAL_HAVE_OPENCL
  kinds.push_back("opencl");
#endif
  testing::set_stand_in({.devices = 2});
  for (const char* const api : kinds) {
    // PoCL does not bear that two threads are the first to use it.
    const Runtime first(real_options(api, "ram"));
    for (const char* const rule : {"advised", "owner", "random"}) {
      comm::LocalWorld world(2, {.seed = 1});
      Bytes placed;
      const auto outcomes = tests::run_on_ranks(
          world, [&](RankId /*rank*/) { return real_options(api, rule); },
          [&](Runtime& runtime) {
            add_received(runtime);
            if (runtime.this_rank() == RankId{1}) placed = runtime.statistics().placed_on_arrival;
          });
      for (const auto& outcome : outcomes) EXPECT_EQ(outcome.text(), "") << api << " " << rule;
      EXPECT_EQ(placed, Bytes{4 * 80'000}) << api << " " << rule;
    }
  }
}

}  // namespace
}  // namespace vicinal::receive_placement
