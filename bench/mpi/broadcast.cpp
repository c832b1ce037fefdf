// One version to all other ranks, beside MPI_Ibcast: `mpirun -n 8 broadcast_openmpi ours`, then `... ibcast`, by the
// mpirun of MPICH with broadcast_mpich. Rank 0 writes, each other rank reads and answers with 8 bytes; what is printed is the
// time of a round until rank 0 has all answers, and what rank 0 takes a message to cost in the end. "ours binomial": along this
// tree, see the option broadcast. "simulated binomial 1048576 FILE": the same on the ranks of a cluster, in simulated time; alone.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <string>
#include <vector>

#include <mpi.h>

#include "vicinal/runtime.hpp"
#include "vicinal/simulated_cluster.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 41;
constexpr int kFirst = 3;  // rounds that are not counted

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void say(const std::string& what, int ranks, std::size_t bytes, std::vector<double> rounds) {
  rounds.erase(rounds.begin(), rounds.begin() + kFirst);
  std::sort(rounds.begin(), rounds.end());
  std::printf("%s: %zu bytes to %d ranks: median %.2f ms, least %.2f ms\n", what.c_str(), bytes,
              ranks - 1, rounds[rounds.size() / 2], rounds.front());
}

constexpr vicinal::Time kShort{1000};  // in simulation
const vicinal::Codelet kWrite{
    .name = "write",
    .cpu = [](vicinal::KernelContext& k) { k.data<std::uint64_t>(0)[0] += 1; },
    .expected = {kShort}};
const vicinal::Codelet kAnswer{.name = "answer",
                               .cpu =
                                   [](vicinal::KernelContext& k) {
                                     k.data<std::uint64_t>(0)[0] = k.data<std::uint64_t>(1)[0];
                                   },
                               .expected = {kShort}};
const vicinal::Codelet kCollect{.name = "collect",
                                .cpu =
                                    [](vicinal::KernelContext& k) {
                                      for (std::size_t i = 1; i < k.operands(); ++i) {
                                        k.data<std::uint64_t>(0)[0] += k.data<std::uint64_t>(i)[0];
                                      }
                                    },
                                .expected = {kShort}};

// What a rank has: all of it is declared on all.
struct Round {
  vicinal::Handle x;
  vicinal::Handle sum;
  std::vector<vicinal::Handle> answers;
};

// `content` and `sum`: of rank 0; null: simulated.
Round make_round(vicinal::Runtime& runtime, std::uint32_t ranks, std::size_t bytes,
                 std::uint64_t* content, std::uint64_t* sum) {
  constexpr vicinal::RankId kRoot{0};
  const auto at_root = [&](std::uint64_t* memory, std::size_t size, const char* name) {
    return memory != nullptr ? runtime.register_buffer(kRoot, memory, vicinal::Bytes{size}, name)
                             : runtime.register_empty(kRoot, vicinal::Bytes{size}, name);
  };
  Round round{at_root(content, bytes, "x"), at_root(sum, 8, "sum"), {}};
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    round.answers.push_back(
        runtime.register_empty(vicinal::RankId{rank}, vicinal::Bytes{8}, "answer"));
  }
  return round;
}

void submit_round(vicinal::Runtime& runtime, const Round& round, bool is_first) {
  const auto changed = [&](vicinal::Handle handle) {
    return is_first ? vicinal::W(handle) : vicinal::RW(handle);
  };
  runtime.submit({.codelet = &kWrite, .operands = {changed(round.x)}});
  std::vector<vicinal::Operand> collected{changed(round.sum)};
  for (const vicinal::Handle answer : round.answers) {
    runtime.submit({.codelet = &kAnswer, .operands = {vicinal::W(answer), vicinal::R(round.x)}});
    collected.push_back(vicinal::R(answer));
  }
  runtime.submit({.codelet = &kCollect, .operands = collected});
}

void run_ours(const std::string& tree, std::size_t bytes) {
  vicinal::Options options{.workers = 1};
  options.bind = false;
  options.models = "none";
  options.broadcast = tree;
  const vicinal::Ranks ranks = vicinal::Ranks::launched(options);
  vicinal::Runtime runtime(options, ranks);
  std::vector<std::uint64_t> content(bytes / 8);
  std::uint64_t sum = 0;
  const Round round = make_round(runtime, ranks.count(), bytes, content.data(), &sum);
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) {
    const auto begin = Clock::now();
    submit_round(runtime, round, false);
    runtime.wait();
    rounds.push_back(milliseconds_since(begin));
  }
  if (ranks.rank() != vicinal::RankId{0}) return;
  say("ours, " + tree, static_cast<int>(ranks.count()), bytes, std::move(rounds));
  const vicinal::Statistics statistics = runtime.statistics();
  std::printf("a message, as rank 0 has measured it: %.1f us, %.1f MB/s\n",
              static_cast<double>(statistics.rank_latency.ns) / 1e3,
              statistics.rank_bandwidth.value / 1e6);
}

void run_simulated(const std::string& tree, std::size_t bytes, const std::string& machine) {
  const vicinal::SimulatedCluster cluster(machine, 0, tree);
  std::deque<vicinal::Runtime> ranks;
  std::vector<Round> all;
  for (std::uint32_t rank = 0; rank < cluster.count(); ++rank) {
    ranks.emplace_back(cluster.host(), vicinal::Options{.policy = "lws"}, cluster.world(),
                       cluster.rank(vicinal::RankId{rank}));
    all.push_back(make_round(ranks.back(), cluster.count(), bytes, nullptr, nullptr));
  }
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) {
    const vicinal::Time begin = cluster.world().now();
    for (std::uint32_t rank = 0; rank < cluster.count(); ++rank)
      submit_round(ranks[rank], all[rank], i == 0);
    for (vicinal::Runtime& runtime : ranks) runtime.wait();
    rounds.push_back(static_cast<double>((cluster.world().now() - begin).ns) / 1e6);
  }
  say("simulated, " + tree, static_cast<int>(cluster.count()), bytes, std::move(rounds));
}

void run_ibcast(std::size_t bytes) {
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<char> content(bytes);
  std::vector<std::uint64_t> answers(static_cast<std::size_t>(ranks));
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = Clock::now();
    MPI_Request request;
    MPI_Ibcast(content.data(), static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) {
      for (int other = 1; other < ranks; ++other) {
        MPI_Recv(&answers[static_cast<std::size_t>(other)], 8, MPI_BYTE, other, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      }
    } else {
      MPI_Send(content.data(), 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
    rounds.push_back(milliseconds_since(begin));
  }
  if (rank == 0) say("MPI_Ibcast", ranks, bytes, std::move(rounds));
  MPI_Finalize();
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::vector<std::string> given(arguments + 1, arguments + count);
    const std::size_t bytes = given.size() > 2 ? std::stoull(given[2]) : 1 << 20;
    if (!given.empty() && given[0] == "ibcast") {
      run_ibcast(bytes);
    } else if (!given.empty() && given[0] == "ours") {
      run_ours(given.size() > 1 ? given[1] : "auto", bytes);
    } else if (given.size() == 4 && given[0] == "simulated") {
      run_simulated(given[1], bytes, given[3]);
    } else {
      std::fputs(
          "usage: broadcast ours [TREE [BYTES]] | ibcast [- BYTES] | simulated TREE BYTES "
          "MACHINE\n",
          stderr);
      return 2;
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "broadcast: %s\n", error.what());
    return 1;
  }
}
