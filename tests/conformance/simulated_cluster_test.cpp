// Ranks of a simulated cluster: the same sequence on each, messages in simulated time.
#include "vicinal/simulated_cluster.hpp"

#include <bit>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "graphs/make_graph.hpp"
#include "machine/machine_model.hpp"
#include "play/graph_codelets.hpp"
#include "play/play_on_ranks.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

Codelet codelet(const char* name) {
  Codelet made{.name = name};
  made.expected.fill(Time{1000});
  return made;
}
const Codelet kWrite = codelet("write");
const Codelet kRead = codelet("read");

struct ClusterRun {
  Time end;
  std::vector<Statistics> ranks;
};

// Rank 0 writes, all others read.
ClusterRun one_to_all(const std::string& machine, const std::string& tree, Bytes bytes) {
  const SimulatedCluster cluster(machine, 0, tree);
  std::deque<Runtime> ranks;
  for (std::uint32_t r = 0; r < cluster.count(); ++r) {
    ranks.emplace_back(cluster.host(), Options{.policy = "lws"}, cluster.world(),
                       cluster.rank(RankId{r}));
  }
  for (Runtime& runtime : ranks) {
    const Handle x = runtime.register_empty(RankId{0}, bytes, "x");
    runtime.submit({.codelet = &kWrite, .operands = {W(x)}});
    for (std::uint32_t r = 1; r < cluster.count(); ++r) {
      const Handle seen = runtime.register_empty(RankId{r}, Bytes{8}, "seen");
      runtime.submit({.codelet = &kRead, .operands = {W(seen), R(x)}});
    }
  }
  for (Runtime& runtime : ranks) runtime.wait();
  ClusterRun run{cluster.world().now(), {}};
  for (Runtime& runtime : ranks) run.ranks.push_back(runtime.statistics());
  return run;
}

TEST(SimulatedCluster, AVersionReachesAllRanksOnce) {
  for (const char* const tree : {"auto", "off", "chain", "binary", "binomial", "delegated"}) {
    for (const Bytes bytes : {Bytes{64}, Bytes{1 << 20}}) {
      const ClusterRun run = one_to_all("cluster:ranks=9", tree, bytes);
      std::uint64_t sent = 0;
      for (const Statistics& rank : run.ranks) sent += rank.sent.value;
      EXPECT_EQ(sent, 8 * bytes.value) << tree;
      EXPECT_EQ(run.ranks[5].received, bytes) << tree;
      EXPECT_EQ(run.ranks[0].broadcasts, 1U) << tree;
    }
  }
}

TEST(SimulatedCluster, TreesAreFasterThanTheOwnerAlone) {
  const auto time = [](const char* tree) {
    return one_to_all("cluster:ranks=33", tree, Bytes{1 << 20}).end.ns;
  };
  const auto off = time("off");
  EXPECT_LT(time("binomial") * 3, off);
  EXPECT_LT(time("chain") * 3, off);
  EXPECT_LE(time("auto"), time("binomial") * 11 / 10);
}

// A task on each rank reduces into data of rank 0, which reads them.
ClusterRun all_to_one(std::uint32_t count, const char* tree, Bytes bytes) {
  const SimulatedCluster cluster("cluster:ranks=" + std::to_string(count));
  std::deque<Runtime> ranks;
  for (std::uint32_t r = 0; r < count; ++r) {
    ranks.emplace_back(cluster.host(), Options{.policy = "lws", .reduction_tree = tree},
                       cluster.world(), cluster.rank(RankId{r}));
  }
  for (Runtime& runtime : ranks) {
    const Handle x = runtime.register_empty(RankId{0}, bytes, "x");
    runtime.set_reduction(x, {.neutral = &kWrite, .combine = &kRead});
    for (std::uint32_t r = 0; r < count; ++r) {
      runtime.submit({.codelet = &kRead, .operands = {Reduce(x)}, .rank = RankId{r}});
    }
    const Handle seen = runtime.register_empty(RankId{0}, Bytes{8}, "seen");
    runtime.submit({.codelet = &kRead, .operands = {W(seen), R(x)}});
  }
  for (Runtime& runtime : ranks) runtime.wait();
  ClusterRun run{cluster.world().now(), {}};
  for (Runtime& runtime : ranks) run.ranks.push_back(runtime.statistics());
  return run;
}

