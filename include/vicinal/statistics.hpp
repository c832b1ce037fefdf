// What a run did: counters, all since the start of the runtime or the last reset.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal {

// Counters of a memory node.
struct NodeStatistics {
  Bytes bytes_in;                 // copied into replicas of this node
  Bytes bytes_out;                // copied out of them
  Bytes peak;                     // most bytes of replicas at once, padding included
  Bytes resident;                 // now
  std::uint64_t evictions = 0;    // replicas that had to go for others
  std::uint64_t write_backs = 0;  // of these, copied to safety then, and not before
};

// Counters of a link, in one direction.
struct LinkStatistics {
  NodeId from;               // the source
  NodeId to;                 // the destination
  Bytes bytes;               // copied
  std::uint64_t copies = 0;  // that have ended
};

// Counters of a worker.
struct WorkerStatistics {
  std::uint64_t tasks = 0;  // that have ended
  Time busy;  // since the start of the runtime, not waiting for a task: kernels, and finding them
  std::uint64_t running = 0;  // tasks given to it and not ended, now; of a device perhaps several
  Time awaiting;  // not busy, while tasks of this rank waited for content of other ranks
};

// All counters of a runtime.
struct Statistics {
  std::vector<NodeStatistics> nodes;      // in the order of MachineDescription::nodes
  std::vector<LinkStatistics> links;      // in the order of MachineDescription::links
  std::vector<WorkerStatistics> workers;  // in the order of MachineDescription::workers
  std::uint64_t tasks_submitted = 0;      // by the application and by the runtime itself
  std::uint64_t tasks_done = 0;           // ended well
  // Of these, the tasks of the runtime itself: combinations of reductions, moves between data and their parts,
  // invalidations and prefetches.
  std::uint64_t own_tasks_done = 0;
  std::uint64_t tasks_failed = 0;     // their kernels threw
  std::uint64_t tasks_cancelled = 0;  // before they started, or by themselves (Cancelled)
  std::uint64_t tasks_running = 0;    // now: of all workers
  // Now: those that wait for a worker, or for their data. Counted with the option status, or where there are workers of
  // several kinds.
  std::optional<std::uint64_t> tasks_ready;
  Time scheduling;  // wall time inside the policy, of all threads, if the option measure_scheduling
  Time now;         // of the runtime's clock: monotonic, or simulated

  Bytes sent;                  // content, to other ranks
  Bytes received;              // content, from other ranks
  std::uint64_t messages = 0;  // sent to other ranks beside that
  Bytes forwarded;  // of what was sent: content of other ranks, sent on as part of a broadcast
  std::uint64_t broadcasts = 0;  // begun by this rank: versions that went to several ranks together
  std::uint64_t late_sends =
      0;  // of versions that had gone to others before: they missed the broadcast
  std::uint64_t versions_to_several = 0;  // of this rank's data, that other ranks read, two or more
  // Of these, those of which all readers had been submitted when the version was ready.
  std::uint64_t versions_in_time = 0;
  // Versions of which several readers had been submitted by then, and did not get it together.
  std::uint64_t broadcasts_missed = 0;

  // What tasks have reduced on other ranks, and is combined here: as submitted so far.
  std::uint64_t partial_results = 0;
  std::uint64_t partial_results_passed_on = 0;  // of these: for data of yet other ranks

  Bytes placed_on_arrival;  // of what was received: sent on to an accelerator when it had come
  // What this rank takes a message to another one to cost, when it chooses trees of broadcasts: measured, or what the option rank_link
  // says; of simulated ranks the machine's. 0: there is one rank.
  Time rank_latency;
  BytesPerSecond rank_bandwidth;  // likewise

  // Tasks done that the application has submitted.
  std::uint64_t application_tasks_done() const {
    return tasks_done > own_tasks_done ? tasks_done - own_tasks_done : 0;
  }
};

}  // namespace vicinal
