// The look-ahead of one memory node: tasks pulled from the policy and not started. Their operands
// are copied early while others run; the first that can start does. Not used while all operands are
// on the node anyway.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/sure_memory.hpp"
#include "graph/task.hpp"
#include "memory/request.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

struct Pulled {
  graph::Task* task = nullptr;
  memory::Request request;  // firm once a worker has nothing else to do
  WorkerId firm_for = kNoWorker;
  Bytes working_set;
  Time run_time;         // on the node's workers
  Time copies;           // for what was not there nor on its way when it was pulled
  bool for_all = false;  // all workers of the node can run it
  const memory::Replica* lacks = nullptr;  // what was missing when it was looked at last
};

inline constexpr std::uint32_t kCalm = 64;

struct Window {
  mutable std::mutex mutex;          // taken before the policy's lock and the residency's
  base::SureVector<Pulled*> pulled;  // in the policy's order
  base::SureVector<Pulled*> unused;  // entries to use again
  base::SureDeque<Pulled> entries;   // all
  std::size_t depth = 0;             // most entries
  std::size_t firm_each = 1;         // firm requests of one worker, at most
  std::atomic<std::size_t> size{0};  // of `pulled`, to be read without the lock
  // What the last looks have shown, so that what has not changed is not looked at again: entries with a
  // firm request, which are the first or nearly so; how many at the front copy_early has no more to do
  // for, as long as Residency::losses is this.
  // And that no entry can start on this worker, as long as Residency::gains is this.
  std::size_t firm = 0;
  std::size_t complete = 0;
  std::uint64_t complete_at = 0;
  WorkerId none_for = kNoWorker;
  std::uint64_t none_at = 0;
  // Tasks started in a row for which nothing had to be copied or placed. From kCalm on the workers
  // pull one task at a time, without this window and its lock, until one lacks an operand.
  std::atomic<std::uint32_t> calm{kCalm};
  // The node's only worker has one to wait for and would pull no more: a push is not for it. Set by its look,
  // cleared when an entry leaves.
  std::atomic<bool> satisfied{false};
  Bytes claimed;  // room of the operands of `pulled`
  Time runs;      // of `pulled`, one after the other
  // For Engine::lasts: copies for `pulled`, one after the other; those of one task, of the largest lately; how
  // many of `pulled` have a run time that is not known; how much longer copies from RAM take while all nodes
  // that share their way use it. Not asked for if the option says how far to look ahead, if the policy moves
  // no tasks, or if the bandwidth of a link to the node is not known.
  Time copies;
  Time fetch;
  std::size_t unknown = 0;
  double crowd = 1;
  bool timed = false;
  std::optional<bool> hides;          // what Engine::hides_copies has said of them
  std::optional<Bytes> most_claimed;  // beyond which no more is pulled, see Engine::refill
  // Up to so many entries and bytes it is, if what was pulled does not run as long as copies take.
  std::size_t least = 0;
  Bytes most_to_hide;
  BytesPerSecond bandwidth{0};  // from RAM
  Bytes most_kept_free;         // for what comes next, see copy_early
  std::vector<WorkerId> workers;
  bool alike = true;  // they are of one kind: what one can run, all can, if it is not bound
  // Other nodes whose workers are all of this kind, if the policy moves tasks.
  std::vector<NodeId> peers;
};

}  // namespace vicinal::engine
