// Tasks that make new data wait, where memory is short, behind those that use data up.
//
// All tasks of "make a block, then use it" that make are ready at once. If they run first, memory fills with what
// nobody can use yet; it is written to the disk, and read again. So data that a task makes are *live* from when the
// task is pulled until no submitted task uses them. A task that makes more waits here
//  - while half of the memory is live, or seven eighths for a task that reads live data, too: whatever it makes, it
//    leads to their end. What was registered first is made first: a program that ran alone would use it first;
//  - until a worker finds nothing else to do. Then one goes if no task in flight is the last to use live data and
//    seven eighths have room for it; or if no task in flight makes or reads live data; or if eight in a row per worker
//    have made data, and nobody could use them: then there is nothing to wait for.
// Whoever sets free at least as much as it makes never waits.
//
// Only where all workers compute in a RAM with a limit and a disk behind it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/sure_memory.hpp"
#include "graph/task.hpp"
#include "memory/residency.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::engine {

class Producers {
 public:
  // The residency outlives it. `waits`: no task waits otherwise.
  Producers(const MachineDescription& machine, const memory::Residency& residency, bool waits);

  bool active() const { return limit_.has_value(); }
  // Tasks that wait.
  std::size_t throttled() const { return throttled_.load(std::memory_order_seq_cst); }
  bool any_throttled() const { return throttled() != 0; }
  // Many of those whose order the policy knows better: what they read is shared, perhaps. But once so much is live
  // those that use it up are looked for, which may wait with the policy behind many that make more.
  bool holds_many() const {
    return loaders_.load(std::memory_order_relaxed) >= kMany &&
           live_.load(std::memory_order_relaxed) <= looked_for_.value;
  }

  // --- under the lock of the look-ahead
  // Of a task that was pulled. True: it waits here. False: it is in flight from now on. None waits while some are
  // waited for by who holds room (`all_go`).
  bool throttle(graph::Task& task, bool all_go);
  // One that need not wait any longer; null: none. It is not in flight before `begin`.
  graph::Task* take_fitting();
  // For a worker that has nothing else to do; null: it is better to wait.
  graph::Task* take_in_need();
  graph::Task* take_any();

  // --- any thread
  // A task that has left here, or was pulled without being asked about: it is in flight.
  void begin(const graph::Task& task) { count(task); }
  // note_end is to be called for the task when its operands have been released, before one of them can be forgotten.
  // `was_in_flight`: it did not end before.
  bool concerned_by(const graph::Task& task) const;
  void note_end(const graph::Task& task, bool was_in_flight);
  // Nobody uses the handle any more.
  void forget(graph::Handle& handle) { settle(handle, true); }

 private:
  enum Kind : std::uint8_t {
    user,    // reads live data
    loader,  // reads other data alone, which may have to be fetched
    maker,   // reads nothing
  };
  // What becomes of live data by a task.
  struct Change {
    Kind kind = maker;
    Bytes makes;
    HandleId first;           // of that
    bool for_others = false;  // another task is known to use it
    Bytes sets_free;          // the task is the last that is known to use it
  };
  struct Waiting {
    HandleId makes;
    graph::Task* task = nullptr;
    bool operator<(const Waiting& other) const { return makes > other.makes; }
  };

  Change change_by(const graph::Task& task) const;
  bool makes_new(const graph::Access& access) const;
  bool fits(const Change& change, Bytes room) const;
  bool fits(Kind kind) const;
  void count(const graph::Task& task);
  void settle(graph::Handle& handle, bool unused);
  graph::Task* take(Kind kind);
  std::optional<Kind> first() const;

  static constexpr std::size_t kMany = 16;
  // A worker may be held up in a task whose data others wait for: meanwhile not all that makes more begins.
  static constexpr std::int64_t kInVain = 8;

  const memory::Residency& residency_;
  const std::int64_t workers_;
  std::optional<Bytes> limit_;                        // none: not active
  Bytes few_;                                         // of live data, with which nobody waits
  Bytes looked_for_;                                  // beyond which their users are looked for
  Bytes some_;                                        // beyond which tasks that only make wait
  Bytes most_;                                        // beyond which all wait
  std::array<base::SureVector<Waiting>, 3> waiting_;  // by kind; heaps
  std::atomic<std::size_t> throttled_{0};
  std::atomic<std::size_t> loaders_{0};     // of them
  std::atomic<std::uint64_t> live_{0};      // bytes
  std::atomic<std::int64_t> relieving_{0};  // live data whose last user is in flight
  std::atomic<std::int64_t> in_flight_{0};  // tasks that make or read live data
  std::atomic<std::int64_t> reading_{0};    // of those, which read them
  std::atomic<std::int64_t> barren_{0};     // tasks that ended since one began that reads live data
};

}  // namespace vicinal::engine
