// The look-ahead of one memory node: tasks pulled from the policy and not started. Their operands
// are prefetched while others run; the first that can start does. Not used while all operands are
// on the node anyway.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/sure_memory.hpp"
#include "engine/costs.hpp"
#include "engine/eligibility.hpp"
#include "engine/errors.hpp"
#include "engine/node_workers.hpp"
#include "engine/policy_gate.hpp"
#include "engine/private_copies.hpp"
#include "engine/sleepers.hpp"
#include "engine/thread_counters.hpp"
#include "graph/dependencies.hpp"
#include "memory/request.hpp"
#include "memory/residency.hpp"

namespace vicinal::engine {

class MoveDecision;

// What a look-ahead asks; all of it outlives it.
struct LookAheadParts {
  const MachineDescription& machine;
  memory::Residency& residency;
  PolicyGate& gate;
  const Eligibility& eligibility;
  const Costs& costs;
  const ThreadCounters& counters;
  Sleepers& sleepers;
  Errors& errors;
  PrivateCopies& copies;
  const sched::PolicyContext& context;  // for what is told of choices
};

struct LookAheadOptions {
  std::uint32_t depth = 0;      // the option look_ahead; 0: by the kind of node
  bool one_at_a_time = false;   // memory::Rules::pipeline, unified
  bool on_demand = false;       // memory::Rules::unified
  bool moves_tasks = false;     // the policy's: what waits with it is found by others
  std::uint32_t in_flight = 0;  // the policy's
  bool own_victims = false;     // the policy chooses the victims
  bool plans_copies = false;    // and asks for copies
  bool in_order = false;        // tasks start in the policy's order
};

class LookAhead {
 public:
  LookAhead(const LookAheadParts& parts, const NodeDescription& node, const NodeWorkers& workers,
            const LookAheadOptions& options);

  // --- without the lock
  std::mutex& mutex() const {
    return mutex_;
  }  // taken before the policy's lock and the residency's
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  // Nothing is pulled, and lately nothing had to be copied: a worker may pull a task for itself, until one lacks
  // an operand (`disturb`).
  bool bypassed() const { return size() == 0 && calm(); }
  // Tasks here wait for a private copy.
  bool any_without_copy() const { return without_copy_.load(std::memory_order_seq_cst) > 0; }
  NodeId node() const { return node_; }
  // What waits behind a task may start when that has: workers that found nothing look again.
  bool starts_in_order() const { return in_order_; }

  // --- under the lock
  void disturb() { calm_.store(0, std::memory_order_relaxed); }
  // Before `wants_more` is asked: whether anything moved on the node since the last time.
  void note_traffic() {
    if (residency_.take_traffic(node_)) disturb();
  }
  // To tasks that wait for private copies, if some were given back.
  void lend_copies();
  // One more task is to be pulled, for the worker that looks.
  bool wants_more(WorkerId worker);
  // True: there are more than its own workers need at once.
  bool keep(graph::Task& task);
  // The first task, in the policy's order, whose operands are all here: pinned for it by its request,
  // or pinned now. Those that cannot run any more go to `cancelled`.
  graph::Task* take_runnable(WorkerId worker, memory::Actions& actions,
                             graph::ReadyList& cancelled);
  // The first tasks that the worker could start next get firm reservations, if it has `found` none or the node
  // makes room ahead. True if one has ended at once.
  bool ask_firmly(WorkerId worker, bool found, memory::Actions& actions);
  // Copies for the others, in their order, as far as room can be had without waiting; then some room is
  // made for those that come next. False: one got no room.
  bool prefetch(memory::Actions& actions);
  bool has_one_for(WorkerId worker) const;
  // A request of a task that the worker can run has ended, perhaps by what was just performed.
  bool anything_ended(WorkerId worker) const;
  // To a worker of a peer that has nothing to do, if that gains time and the policy agrees. Null: none.
  graph::Task* give_away(WorkerId to, memory::Actions& actions);
  // A line per task.
  std::string describe() const;

 private:
  struct Entry {
    graph::Task* task = nullptr;
    memory::Request request;  // firm once a worker has nothing else to do
    WorkerId firm_for = kNoWorker;
    Bytes working_set;
    Time run_time;            // on the node's workers
    Time copies;              // for what was not there nor on its way when it was pulled
    bool for_all = false;     // all workers of the node can run it
    bool lacks_copy = false;  // it waits for private copies
    const memory::Replica* lacks = nullptr;  // what was missing when it was looked at last
  };

