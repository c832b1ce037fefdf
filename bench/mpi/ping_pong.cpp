// What the transport over MPI adds to MPI: time one way, of messages of 8 bytes and of payloads, beside the same by bare
// MPI in the same processes, in turns. `mpirun -n 2 ping_pong_openmpi`, or ping_pong_mpich by the mpirun of MPICH.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <sched.h>
#include <vector>

#include <mpi.h>

#include "comm/launch.hpp"

namespace {

using vicinal::Layout;
using vicinal::RankId;
using vicinal::comm::Channel;
using vicinal::comm::PayloadId;
using vicinal::comm::Transport;

constexpr int kRounds = 15;
constexpr int kMessages = 1000;

class Counter final : public vicinal::comm::TransportEvents {
 public:
  void message_arrived(RankId, std::span<const std::byte>) override { ++messages; }
  void payload_ended(PayloadId) override { ++payloads; }
  void rank_lost(RankId, const std::string& why) override { throw std::runtime_error(why); }
  long messages = 0;
  long payloads = 0;
};

// Microseconds one way.
template <typename There, typename Back>
double time_of(int rank, int exchanges, const There& send, const Back& receive) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < exchanges; ++i) {
    if (rank == 0) {
      send();
      receive();
    } else {
      receive();
      send();
    }
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  return time.count() / exchanges / 2;
}

// The least disturbed round.
double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

void say(const char* what, const std::vector<double>& bare, const std::vector<double>& ours) {
  std::printf("%-10s bare %10.2f us   transport %10.2f us   %.2f\n", what, least(bare), least(ours),
              least(ours) / least(bare));
}

void run(Transport& transport) {
  const int rank = static_cast<int>(transport.rank().value);
  const int other = 1 - rank;
  const RankId peer{static_cast<std::uint32_t>(other)};
  Counter counter;
  std::vector<std::byte> bytes(64 << 20);
  const auto until = [&](long& count, long wanted) {
    while (count < wanted) transport.poll(counter);
  };

  std::vector<double> bare;
  std::vector<double> ours;
  for (int round = 0; round < kRounds; ++round) {
    bare.push_back(time_of(
        rank, kMessages, [&] { MPI_Send(bytes.data(), 8, MPI_BYTE, other, 1, MPI_COMM_WORLD); },
        [&] { MPI_Recv(bytes.data(), 8, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }));
    ours.push_back(time_of(
        rank, kMessages,
        [&] {
          transport.post_message(peer, {bytes.data(), 8});
        },
        [&] { until(counter.messages, counter.messages + 1); }));
  }
  if (rank == 0) say("8 B", bare, ours);

  for (const std::size_t size : {std::size_t{64} << 10, std::size_t{1} << 20, bytes.size()}) {
    const int exchanges = size > 1 << 20 ? 3 : 50;
    const Layout layout{size, 1, size};
    bare.clear();
    ours.clear();
    for (int round = 0; round < kRounds; ++round) {
      bare.push_back(time_of(
          rank, exchanges,
          [&] {
            MPI_Send(bytes.data(), static_cast<int>(size), MPI_BYTE, other, 1, MPI_COMM_WORLD);
          },
          [&] {
            MPI_Recv(bytes.data(), static_cast<int>(size), MPI_BYTE, other, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
          }));
      ours.push_back(time_of(
          rank, exchanges,
          [&] {
            transport.post_send(peer, Channel{1}, bytes.data(), layout, PayloadId{1});
            until(counter.payloads, counter.payloads + 1);
          },
          [&] {
            transport.post_receive(peer, Channel{1}, bytes.data(), layout, PayloadId{2});
            until(counter.payloads, counter.payloads + 1);
          }));
    }
    if (rank == 0)
      say(size < 1 << 20 ? "64 KiB" : size == 1 << 20 ? "1 MiB" : "64 MiB", bare, ours);
  }
}

}  // namespace

int main() {
  try {
    const auto launch = vicinal::comm::find_launch("auto");
    if (launch.ranks != 2) {
      std::fputs("ping_pong: two ranks are needed: mpirun -n 2\n", stderr);
      return 2;
    }
    const auto transport = make_transport(launch);
    run(*transport);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ping_pong: %s\n", error.what());
    return 1;
  }
}
