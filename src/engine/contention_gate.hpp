// Which memory-bound tasks start now, where the machine says what its memory gives to kernels, copies and messages together.
//
// A core is of no use to a memory that has nothing more to give. So while the tasks that run and the transfers under way can
// draw all that a memory gives, a worker that got one more memory-bound task leaves it here and looks for another one, and
// what computes runs beside what loads. Where it finds none
//  - it waits as long as large transfers are under way: they would have a part of their bandwidth alone (Swartvagher's thesis,
//    2022, section 5.2: down to a third), and the memory is used up as it is;
//  - it waits if the memory gives less to so many, and if the tasks that wait take less time in turns;
//  - else it takes the first that waits here: in a memory that is shared equally nobody loses by it.
// A task is memory-bound if the memory would not do for as many as there are workers. As long as one waits at least one runs,
// at whose end workers look here again.
//
// Any thread; in simulation nothing hangs on time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/spin_lock.hpp"
#include "base/sure_memory.hpp"
#include "graph/task.hpp"
#include "memory/copy.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

// Why a task waits. Of the memory: bytes per second.
struct Saturation {
  std::uint32_t tasks = 0;      // memory-bound, that run
  std::uint32_t transfers = 0;  // large ones under way
  std::int64_t demanded = 0;    // by all that run, at full speed
  std::int64_t saturating = 0;  // from which more gain nothing
};

class ContentionGate {
 public:
  // Not `wanted`: no task waits here. `is_shared`: a worker may run what the policy gave to another, also if it finds
  // something else.
  ContentionGate(const MachineDescription& machine, bool wanted, bool is_shared);

  bool active() const { return !memories_.empty(); }
  bool governs(WorkerId worker) const { return !drawn_on_by_[worker.value].empty(); }
  std::size_t waiting() const { return waiting_count_.load(std::memory_order_relaxed); }
  // More tasks are looked at for one that may start.
  bool looks_on() const {
    return waiting() < kMostWaiting &&
           waiting_bytes_.load(std::memory_order_relaxed) <= most_bytes_;
  }

  // --- a governed worker that looks for a task. What it is given counts as running until `end`.
  // Nothing: the task, which the policy gave to the worker, starts. Else it waits here.
  std::optional<Saturation> keep(graph::Task& task, WorkerId worker);
  // One that waits and may start; `in_need`: the worker has found no other. The one of highest priority comes first, then the
  // one that waits longest.
  graph::Task* take(WorkerId worker, bool in_need);
  // True: one waits and may start now, beside what the worker will find.
  bool end(const graph::Task& task, WorkerId worker);

  // --- transfers
  void begin(const memory::Copy& copy);
  bool end(memory::CopyId copy);  // as above
  // Of a message of so many bytes, sent or received.
  void begin_message(Bytes bytes);
  bool end_message(Bytes bytes);

  // The NUMA node to receive to: where the tasks that run leave a message most bandwidth, the first on ties. 0 where the
  // machine knows none.
  std::uint32_t quietest_numa_node() const;

  // --- idle workers that look for tasks again and again take of the memory, too
  // While large transfers are under way one of them does. False: this one is to sleep.
  bool may_poll() {
    if (pollers_.fetch_add(1, std::memory_order_relaxed) == 0) return true;
    return under_way_.load(std::memory_order_relaxed) == 0;
  }
  void has_polled() { pollers_.fetch_sub(1, std::memory_order_relaxed); }

  std::string describe() const;  // a line per task

 private:
  // One that kernels draw on: a segment, or the memory of a NUMA node.
  struct Memory {
    std::uint32_t segment = 0;
    // Bytes per second that it gives while none, one, two, ... draw, the last entry to more; by cores where `core` is known.
    std::vector<std::int64_t> gives;
    std::int64_t core =
        0;  // demand of a task that counts as one; 0: each that demands something does
    // So many that the next is worth less than a third of a core: for a core that has something to compute it is enough.
    double enough = 1;
    double enough_beside = 1;  // a transfer; only with `core`
    // So many that more have nearly nothing: enough for a core that would be idle, too.
    double all = 1;                 // where transfers are under way
    std::int64_t most = 0;          // nearly the most that it gives to tasks and transfers
    std::int64_t fair = 0;          // with a demand above it a task is memory-bound
    std::int64_t for_messages = 0;  // what one draws
    // --- under the lock
    std::int64_t demand = 0;      // of the tasks that run
    std::uint32_t drawing = 0;    // of them, that demand something
    std::uint32_t bound = 0;      // of them, memory-bound
    std::int64_t transfers = 0;   // what those under way can draw
    std::uint32_t under_way = 0;  // of these
    double drawers() const {
      return core > 0 ? static_cast<double>(demand) / static_cast<double>(core) : drawing;
    }
    // What cores leave a message; none where the machine does not know NUMA nodes.
    std::vector<std::int64_t> leaves;
    double given(double to) const {
      return static_cast<double>(gives[std::min(static_cast<std::size_t>(to), gives.size() - 1)]);
    }
    // Of demand, from which more gain nothing.
    std::int64_t saturating() const;
    bool is_saturated() const;
    bool is_used_up() const;
  };
  struct Link {
    NodeId from;
    NodeId to;
    std::vector<std::uint32_t> memories = {};
    std::int64_t rate = 0;
    std::uint32_t under_way = 0;
  };
  struct Waiting {
    int priority = 0;
    std::uint64_t number = 0;
    graph::Task* task = nullptr;
    bool operator<(const Waiting& other) const {
      return priority != other.priority ? priority < other.priority : number > other.number;
    }
  };
  using Heap = base::SureVector<Waiting>;
  struct UnderWay {
    memory::CopyId copy;
    std::uint32_t link = 0;
  };

  void set_up_segments(const MachineDescription& machine);
  void set_up_numa_nodes(const MachineDescription& machine);
  void set_up_links(const MachineDescription& machine);
  static std::int64_t demand_of(const graph::Task& task);
  const Memory* in_the_way(const graph::Task& task, WorkerId worker) const;
  bool is_better_in_turns(const Memory& memory) const;
  void count(const graph::Task& task, WorkerId worker, int change);
  static void count_transfer(Memory& memory, std::int64_t rate, bool begins);
  void count_messages(bool begin);
  Heap* first_of_all();

  static constexpr std::size_t kMostWaiting = 4096;
  static std::uint64_t bytes_of(const graph::Task& task);
  const bool is_shared_;
  const std::uint64_t most_bytes_;  // of what waits, so that it is not missed where RAM has a limit
  std::vector<Memory> memories_;
  std::vector<std::vector<std::uint32_t>> drawn_on_by_;  // by worker, indices of memories_
  std::vector<Link> links_;
  mutable base::SpinLock lock_;
  std::vector<Heap> waiting_;  // by the worker that left them
  std::uint64_t next_ = 0;
  base::SureVector<UnderWay> copies_;
  std::size_t with_messages_ = 0;  // the first memories, which they draw on
  std::uint32_t messages_ = 0;
  std::atomic<std::size_t> waiting_count_{0};
  std::atomic<std::uint64_t> waiting_bytes_{0};
  std::atomic<std::uint32_t> under_way_{0};
  std::atomic<std::uint32_t> pollers_{0};
};

}  // namespace vicinal::engine
