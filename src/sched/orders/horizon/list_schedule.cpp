#include "sched/orders/horizon/list_schedule.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "sched/orders/horizon/held.hpp"

namespace vicinal::sched::orders::horizon {

namespace {

struct Waiting {
  std::int64_t urgency = 0;
  Number task = 0;
  // The first of a queue is the greatest.
  bool operator<(const Waiting& other) const {
    return std::tie(urgency, other.task) < std::tie(other.urgency, task);
  }
};

struct Running {
  Time end;
  Placed placed;
  bool operator>(const Running& other) const {
    return std::tie(end, placed.task) > std::tie(other.end, other.placed.task);
  }
};

struct MemoryQueue {
  std::priority_queue<Waiting> queue;
  Time work;                     // of the tasks that have come and not ended
  Time link_free;                // the way there is free
  std::uint32_t idle = 0;        // workers
  std::vector<Time> there_from;  // by datum, if the memory holds it
};

class ListSchedule {
 public:
  ListSchedule(const PlanGraph& graph, std::span<const std::int64_t> urgency,
               const Memories& memories)
      : graph_(graph),
        rules_(memories),
        urgency_(urgency),
        waits_for_(graph.predecessors),
        memories_(memories.count),
        held_(held_at_first(graph, memories)) {
    for (MemoryQueue& memory : memories_) {
      memory.idle = memories.workers;
      memory.there_from.resize(graph.data());
    }
  }

  std::vector<Placed> run() {
    for (Number task = 0; task < graph_.tasks(); ++task) {
      if (waits_for_[task] == 0) take(task);
    }
    start_all();
    while (!running_.empty()) {
      now_ = running_.top().end;
      while (!running_.empty() && running_.top().end == now_) {
        const Placed ended = running_.top().placed;
        running_.pop();
        end(ended);
      }
      start_all();
    }
    return std::move(placed_);
  }

 private:
  Time copy_time(std::uint64_t bytes) const {
    return rules_.in.value > 0 ? duration(Bytes{bytes}, rules_.in) : Time{};
  }

  // If it comes there now.
  Time start_on(Number task, std::uint32_t number) const {
    const MemoryQueue& memory = memories_[number];
    const Time workers = now_ + Time{memory.work.ns / rules_.workers};
    std::uint64_t missing = 0;
    for (const Use& use : graph_.uses_of(task)) {
      if (use.reads && !held_[number].has(use.datum)) missing += graph_.bytes[use.datum];
    }
    if (missing == 0) return workers;
    return std::max(workers, std::max(memory.link_free, now_) + copy_time(missing));
  }

  std::uint32_t best_for(Number task) const {
    // Less is chance: times differ a little in every run.
    const Time clearly{graph_.durations[task].ns / 4};
    std::uint32_t best = 0;
    Time first = start_on(task, 0);
    for (std::uint32_t number = 1; number < rules_.count; ++number) {
      const Time start = start_on(task, number);
      if (start + clearly >= first) continue;
      best = number;
      first = start;
    }
    return best;
  }

  // It is ready: its copies begin.
  void take(Number task) {
    if (graph_.elsewhere[task]) return begin({task, 0}, now_);
    const std::uint32_t number = best_for(task);
    MemoryQueue& memory = memories_[number];
    Held& held = held_[number];
    for (const Use& use : graph_.uses_of(task)) {
      if (use.reads && !held.has(use.datum)) {
        memory.link_free = std::max(memory.link_free, now_) + copy_time(graph_.bytes[use.datum]);
        memory.there_from[use.datum] = memory.link_free;
      }
      held.use(use.datum, graph_.bytes[use.datum]);
    }
    held.shrink(graph_.bytes);
    memory.work += graph_.durations[task];
    memory.queue.push({urgency_[task], task});
  }

  void start_all() {
    for (std::uint32_t number = 0; number < rules_.count; ++number) {
      MemoryQueue& memory = memories_[number];
      while (memory.idle > 0 && !memory.queue.empty()) {
        const Number task = memory.queue.top().task;
        memory.queue.pop();
        --memory.idle;
        Time start = now_;
        for (const Use& use : graph_.uses_of(task)) {
          if (use.reads) start = std::max(start, memory.there_from[use.datum]);
        }
        begin({task, number}, start);
      }
    }
  }

  void begin(const Placed& placed, Time start) {
    placed_.push_back(placed);
    running_.push({start + graph_.durations[placed.task], placed});
  }

  void end(const Placed& ended) {
    const auto [task, number] = ended;
    const bool elsewhere = graph_.elsewhere[task];
    if (!elsewhere) {
      MemoryQueue& memory = memories_[number];
      memory.work = memory.work - graph_.durations[task];
      ++memory.idle;
    }
    for (const Use& use : graph_.uses_of(task)) {
      if (!use.writes) continue;
      for (std::uint32_t other = 0; other < rules_.count; ++other) {
        if (other != number || elsewhere) held_[other].forget(use.datum, graph_.bytes[use.datum]);
      }
    }
    for (const Number after : graph_.successors[task]) {
      if (--waits_for_[after] == 0) take(after);
    }
  }

  const PlanGraph& graph_;
  const Memories rules_;
  const std::span<const std::int64_t> urgency_;
  std::vector<Number> waits_for_;  // by task: how many
  std::vector<MemoryQueue> memories_;
  std::vector<Held> held_;  // by memory
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  std::vector<Placed> placed_;
  Time now_;
};

}  // namespace

std::vector<Placed> list_schedule(const PlanGraph& graph, std::span<const std::int64_t> urgency,
                                  const Memories& memories) {
  return ListSchedule(graph, urgency, memories).run();
}

}  // namespace vicinal::sched::orders::horizon
