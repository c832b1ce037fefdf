#include "sched/orders/horizon/memories.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace vicinal::sched::orders::horizon {

namespace {

Time duration_of(std::uint64_t bytes, BytesPerSecond rate) {
  return rate.value > 0 ? duration(Bytes{bytes}, rate) : Time{};
}

// A replica of a datum in a memory.
struct Replica {
  bool there = false;
  Number next = kNone;     // place of its next use here
  Number held_by = kNone;  // the task that is about to run
  Time there_from;         // its content has come, or the last task that wrote it has ended
  Time free_from;          // the last task that used it here has ended
};

constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

struct Content {
  std::uint32_t changed_in = kNowhere;  // the memory that has it alone
  bool exists = false;                  // somewhere
  Time at_home_from;                    // it has been written there
};

// The place of the next use, the last goes first; that of the last use, negative: the first goes first; and the datum.
using Leaving = std::tuple<Number, std::int64_t, Number>;

struct Memory {
  std::vector<Replica> replicas;  // by datum
  std::uint64_t used = 0;
  std::deque<std::pair<std::uint64_t, Time>> freed;  // bytes, and since when
  Time in_free;
  Time out_free;
  std::priority_queue<Leaving> leaving;
  std::priority_queue<Time, std::vector<Time>, std::greater<>> workers;  // when they are free
};

class Run {
 public:
  Run(const PlanGraph& graph, std::span<const Placed> order, const Memories& memories)
      : graph_(graph),
        order_(order),
        rules_(memories),
        next_(graph.uses.size(), kNone),
        contents_(graph.data()),
        ready_at_(graph.tasks()),
        memories_(memories.count),
        between_free_(memories.between.size()),
        bridges_busy_(memories.bridges.size()) {
    std::vector<std::vector<Number>> later(memories.count,
                                           std::vector<Number>(graph.data(), kNone));
    for (std::size_t place = order.size(); place-- > 0;) {
      const auto [task, memory] = order[place];
      if (graph.elsewhere[task]) continue;
      for (std::size_t i = graph.first_use[task]; i < graph.first_use[task + 1]; ++i) {
        next_[i] = std::exchange(later[memory][graph.uses[i].datum], static_cast<Number>(place));
      }
    }
    for (Memory& memory : memories_) {
      memory.replicas.resize(graph.data());
      memory.freed.emplace_back(memories.bytes, Time{});
      for (std::uint32_t worker = 0; worker < memories.workers; ++worker) memory.workers.push({});
    }
    for (Number datum = 0; datum < graph.data(); ++datum) {
      contents_[datum].exists = graph.has_home[datum];
      if (!graph.initially.empty()) hold(datum, later);
    }
  }

  Cost run() {
    for (const Placed& placed : order_) step(placed);
    cost_.time = elsewhere_end_;
    for (Memory& memory : memories_) {
      for (; !memory.workers.empty(); memory.workers.pop()) {
        cost_.time = std::max(cost_.time, memory.workers.top());
      }
    }
    return cost_;
  }

 private:
  // What is there before the first task. `first_use`: by memory and datum.
  void hold(Number datum, const std::vector<std::vector<Number>>& first_use) {
    const Initially& initially = graph_.initially[datum];
    for (std::uint32_t number = 0; number < rules_.count; ++number) {
      if ((initially.held >> number & 1) == 0) continue;
      Memory& memory = memories_[number];
      Replica& replica = memory.replicas[datum];
      replica.there = true;
      replica.next = first_use[number][datum];
      memory.used += graph_.bytes[datum];
      take_room(memory, graph_.bytes[datum]);
      memory.leaving.emplace(replica.next, 0, datum);
      if (initially.changed_in == number) contents_[datum].changed_in = number;
    }
  }

  // At home, as soon as what it reads is there.
  void step_elsewhere(Number task) {
    ++place_;
    Time start = ready_at_[task];
    for (const Use& use : graph_.uses_of(task)) {
      Content& content = contents_[use.datum];
      if (use.reads && content.changed_in != kNowhere) write_home(use.datum, content.changed_in);
      if (use.reads) start = std::max(start, content.at_home_from);
    }
    const Time end = start + graph_.durations[task];
    for (const Number after : graph_.successors[task]) {
      ready_at_[after] = std::max(ready_at_[after], end);
    }
    for (const Use& use : graph_.uses_of(task)) {
      if (!use.writes) continue;
      contents_[use.datum] = {.changed_in = kNowhere, .exists = true, .at_home_from = end};
      drop_replicas(use.datum, kNowhere);
    }
    elsewhere_end_ = std::max(elsewhere_end_, end);
  }