  void set_depth(const NodeDescription& node, const LookAheadOptions& options);
  void set_window(const NodeDescription& node, const LookAheadOptions& options);
  void set_bandwidth(const LookAheadOptions& options);
  void set_claims(const NodeDescription& node, const LookAheadOptions& options);
  bool calm() const { return calm_.load(std::memory_order_relaxed) >= kCalm; }
  bool fills_window(WorkerId worker) const;
  bool hides_copies();
  Bytes room_for(const Entry& entry) const;
  bool lasts(WorkerId worker) const;
  bool waits_for_copies() const;
  std::size_t workers_without_task() const;
  Entry& unused_entry();
  graph::Task* drop(std::size_t at);
  bool can_start(const Entry& entry, WorkerId worker) const {
    return !entry.lacks_copy && (entry.for_all || eligibility_.can_run(*entry.task, worker));
  }
  bool lend(Entry& entry);
  bool still_lacks(Entry& entry) const;
  bool ask_for_one(WorkerId worker, memory::Actions& actions);
  template <typename Visit>
  bool any_firm(Visit visit) const;
  std::size_t best_to_give(WorkerId to, MoveDecision& decision) const;

  static constexpr std::uint32_t kCalm = 64;
  static constexpr std::size_t kMostWithoutCopy = 64;

  memory::Residency& residency_;
  PolicyGate& gate_;
  const Eligibility& eligibility_;
  const Costs& costs_;
  const ThreadCounters& counters_;
  Sleepers& sleepers_;
  Errors& errors_;
  PrivateCopies& private_;
  const sched::PolicyContext& context_;
  const MachineDescription& machine_;
  const NodeWorkers& workers_;
  const NodeId node_;

  mutable std::mutex mutex_;
  base::SureVector<Entry*> pulled_;   // in the policy's order
  base::SureVector<Entry*> unused_;   // entries to use again
  base::SureDeque<Entry> entries_;    // all
  std::atomic<std::size_t> size_{0};  // of `pulled_`, to be read without the lock
  // Tasks started in a row for which nothing had to be copied or placed. From kCalm on the workers
  // pull one task at a time, without this look-ahead and its lock, until one lacks an operand.
  std::atomic<std::uint32_t> calm_{kCalm};

  // What the last looks have shown, so that what has not changed is not looked at again. Entries with a firm
  // request, which are the first or nearly so.
  std::size_t firm_ = 0;
  // Entries at the front for which prefetch has no more to do, as long as Residency::losses is this.
  std::size_t complete_ = 0;
  std::uint64_t complete_at_ = 0;
  // The worker for which no entry can start, as long as Residency::gains is this.
  WorkerId none_for_ = kNoWorker;
  std::uint64_t none_at_ = 0;
  std::atomic<std::size_t> without_copy_{0};  // entries that lack one
  std::uint64_t lent_at_ = 0;                 // PrivateCopies::returns when they were looked at
  std::optional<bool> hides_;                 // the last answer of hides_copies

  // --- sums over `pulled_`
  Bytes claimed_;            // room of the operands
  Time runs_;                // one after the other
  Time copies_;              // one after the other
  std::size_t unknown_ = 0;  // whose run time is not known
  Time fetch_;               // copies of one task, of the largest lately

  // --- how far it goes
  std::size_t depth_ = 0;      // most entries
  std::size_t window_ = 0;     // most entries and tasks started; 0: no such bound
  std::size_t firm_each_ = 1;  // firm requests of one worker, at most
  bool in_order_ = false;
  bool prefetches_ = true;
  // Beyond which no more is pulled, see wants_more; but up to so many entries and bytes it is, if what was pulled
  // does not run as long as copies take.
  std::optional<Bytes> most_claimed_;
  std::size_t least_ = 0;
  Bytes most_to_hide_;
  Bytes most_kept_free_;            // for what comes next, see prefetch
  bool keeps_for_operands_ = true;  // else for results alone
  // `lasts` is asked: not if the option says how far to look ahead, if the policy moves no tasks, or if the bandwidth
  // of a link to the node is not known.
  bool timed_ = false;
  BytesPerSecond bandwidth_{0};  // from RAM
  // How much longer copies from RAM take while all nodes that share their way use it.
  double crowd_ = 1;
};

}  // namespace vicinal::engine
