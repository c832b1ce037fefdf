// What libvicinal and its modules for MPI agree on: a module is a shared object with one function, compiled for one MPI
// from src/comm/mpi, which needs nothing of libvicinal but headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vicinal::comm {

class Transport;

// How a transport over MPI behaves.
struct MpiSettings {
  // Of the largest MPI message: payloads beyond are cut, for MPI counts in int. The same on all ranks.
  std::uint64_t piece_bytes = std::uint64_t{1} << 30;
  // What the end of a transport waits for ranks that do not end theirs: they may be stopped.
  double ending_seconds = 20;
  // What `cancel`, and the end after it, wait for transfers that are under way.
  double cancelling_seconds = 1;
};

// Makes the transport on the thread that will use and delete it, or returns null and writes into `why`, of `room` bytes,
// what has gone wrong and the remedy.
using MakeMpiTransport = Transport*(const MpiSettings& settings, char* why, std::size_t room);
// Its name in the module; the number grows with each change of what it gives or takes.
inline constexpr const char* kMakeMpiTransport = "vicinal_make_mpi_transport_1";

}  // namespace vicinal::comm
