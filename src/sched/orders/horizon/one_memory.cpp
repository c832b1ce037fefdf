#include "sched/orders/horizon/one_memory.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace vicinal::sched::orders::horizon {

namespace {

class OneMemory {
 public:
  OneMemory(const PlanGraph& graph, std::span<const Number> order, const Memory& memory)
      : graph_(graph),
        order_(order),
        memory_(memory),
        next_(graph.uses.size(), kNone),
        data_(graph.data()),
        ready_at_(graph.tasks()) {
    for (std::uint32_t worker = 0; worker < memory.workers; ++worker) free_.push({});
    std::vector<Number> later(graph.data(), kNone);
    for (std::size_t place = order.size(); place-- > 0;) {
      for (std::size_t i = first(order[place]); i < graph.first_use[order[place] + 1]; ++i) {
        next_[i] = std::exchange(later[graph.uses[i].datum], static_cast<Number>(place));
      }
    }
    for (Number datum = 0; datum < graph.data(); ++datum) {
      data_[datum].exists = graph.has_home[datum];
    }
  }

  Cost run() {
    for (const Number task : order_) step(task);
    Time last;
    for (; !free_.empty(); free_.pop()) last = std::max(last, free_.top());
    // Results stay where they are; who wants them at home pays for that.
    cost_.time = std::max({last, in_free_, out_free_});
    return cost_;
  }

 private:
  struct Datum {
    bool there = false;
    bool changed = false;    // since it was last written out
    bool exists = false;     // its content is somewhere
    Number next = kNone;     // place of its next use
    Number held_by = kNone;  // the task that is about to run
    Time free_from;          // the last task that used it has ended
  };
  // The place of the next use, the last goes first; that of the last use, negative: the first goes first; and the datum.
  using Leaving = std::tuple<Number, std::int64_t, Number>;

  std::size_t first(Number task) const { return graph_.first_use[task]; }

  void step(Number task) {
    const auto uses = graph_.uses_of(task);
    current_ = task;
    for (const Use& use : uses) data_[use.datum].held_by = task;
    ++place_;
    Time room_at;
    Time operands_at;
    for (const Use& use : uses) {
      Datum& datum = data_[use.datum];
      if (datum.there) continue;
      const std::uint64_t bytes = graph_.bytes[use.datum];
      room_at = std::max(room_at, make_room(bytes));
      used_ += bytes;
      datum.there = true;
      if (!use.reads || !datum.exists) continue;
      cost_.loaded += bytes;
      in_free_ = std::max(in_free_, room_at) + duration_of(bytes, memory_.in);
      operands_at = in_free_;
    }
    const Time start = std::max({free_.top(), room_at, operands_at, ready_at_[task]});
    free_.pop();
    const Time end = start + graph_.durations[task];
    free_.push(end);
    for (const Number after : graph_.successors[task]) {
      ready_at_[after] = std::max(ready_at_[after], end);
    }
    for (std::size_t i = first(task); i < graph_.first_use[task + 1]; ++i) {
      const Use& use = graph_.uses[i];
      Datum& datum = data_[use.datum];
      datum.next = next_[i];
      datum.free_from = std::max(datum.free_from, end);
      datum.changed |= use.writes;
      datum.exists |= use.writes;
      leaving_.emplace(datum.next, -place_, use.datum);
    }
  }

  static Time duration_of(std::uint64_t bytes, BytesPerSecond rate) {
    return rate.value > 0 ? duration(Bytes{bytes}, rate) : Time{};
  }

  // When so much is free. What does not fit even alone is let in.
  Time make_room(std::uint64_t bytes) {
    Time at;
    aside_.clear();
    while (used_ + bytes > memory_.bytes && !leaving_.empty()) {
      const auto [next, used_at, number] = leaving_.top();
      leaving_.pop();
      Datum& datum = data_[number];
      if (!datum.there || datum.next != next) continue;
      if (datum.held_by == current_) {
        aside_.emplace_back(next, used_at, number);
        continue;
      }
      datum.there = false;
      used_ -= graph_.bytes[number];
      Time free = datum.free_from;
      if (std::exchange(datum.changed, false)) {
        cost_.written += graph_.bytes[number];
        out_free_ = std::max(out_free_, free) + duration_of(graph_.bytes[number], memory_.out);
        free = out_free_;
      }
      at = std::max(at, free);
    }
    for (const Leaving& leaving : aside_) leaving_.push(leaving);
    return at;
  }

  const PlanGraph& graph_;
  const std::span<const Number> order_;
  const Memory memory_;
  std::vector<Number> next_;  // by use: the place of the next use of the datum
  std::vector<Datum> data_;
  std::vector<Time> ready_at_;  // by task
  std::priority_queue<Leaving> leaving_;
  std::vector<Leaving> aside_;
  std::priority_queue<Time, std::vector<Time>, std::greater<>> free_;  // workers
  Time in_free_;
  Time out_free_;
  std::uint64_t used_ = 0;
  Number current_ = kNone;
  std::int64_t place_ = 0;
  Cost cost_;
};

}  // namespace

Cost cost_of(const PlanGraph& graph, std::span<const Number> order, const Memory& memory) {
  return OneMemory(graph, order, memory).run();
}

}  // namespace vicinal::sched::orders::horizon