  void step(const Placed& placed) {
    const auto [task, number] = placed;
    if (graph_.elsewhere[task]) return step_elsewhere(task);
    Memory& memory = memories_[number];
    ++place_;
    for (const Use& use : graph_.uses_of(task)) memory.replicas[use.datum].held_by = task;
    Time operands_at = ready_at_[task];
    for (const Use& use : graph_.uses_of(task)) {
      operands_at = std::max(operands_at, bring(use, task, number));
    }
    const Time start = std::max(memory.workers.top(), operands_at);
    const Time end = start + graph_.durations[task];
    memory.workers.pop();
    memory.workers.push(end);
    for (const Number after : graph_.successors[task]) {
      ready_at_[after] = std::max(ready_at_[after], end);
    }
    for (std::size_t i = graph_.first_use[task]; i < graph_.first_use[task + 1]; ++i) {
      leave_behind(graph_.uses[i], next_[i], number, end);
    }
  }

  // When it is there.
  Time bring(const Use& use, Number task, std::uint32_t number) {
    Memory& memory = memories_[number];
    Replica& replica = memory.replicas[use.datum];
    if (replica.there) return {};
    const std::uint64_t bytes = graph_.bytes[use.datum];
    make_room(memory, number, bytes, task);
    memory.used += bytes;
    Time room_at = take_room(memory, bytes);
    if (rules_.one_by_one) room_at = std::max(room_at, memory.workers.top());
    replica.there = true;
    replica.free_from = {};
    replica.there_from = room_at;
    Content& content = contents_[use.datum];
    if (!use.reads || !content.exists) return room_at;
    if (const std::uint32_t from = source_of(use.datum, number); from != kNowhere) {
      return replica.there_from = exchanged(use.datum, from, number, room_at);
    }
    if (content.changed_in != kNowhere) write_home(use.datum, content.changed_in);
    cost_.loaded += bytes;
    return replica.there_from = copied(bytes, {rules_.in, passes(rules_.in_passes, number)},
                                       memory.in_free, room_at, content.at_home_from);
  }

  // The memory from which the datum comes, kNowhere: from home. As memory::Links chooses.
  std::uint32_t source_of(Number datum, std::uint32_t to) const {
    if (contents_[datum].changed_in == kNowhere) return kNowhere;
    for (std::uint32_t from = 0; from < memories_.size(); ++from) {
      const bool has = from != to && memories_[from].replicas[datum].there;
      if (has && rules_.from_to(from, to).value > 0) return from;
    }
    return kNowhere;
  }

  Time exchanged(Number datum, std::uint32_t from, std::uint32_t to, Time room_at) {
    const std::size_t pair = std::size_t{from} * rules_.count + to;
    cost_.exchanged += graph_.bytes[datum];
    return copied(graph_.bytes[datum], {rules_.between[pair], passes(rules_.between_passes, pair)},
                  between_free_[pair], room_at, memories_[from].replicas[datum].there_from);
  }

  void leave_behind(const Use& use, Number next, std::uint32_t number, Time end) {
    Memory& memory = memories_[number];
    Replica& replica = memory.replicas[use.datum];
    replica.next = next;
    replica.free_from = std::max(replica.free_from, end);
    if (use.writes) replica.there_from = end;
    memory.leaving.emplace(next, -place_, use.datum);
    if (!use.writes) return;
    Content& content = contents_[use.datum];
    content.exists = true;
    content.changed_in = number;
    drop_replicas(use.datum, number);
  }

  void drop_replicas(Number datum, std::uint32_t but_in) {
    for (std::uint32_t other = 0; other < memories_.size(); ++other) {
      Replica& stale = memories_[other].replicas[datum];
      if (other == but_in || !stale.there) continue;
      stale.there = false;
      memories_[other].used -= graph_.bytes[datum];
      memories_[other].freed.emplace_back(graph_.bytes[datum], stale.free_from);
    }
  }

  struct Way {
    BytesPerSecond rate;
    std::uint64_t bridges = 0;  // a bit each
  };
  static std::uint64_t passes(const std::vector<std::uint64_t>& table, std::size_t place) {
    return table.empty() ? 0 : table[place];
  }

  // When a copy ends that has room and content from then on. The next one on the way follows it; but a copy that waits for its
  // content lets others pass.
  Time copied(std::uint64_t bytes, Way way, Time& way_free, Time room_at, Time content_at) {
    const Time takes = rules_.latency + duration_of(bytes, way.rate);
    way_free = std::max(way_free, room_at);
    const Time begins = std::max(way_free, content_at);
    Time ends = begins + takes;
    way_free += takes;
    // A bridge carries copies in the order of the plan, which is about that of time: up to sixteen copies count as begun
    // before their turn; beyond that what the bridge did not carry is lost.
    constexpr std::int64_t kAhead = 16;
    for (std::uint64_t left = way.bridges; left != 0; left &= left - 1) {
      const auto bridge = static_cast<std::size_t>(std::countr_zero(left));
      const Time carried = duration_of(bytes, rules_.bridges[bridge]);
      Time& busy = bridges_busy_[bridge];
      busy = std::max(busy, begins - Time{carried.ns * kAhead}) + carried;
      ends = std::max(ends, busy);
    }
    return ends;
  }