TEST(SimulatedCluster, TimeToTheEndOfAReductionGrowsWithTheLogarithmOfTheRanks) {
  for (const Bytes bytes : {Bytes{8}, Bytes{1 << 18}}) {
    const auto of_eight = static_cast<double>(all_to_one(8, "binomial", bytes).end.ns);  // 3 steps
    for (const std::uint32_t ranks : {13U, 16U, 33U, 64U, 200U}) {
      const ClusterRun run = all_to_one(ranks, "binomial", bytes);
      const std::uint64_t steps = std::bit_width(ranks - 1);
      EXPECT_LE(run.ranks[0].partial_results, steps) << ranks;
      EXPECT_LE(run.ranks[0].received.value, steps * bytes.value) << ranks;
      EXPECT_LE(static_cast<double>(run.end.ns), of_eight * static_cast<double>(steps) / 3 * 1.1)
          << ranks;
      std::uint64_t all = 0;
      for (const Statistics& rank : run.ranks) all += rank.partial_results;
      EXPECT_EQ(all, ranks - 1) << ranks;
    }
  }
}

TEST(SimulatedCluster, TimeToTheEndOfAReductionAtOneRankGrowsWithTheRanks) {
  const auto time = [](std::uint32_t ranks) {
    const ClusterRun run = all_to_one(ranks, "flat", Bytes{1 << 18});
    EXPECT_EQ(run.ranks[0].partial_results, ranks - 1);
    return static_cast<double>(run.end.ns);
  };
  const double of_eight = time(8);
  EXPECT_GT(time(64), of_eight * 63 / 7 * 0.8);
  EXPECT_GT(time(200), of_eight * 199 / 7 * 0.8);
  EXPECT_LT(time(200), of_eight * 199 / 7 * 1.2);
}

