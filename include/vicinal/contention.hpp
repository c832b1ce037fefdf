// How the cores of a machine and its transfers (messages, copies) share the bandwidth of its memory: the model of
// Swartvagher's thesis ("On the Interactions between HPC Task-based Runtime Systems and Communication Libraries", 2022,
// chapter 6 and appendices D and E), as a pure function.
//
//   const MachineDescription machine = read_machine("henri", {.ranks = 1});
//   const ContentionShares beside = predict_contention(*machine.contention, 16, 0, 0);
#pragma once

#include <cstdint>

#include "vicinal/units.hpp"

namespace vicinal {

// What was measured with the data of computations and of transfers on one NUMA node (section 6.2.1). Bandwidths are of the
// memory; cores are those of one socket.
struct ContentionParameters {
  std::uint32_t most_beside =
      0;                        // Nmax_par: cores with which the total beside a transfer is largest
  BytesPerSecond total_beside;  // Tmax_par: that total
  std::uint32_t most_alone =
      0;  // Nmax_seq: cores with which computations alone have most; at least most_beside
  BytesPerSecond total_alone;          // Tmax_seq: that bandwidth
  BytesPerSecond total_at_most_alone;  // Tmax2_par: total beside a transfer with most_alone cores
  BytesPerSecond loss_before;          // delta_l: per core from most_beside to most_alone
  BytesPerSecond loss_after;           // delta_r: per core above most_alone; may be negative
  BytesPerSecond core;                 // Bcomp_seq: of one core alone
  BytesPerSecond transfer;             // Bcomm_seq: of the transfer alone
  double least_share = 1;              // alpha: the part of `transfer` that is always left, 0 to 1
};

// Of a machine of sockets that are alike. NUMA nodes are numbered socket by socket; those of the cores' own socket are local
// to them.
struct ContentionModel {
  std::uint32_t sockets = 1;
  std::uint32_t numa_nodes_per_socket = 1;
  std::uint32_t cores_per_socket = 1;
  ContentionParameters local;
  ContentionParameters remote;
};

// Bandwidths while some cores compute beside a transfer.
struct ContentionShares {
  BytesPerSecond total;         // T(n), what the memory gives both together (equation 6.1)
  BytesPerSecond computations;  // of all cores together (6.3)
  BytesPerSecond transfer;      // (6.4, 6.5)
  BytesPerSecond alone;         // of all cores together while nothing is transferred (6.6)
};

// `cores` may be a fraction: what the kernels that run demand, over `core`. Throws UsageError for parameters out of range.
ContentionShares predict_contention(const ContentionParameters& parameters, double cores);
// With data of the computations and of the transfer on these NUMA nodes, and the cores on socket 0 (6.7, 6.8).
ContentionShares predict_contention(const ContentionModel& model, double cores,
                                    std::uint32_t computation_node, std::uint32_t transfer_node);

}  // namespace vicinal