  void write_home(Number datum, std::uint32_t number) {
    Memory& memory = memories_[number];
    Content& content = contents_[datum];
    cost_.written += graph_.bytes[datum];
    content.at_home_from =
        copied(graph_.bytes[datum], {rules_.out, passes(rules_.out_passes, number)},
               memory.out_free, Time{}, memory.replicas[datum].free_from);
    content.changed_in = kNowhere;
  }

  // Where another memory has the datum, too, the content is not lost.
  void leave_changed(Number datum, std::uint32_t number) {
    for (std::uint32_t other = 0; other < memories_.size(); ++other) {
      if (other == number || !memories_[other].replicas[datum].there) continue;
      contents_[datum].changed_in = other;
      return;
    }
    write_home(datum, number);
  }

  // Since when so much has been free: what was freed first is taken first. What is in use beyond the memory's room
  // takes none.
  Time take_room(Memory& memory, std::uint64_t bytes) {
    Time at;
    while (bytes > 0 && !memory.freed.empty()) {
      auto& [free, since] = memory.freed.front();
      at = std::max(at, since);
      const std::uint64_t taken = std::min(bytes, free);
      bytes -= taken;
      free -= taken;
      if (free == 0) memory.freed.pop_front();
    }
    return at;
  }

  // What does not fit even alone is let in.
  void make_room(Memory& memory, std::uint32_t number, std::uint64_t bytes, Number task) {
    aside_.clear();
    while (memory.used + bytes > rules_.bytes - rules_.reserve && !memory.leaving.empty()) {
      const auto [next, used_at, datum] = memory.leaving.top();
      memory.leaving.pop();
      Replica& replica = memory.replicas[datum];
      if (!replica.there || replica.next != next) continue;
      if (replica.held_by == task) {
        aside_.emplace_back(next, used_at, datum);
        continue;
      }
      if (contents_[datum].changed_in == number) leave_changed(datum, number);
      const Time gone = std::max(replica.free_from, contents_[datum].at_home_from);
      replica.there = false;
      memory.used -= graph_.bytes[datum];
      memory.freed.emplace_back(graph_.bytes[datum], gone);
    }
    for (const Leaving& leaving : aside_) memory.leaving.push(leaving);
  }

  const PlanGraph& graph_;
  const std::span<const Placed> order_;
  const Memories rules_;
  std::vector<Number> next_;  // by use: the place of the next use of the datum in the same memory
  std::vector<Content> contents_;
  std::vector<Time> ready_at_;  // by task
  std::vector<Memory> memories_;
  std::vector<Leaving> aside_;
  Time elsewhere_end_;
  std::vector<Time> between_free_;  // by pair
  std::vector<Time> bridges_busy_;  // until then each carries some
  std::int64_t place_ = 0;
  Cost cost_;
};

}  // namespace

Memories Memories::first(std::uint32_t some) const {
  Memories fewer = *this;
  fewer.count = some;
  if (between.empty()) return fewer;
  fewer.between.clear();
  fewer.between_passes.clear();
  for (std::uint32_t from = 0; from < some; ++from) {
    for (std::uint32_t to = 0; to < some; ++to) {
      fewer.between.push_back(from_to(from, to));
      if (!between_passes.empty()) {
        fewer.between_passes.push_back(between_passes[std::size_t{from} * count + to]);
      }
    }
  }
  return fewer;
}

double Memories::links_at_once() const {
  if (in.value <= 0 || in_passes.empty()) return count;
  std::vector<BytesPerSecond> left = bridges;
  double sum = 0;
  for (const std::uint64_t passes : in_passes) {
    double rate = in.value;
    const auto each_passed = [&](const auto& call) {
      for (std::uint64_t bits = passes; bits != 0; bits &= bits - 1) {
        call(left[static_cast<std::size_t>(std::countr_zero(bits))].value);
      }
    };
    each_passed([&](double bridge) { rate = std::min(rate, bridge); });
    each_passed([&](double& bridge) { bridge -= rate; });
    sum += rate;
  }
  return sum / in.value;
}

Cost cost_of(const PlanGraph& graph, std::span<const Placed> order, const Memories& memories) {
  return Run(graph, order, memories).run();
}

}  // namespace vicinal::sched::orders::horizon
