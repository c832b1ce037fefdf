// A graph as the planner of `horizon` reads it: what each task touches, and who comes after whom, in arrays.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "vicinal/units.hpp"

namespace vicinal::sched::orders::horizon {

using Number = graph::Graph::Number;
inline constexpr Number kNone = std::numeric_limits<Number>::max();

// Lists by number, one behind the other. Filled in two passes: count each item, then place each.
class Lists {
 public:
  Lists() = default;
  explicit Lists(std::size_t lists) : ends_(lists + 1) {}
  void count(std::size_t list) { ++ends_[list + 1]; }
  void counted();
  void place(std::size_t list, Number item) { items_[ends_[list]++] = item; }
  // After the last one was placed.
  void placed();
  std::span<const Number> operator[](std::size_t list) const {
    return {items_.data() + ends_[list], ends_[list + 1] - ends_[list]};
  }
  std::size_t size() const { return ends_.size() - 1; }

 private:
  std::vector<std::size_t> ends_;
  std::vector<Number> items_;
};

struct Use {
  Number datum = 0;
  bool reads = false;   // its content has to be there
  bool writes = false;  // and is another afterwards
};

// Where a datum is before the first task.
struct Initially {
  std::uint64_t held = 0;  // memories that have it, a bit each
  std::uint32_t changed_in =
      kNone;  // the one that has its content alone; kNone: it is at home, too
};

// The longest path from each task on, itself included, in steps of a mean task: small differences of times, which are others in
// every run, put no tasks apart that are alike, so that these stay in the order of submission, in which neighbours share data.
// `successors`: each behind the task; `durations`: above 0.
std::vector<std::int64_t> paths_left(const Lists& successors, std::span<const Time> durations);

// Tasks in an order of their own: those that can come early first (by the number of tasks on the longest path to them),
// among these the ones with the longest path behind them, so that the order of submission decides little.
struct PlanGraph {
  std::vector<Number> number;          // by task here: its number in the graph
  std::vector<Use> uses;               // of all tasks, one behind the other; a datum once per task
  std::vector<std::size_t> first_use;  // by task; one more
  std::vector<Time> durations;         // by task
  std::vector<bool> elsewhere;  // by task: it runs where all data are at home, beside the memories
  Lists successors;             // by task; one may stand there twice
  std::vector<Number> predecessors;  // by task: how many
  std::vector<std::uint64_t> bytes;  // by datum
  std::vector<bool> has_home;        // by datum: its content is somewhere before the first task
  std::vector<Initially> initially;  // by datum; empty: no memory has any

  std::size_t tasks() const { return number.size(); }
  std::size_t data() const { return bytes.size(); }
  std::span<const Use> uses_of(Number task) const {
    return {uses.data() + first_use[task], first_use[task + 1] - first_use[task]};
  }
};

// `tasks`: numbers in the graph, rising; what the others do is past. `durations`: one for each of them, above 0;
// `elsewhere`, too, or none.
PlanGraph plan_graph(const graph::Graph& graph, std::span<const Number> tasks,
                     std::span<const Time> durations, const std::vector<bool>& elsewhere = {});

}  // namespace vicinal::sched::orders::horizon