TEST(SimulatedCluster, TheSameTwice) {
  const ClusterRun one = one_to_all("cluster:ranks=17", "auto", Bytes{300'000});
  const ClusterRun two = one_to_all("cluster:ranks=17", "auto", Bytes{300'000});
  EXPECT_EQ(one.end, two.end);
}

TEST(SimulatedCluster, TimeToTheLastReaderGrowsWithTheLogarithmOfTheirNumber) {
  for (const char* const tree : {"binary", "binomial"}) {
    const auto time = [&](std::uint32_t readers) {
      const std::string machine = "cluster:ranks=" + std::to_string(readers + 1);
      return static_cast<double>(one_to_all(machine, tree, Bytes{1 << 16}).end.ns);
    };
    const double of_three = time(3);
    // From 3 to 7, 15, ...: a step more each time, of two sends at most.
    for (const std::uint32_t readers : {7U, 15U, 31U, 63U, 127U, 199U}) {
      const double steps = std::bit_width(readers) - 2;
      EXPECT_LE(time(readers), of_three * (1 + 1.1 * steps)) << tree << ", " << readers;
    }
    EXPECT_GT(time(199), 1.5 * of_three) << tree;
  }
}

// Readers with different priorities, in the order in which their tasks have ended.
std::vector<std::uint32_t> order_of_readers(const char* tree, const std::vector<int>& priorities) {
  const auto readers = static_cast<std::uint32_t>(priorities.size());
  const SimulatedCluster cluster("cluster:ranks=" + std::to_string(readers + 1), 0, tree);
  std::vector<std::uint32_t> order;
  std::deque<Runtime> ranks;
  for (std::uint32_t r = 0; r <= readers; ++r) {
    ranks.emplace_back(cluster.host(), Options{.policy = "lws"}, cluster.world(),
                       cluster.rank(RankId{r}));
  }
  for (Runtime& runtime : ranks) {
    const Handle x = runtime.register_empty(RankId{0}, Bytes{8 << 20}, "x");
    runtime.submit({.codelet = &kWrite, .operands = {W(x)}});
    for (std::uint32_t r = 1; r <= readers; ++r) {
      const Handle seen = runtime.register_empty(RankId{r}, Bytes{8}, "seen");
      runtime.submit({.codelet = &kRead,
                      .operands = {W(seen), R(x)},
                      .priority = priorities[r - 1],
                      .on_end = [&order, r](Outcome) { order.push_back(r); }});
    }
  }
  for (Runtime& runtime : ranks) runtime.wait();
  return order;
}

TEST(SimulatedCluster, ContentComesInTheOrderOfPriorities) {
  const std::vector<int> priorities{3, 9, 1, 7, 5, 8, 2, 6, 4};
  const std::vector<std::uint32_t> expected{2, 6, 4, 8, 5, 9, 1, 7, 3};
  for (const char* const tree : {"off", "chain", "auto"}) {
    EXPECT_EQ(order_of_readers(tree, priorities), expected) << tree;
  }
  // Of trees with branches only the first are exact: while one branch waits for a segment, another is served.
  for (const char* const tree : {"binary", "binomial", "delegated"}) {
    const std::vector<std::uint32_t> order = order_of_readers(tree, priorities);
    EXPECT_EQ(order[0], expected[0]) << tree;
    EXPECT_EQ(order[1], expected[1]) << tree;
  }
}

// The other ranks are told, and simulated time does not stand still.
TEST(SimulatedCluster, ARunThatIsCancelledEndsOnAllRanks) {
  const SimulatedCluster cluster("cluster:ranks=5", 0, "chain");
  std::deque<Runtime> ranks;
  for (std::uint32_t r = 0; r < 5; ++r) {
    ranks.emplace_back(cluster.host(), Options{.policy = "lws"}, cluster.world(),
                       cluster.rank(RankId{r}));
  }
  for (Runtime& runtime : ranks) {
    const Handle x = runtime.register_empty(RankId{0}, Bytes{8 << 20}, "x");
    runtime.submit({.codelet = &kWrite, .operands = {W(x)}});
    for (std::uint32_t r = 1; r < 5; ++r) {
      const Handle seen = runtime.register_empty(RankId{r}, Bytes{8}, "seen");
      runtime.submit({.codelet = &kRead, .operands = {W(seen), R(x)}});
    }
  }
  ranks[3].cancel();
  for (Runtime& runtime : ranks) EXPECT_THROW(runtime.wait(), Error);
}

TEST(SimulatedCluster, ARankMayOutliveTheCluster) {
  Ranks rank;
  {
    const SimulatedCluster cluster("cluster:ranks=2");
    rank = cluster.rank(RankId{1});
  }
  EXPECT_EQ(rank.rank(), RankId{1});
}

// --- graphs

constexpr const char* kMachine = "cluster:ranks=6,gpus=2";

play::PlayedOnRanks played(const graph::Graph& graph, const char* tree = "auto") {
  const auto cluster = machine::load_cluster(kMachine, {});
  return play::play_on_ranks(graph, *cluster, Options{.policy = "dmdas"},
                             {.broadcast = tree, .distribution = BlockCyclic2D(2, 3)});
}

// As each rank of a real run does it: all make all calls.
Time played_by_all(const graph::Graph& graph) {
  const auto model = machine::load_cluster(kMachine, {});
  const std::vector<Codelet> codelets = play::codelets_of(graph, model->host);
  const SimulatedCluster cluster(kMachine);
  const std::vector<RankId> owners = play::owners_of(graph, BlockCyclic2D(2, 3), cluster.count());
  std::deque<Runtime> ranks;
  for (std::uint32_t r = 0; r < cluster.count(); ++r) {
    ranks.emplace_back(cluster.host(), Options{.policy = "dmdas"}, cluster.world(),
                       cluster.rank(RankId{r}));
  }
  std::vector<std::vector<Handle>> handles(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t d = 0; d < graph.data().size(); ++d) {
      handles[r].push_back(ranks[r].register_simulated(owners[d], graph.data()[d].bytes));
    }
  }
  for (const graph::Graph::Task& task : graph.tasks()) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      std::vector<Operand> operands;
      for (const auto& access : graph.accesses_of(task)) {
        operands.push_back({handles[r][access.datum], access.mode});
      }
      ranks[r].submit(
          {.codelet = &codelets[task.kernel], .operands = operands, .priority = task.priority});
    }
  }
  for (Runtime& rank : ranks) rank.wait();
  return cluster.world().now();
}

TEST(SimulatedCluster, ToUnrollOnceIsToUnrollOnEachRank) {
  for (const char* const application : {"cholesky", "lu", "gemm2d"}) {
    const graph::Graph graph = graphs::make_graph({.application = application, .tiles = 9});
    const play::PlayedOnRanks once = played(graph);
    EXPECT_EQ(once.after[0].now, played_by_all(graph)) << application;
  }
}

TEST(SimulatedCluster, ABroadcastOfAFactorisationMissesNobodyAndSendsNoByteMore) {
  const graph::Graph graph = graphs::make_graph({.application = "cholesky", .tiles = 12});
  const auto sum = [](const play::PlayedOnRanks& run, auto member) {
    std::uint64_t total = 0;
    for (const Statistics& rank : run.after) total += (rank.*member).value;
    return total;
  };
  const play::PlayedOnRanks off = played(graph, "off");
  const play::PlayedOnRanks binomial = played(graph, "binomial");
  EXPECT_EQ(sum(binomial, &Statistics::sent), sum(off, &Statistics::sent));
  EXPECT_GT(sum(binomial, &Statistics::forwarded), 0U);
  for (const Statistics& rank : binomial.after) EXPECT_EQ(rank.late_sends, 0U);
  std::uint64_t done = 0;
  for (const Statistics& rank : binomial.after) done += rank.application_tasks_done();
  EXPECT_EQ(done, graph.tasks().size());
}

// A send takes its place when the application has come to it, in simulated time: what comes after 50 tasks of 1 us each is late for
// a version that is ready before.
TEST(SimulatedCluster, AReaderIsLateWhereItsSubmissionIs) {
  for (const char* const finding : {"sequence", "bags"}) {
    for (const bool is_late : {false, true}) {
      const SimulatedCluster cluster("occigen", 4);
      std::deque<Runtime> ranks;
      for (std::uint32_t r = 0; r < cluster.count(); ++r) {
        ranks.emplace_back(cluster.host(), Options{.policy = "lws", .broadcast_finding = finding},
                           cluster.world(), cluster.rank(RankId{r}));
      }
      for (Runtime& runtime : ranks) {
        const Handle x = runtime.register_empty(RankId{0}, Bytes{1 << 20}, "x");
        const Handle other = runtime.register_empty(RankId{0}, Bytes{8}, "other");
        runtime.submit({.codelet = &kWrite, .operands = {W(x)}});
        for (std::uint32_t r = 1; r < cluster.count(); ++r) {
          const Handle seen = runtime.register_empty(RankId{r}, Bytes{8}, "seen");
          runtime.submit({.codelet = &kRead, .operands = {W(seen), R(x)}});
          for (int task = 0; task < 50 && is_late && r == 1; ++task)
            runtime.submit({.codelet = &kWrite, .operands = {W(other)}});
        }
      }
      for (Runtime& runtime : ranks) runtime.wait();
      const Statistics statistics = ranks[0].statistics();
      EXPECT_EQ(statistics.versions_to_several, 1U);
      EXPECT_EQ(statistics.versions_in_time, is_late ? 0U : 1U) << finding;
      EXPECT_EQ(statistics.late_sends, is_late ? 2U : 0U) << finding;
      // What is late goes together where the sequence tells.
      const bool is_found = !is_late || std::string_view(finding) == "sequence";
      EXPECT_EQ(statistics.broadcasts, is_found ? 1U : 0U) << finding;
      EXPECT_EQ(statistics.broadcasts_missed, 0U);
    }
  }
}

TEST(SimulatedCluster, GraphsThatRanksCannotPlayAreRefused) {
  const auto refused = [](const graph::Graph& graph, const std::string& why) {
    try {
      static_cast<void>(played(graph));
      ADD_FAILURE() << "not refused: " << why;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  refused(graphs::make_graph({.application = "cholesky", .tiles = 2, .panel = 192}),
          "data in parts");
  EXPECT_THROW(SimulatedCluster("v100"), UsageError);
  EXPECT_THROW(SimulatedCluster("cluster:ranks=4", 5), UsageError);
}

}  // namespace
}  // namespace vicinal
