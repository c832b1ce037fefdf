// Ranks of a simulated cluster: the same sequence on each, messages in simulated time.
#include "vicinal/simulated_cluster.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

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

TEST(SimulatedCluster, TheSameTwice) {
  const ClusterRun one = one_to_all("cluster:ranks=17", "auto", Bytes{300'000});
  const ClusterRun two = one_to_all("cluster:ranks=17", "auto", Bytes{300'000});
  EXPECT_EQ(one.end, two.end);
}

}  // namespace
}  // namespace vicinal
