// One version to all other ranks, beside MPI_Ibcast: `mpirun -n 8 broadcast_openmpi ours`, then `... ibcast`, by the
// mpirun of MPICH with broadcast_mpich. Rank 0 writes, each other rank reads and answers with 8 bytes; what is printed is the
// time of a round until rank 0 has all answers. "ours binomial": along this tree, see the option broadcast.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <mpi.h>

#include "vicinal/runtime.hpp"

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

const vicinal::Codelet kWrite{
    .name = "write", .cpu = [](vicinal::KernelContext& k) { k.data<std::uint64_t>(0)[0] += 1; }};
const vicinal::Codelet kAnswer{.name = "answer", .cpu = [](vicinal::KernelContext& k) {
                                 k.data<std::uint64_t>(0)[0] = k.data<std::uint64_t>(1)[0];
                               }};
const vicinal::Codelet kCollect{.name = "collect", .cpu = [](vicinal::KernelContext& k) {
                                  for (std::size_t i = 1; i < k.operands(); ++i) {
                                    k.data<std::uint64_t>(0)[0] += k.data<std::uint64_t>(i)[0];
                                  }
                                }};

void run_ours(const std::string& tree, std::size_t bytes) {
  vicinal::Options options{.workers = 1};
  options.bind = false;
  options.models = "none";
  options.broadcast = tree;
  const vicinal::Ranks ranks = vicinal::Ranks::launched(options);
  vicinal::Runtime runtime(options, ranks);
  const auto rank0 = vicinal::RankId{0};
  std::vector<std::uint64_t> content(bytes / 8);
  std::uint64_t all = 0;
  const vicinal::Handle x =
      runtime.register_buffer(rank0, content.data(), vicinal::Bytes{bytes}, "x");
  const vicinal::Handle sum = runtime.register_buffer(rank0, &all, vicinal::Bytes{8}, "sum");
  std::vector<vicinal::Handle> answers;
  for (std::uint32_t rank = 1; rank < ranks.count(); ++rank) {
    answers.push_back(runtime.register_empty(vicinal::RankId{rank}, vicinal::Bytes{8}, "answer"));
  }
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = Clock::now();
    runtime.submit({.codelet = &kWrite, .operands = {vicinal::RW(x)}});
    std::vector<vicinal::Operand> collected{vicinal::RW(sum)};
    for (const vicinal::Handle answer : answers) {
      runtime.submit({.codelet = &kAnswer, .operands = {vicinal::W(answer), vicinal::R(x)}});
      collected.push_back(vicinal::R(answer));
    }
    runtime.submit({.codelet = &kCollect, .operands = collected});
    runtime.wait();
    rounds.push_back(milliseconds_since(begin));
  }
  if (ranks.rank() == rank0)
    say("ours, " + tree, static_cast<int>(ranks.count()), bytes, std::move(rounds));
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
    } else {
      std::fputs("usage: broadcast ours [TREE [BYTES]] | ibcast [- BYTES]\n", stderr);
      return 2;
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "broadcast: %s\n", error.what());
    return 1;
  }
}
