// How the cores of a machine and its transfers (messages, copies) share the bandwidth of its memory: the model of
// Swartvagher's thesis ("On the Interactions between HPC Task-based Runtime Systems and Communication Libraries", 2022,
// chapter 6 and appendices D and E), as a pure function.
//
//   const MachineDescription machine = read_machine("henri", {.ranks = 1});
//   const ContentionShares beside = predict_contention(*machine.contention, 16, 0, 0);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vicinal/units.hpp"

namespace vicinal {

// For which a prediction may be asked.
inline constexpr std::uint32_t kMostContendingCores = 1 << 16;

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

// Latency of memory under load, measured at one mix of reads and writes.
struct LatencyCurve {
  // One load, and what a read takes under it.
  struct Point {
    BytesPerSecond bandwidth;  // of all that read and write
    double nanoseconds = 0;    // that a read takes then
  };
  double reads = 1;           // their share of the bytes, 0 to 1
  std::vector<Point> points;  // bandwidths rise, latencies do not fall
};

// What was measured of the memory of one NUMA node, or published, in place of the formula: bandwidth and latency by load and
// mix, as Mess (Esmaili-Dokht et al., "A Mess of Memory System Benchmarking, Simulation and Application Profiling", MICRO
// 2024) and Intel's memory latency checker measure them.
//
// A core has so many requests in flight, and a transfer has, as their bandwidth alone and the latency at that load make
// by Little's law; with more latency they have as much less bandwidth. Latency follows from the total, and the total from the
// latency: the one point where both agree is taken. A load that exceeds the last point of the curve meets a latency that
// brings it down to that bandwidth. Requests from another socket take as much longer as explains the bandwidths of
// ContentionModel::remote.
struct ContentionSurface {
  std::vector<LatencyCurve>
      curves;  // in the order of their share of reads; between two of them interpolated
  double computation_reads =
      2.0 / 3;  // share of reads in the bytes of computations; 2/3: a copy, whose stores read first
  double transfer_reads = 0;  // of a transfer; 0: it is received
};

// Reads a CSV file with the columns read_share, bandwidth (MB/s) and latency (ns); lines that begin with "#" are comments.
// Of points that lie below others in bandwidth with no less latency, as beyond the largest bandwidth, the lower latency
// counts. Throws UsageError that names file and line.
ContentionSurface read_contention_surface(const std::string& path);

// Of a machine of sockets that are alike. NUMA nodes are numbered socket by socket; those of the cores' own socket are local
// to them.
struct ContentionModel {
  std::uint32_t sockets = 1;                // of the machine
  std::uint32_t numa_nodes_per_socket = 1;  // memory controllers, as the system shows them
  std::uint32_t cores_per_socket = 1;       // that compute
  ContentionParameters local = {};          // data of both on a node of the cores' socket
  ContentionParameters remote = {};         // data of both on a node of another socket
  // In place of the formula, for every NUMA node. Of `local` and `remote` it takes `core`, `transfer`, `least_share` and, where
  // it is above 0, total_alone: of the way to the memory, for computations.
  std::optional<ContentionSurface> surface = {};
};

// Bandwidths while some cores compute beside a transfer.
struct ContentionShares {
  // T(n), what the memory gives both together (equation 6.1), or the largest bandwidth of a surface; of data on different
  // NUMA nodes the sum of what they have.
  BytesPerSecond total;
  BytesPerSecond computations;  // of all cores together (6.3)
  BytesPerSecond transfer;      // (6.4, 6.5)
  BytesPerSecond alone;         // of all cores together while nothing is transferred (6.6)
};

// `cores` may be a fraction, what the kernels that run demand over `core`: the values between two numbers of cores are
// those on the line between them. Throws UsageError for parameters or cores out of range.
ContentionShares predict_contention(const ContentionParameters& parameters, double cores);
// With data of the computations and of the transfer on these NUMA nodes, and the cores on socket 0 (6.7, 6.8).
ContentionShares predict_contention(const ContentionModel& model, double cores,
                                    std::uint32_t computation_node, std::uint32_t transfer_node);

// One point of a sweep over the number of cores that compute, with the data of both on one NUMA node.
struct ContentionSample {
  std::uint32_t cores = 1;                  // that compute
  BytesPerSecond computations_alone = {};   // of all cores together
  BytesPerSecond computations_beside = {};  // likewise, beside the transfer
  BytesPerSecond transfer_alone = {};       // while no core computes
  BytesPerSecond transfer_beside = {};      // while the cores do
};

// The parameters of a sweep (section 6.3.1). The thesis takes largest and least values, which noise shifts; here the
// predicted curves are fitted to all samples, by their ratios, with as few changes of slope as explain them (Schwarz's
// criterion). What a sweep does not show is chosen as the thesis would: `total_beside` that was never reached is the
// largest total. Samples are in any order, several may be of one number of cores. Throws UsageError without samples or
// with one that is not above 0.
ContentionParameters fit_contention(const std::vector<ContentionSample>& sweep);

}  // namespace vicinal
