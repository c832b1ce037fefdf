// The graph of a Cholesky factorisation on several ranks whose kernels sleep: so that more ranks than cores do not
// wait for each other's kernels, and what is measured is what goes between them. `mpirun -n 4 cholesky_asleep_openmpi ours off 16
// 524288 2000` has 16 x 16 tiles of so many bytes on the grid of ranks nearest to a square; each kernel sleeps 2000 us, along
// single sends; what is printed is the time until rank 0 has the last tile, and that of a kernel, a little longer. "simulated off
// 16 524288 2060 FILE": the same on the ranks of a cluster, in simulated time; alone.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "vicinal/distribution.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/simulated_cluster.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using vicinal::R;
using vicinal::RW;
using vicinal::W;

constexpr int kRounds = 7;  // the first is not counted

struct Problem {
  std::string tree;
  std::uint32_t tiles = 16;
  std::uint64_t bytes = 1 << 19;
};

std::chrono::microseconds kernel_time{0};
std::atomic<std::int64_t> slept_ns{0};
std::atomic<std::int64_t> sleeps{0};

vicinal::Codelet sleeping(const char* name) {
  vicinal::Codelet codelet{.name = name, .cpu = [](vicinal::KernelContext&) {
                             const auto begin = Clock::now();
                             std::this_thread::sleep_for(kernel_time);
                             slept_ns += (Clock::now() - begin).count();
                             ++sleeps;
                           }};
  codelet.expected.fill(vicinal::Time{kernel_time.count() * 1000});
  return codelet;
}

const vicinal::Codelet kBegin{
    .name = "begin", .cpu = [](vicinal::KernelContext&) {}, .expected = {vicinal::Time{1000}}};

// What a rank has of the lower triangle: all of it is declared on all.
class Factorisation {
 public:
  Factorisation(vicinal::Runtime& runtime, std::uint32_t ranks, const Problem& problem)
      : runtime_(runtime),
        tiles_(problem.tiles),
        potrf_(sleeping("potrf")),
        trsm_(sleeping("trsm")),
        syrk_(sleeping("syrk")),
        gemm_(sleeping("gemm")),
        end_(runtime.register_empty(vicinal::RankId{0}, vicinal::Bytes{8}, "end")) {
    const auto grid = vicinal::BlockCyclic2D::nearest_square(ranks);
    for (std::uint32_t i = 0; i < tiles_; ++i) {
      for (std::uint32_t j = 0; j <= i; ++j) {
        data_.push_back(
            runtime.register_empty(grid.owner(i, j), vicinal::Bytes{problem.bytes}, "tile"));
        runtime.submit({.codelet = &kBegin, .operands = {W(data_.back())}});
      }
    }
  }

  void submit() {
    factorise();
    runtime_.submit({.codelet = &kBegin, .operands = {W(end_), R(at(tiles_ - 1, tiles_ - 1))}});
  }

 private:
  void factorise() {
    for (std::uint32_t k = 0; k < tiles_; ++k) {
      const int priority = 3 * static_cast<int>(tiles_ - k);
      runtime_.submit({.codelet = &potrf_, .operands = {RW(at(k, k))}, .priority = priority});
      for (std::uint32_t i = k + 1; i < tiles_; ++i) {
        runtime_.submit({.codelet = &trsm_,
                         .operands = {R(at(k, k)), RW(at(i, k))},
                         .priority = priority - static_cast<int>(i - k)});
      }
      for (std::uint32_t i = k + 1; i < tiles_; ++i) {
        const int behind = priority - static_cast<int>(i - k);
        runtime_.submit(
            {.codelet = &syrk_, .operands = {R(at(i, k)), RW(at(i, i))}, .priority = behind});
        for (std::uint32_t j = k + 1; j < i; ++j) {
          runtime_.submit({.codelet = &gemm_,
                           .operands = {R(at(i, k)), R(at(j, k)), RW(at(i, j))},
                           .priority = behind - static_cast<int>(j - k)});
        }
      }
    }
  }

  vicinal::Handle at(std::uint32_t i, std::uint32_t j) const {
    return data_[std::size_t{i} * (i + 1) / 2 + j];
  }

  vicinal::Runtime& runtime_;
  const std::uint32_t tiles_;
  const vicinal::Codelet potrf_;
  const vicinal::Codelet trsm_;
  const vicinal::Codelet syrk_;
  const vicinal::Codelet gemm_;
  const vicinal::Handle end_;
  std::vector<vicinal::Handle> data_;
};

void say(const std::string& what, std::vector<double> rounds, double kernel) {
  rounds.erase(rounds.begin());
  std::sort(rounds.begin(), rounds.end());
  std::printf("%s: median %.2f ms, least %.2f ms; a kernel %.1f us\n", what.c_str(),
              rounds[rounds.size() / 2], rounds.front(), kernel);
}

void run_ours(const Problem& problem) {
  vicinal::Options options{.workers = 1};
  options.bind = false;
  options.models = "none";
  options.policy = "lws";
  options.broadcast = problem.tree;
  const vicinal::Ranks ranks = vicinal::Ranks::launched(options);
  vicinal::Runtime runtime(options, ranks);
  Factorisation factorisation(runtime, ranks.count(), problem);
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) {
    runtime.wait();
    const auto begin = Clock::now();
    factorisation.submit();
    runtime.wait();
    rounds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  if (ranks.rank() != vicinal::RankId{0}) return;
  say("ours, " + problem.tree, std::move(rounds),
      static_cast<double>(slept_ns) / 1e3 / static_cast<double>(sleeps));
}

void run_simulated(const Problem& problem, const std::string& machine) {
  const vicinal::SimulatedCluster cluster(machine, 0, problem.tree);
  std::deque<vicinal::Runtime> ranks;
  std::deque<Factorisation> all;
  for (std::uint32_t rank = 0; rank < cluster.count(); ++rank) {
    ranks.emplace_back(cluster.host(), vicinal::Options{.policy = "lws"}, cluster.world(),
                       cluster.rank(vicinal::RankId{rank}));
    all.emplace_back(ranks.back(), cluster.count(), problem);
  }
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) {
    for (vicinal::Runtime& runtime : ranks) runtime.wait();
    const vicinal::Time begin = cluster.world().now();
    for (Factorisation& one : all) one.submit();
    ranks.front().wait();
    rounds.push_back(static_cast<double>((cluster.world().now() - begin).ns) / 1e6);
    for (vicinal::Runtime& runtime : ranks) runtime.wait();
  }
  say("simulated, " + problem.tree, std::move(rounds), static_cast<double>(kernel_time.count()));
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::vector<std::string> given(arguments + 1, arguments + count);
    const bool is_simulated = given.size() == 6 && given[0] == "simulated";
    if (!is_simulated && !(given.size() == 5 && given[0] == "ours")) {
      std::fputs(
          "usage: cholesky_asleep ours TREE TILES BYTES MICROSECONDS\n"
          "       cholesky_asleep simulated TREE TILES BYTES MICROSECONDS MACHINE\n",
          stderr);
      return 2;
    }
    const Problem problem{.tree = given[1],
                          .tiles = static_cast<std::uint32_t>(std::stoul(given[2])),
                          .bytes = std::stoull(given[3])};
    kernel_time = std::chrono::microseconds(std::stoll(given[4]));
    if (is_simulated) {
      run_simulated(problem, given[5]);
    } else {
      run_ours(problem);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cholesky_asleep: %s\n", error.what());
    return 1;
  }
}
