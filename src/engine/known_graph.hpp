// Tasks that are known, as a graph that grows: what priorities are computed on, and what the policy plans on.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "graph/task.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

// What the graph says of a task beside its accesses.
struct TaskFacts {
  explicit TaskFacts(const graph::Task& task);

  graph::TaskKind kind = graph::TaskKind::compute;
  const Codelet* codelet = nullptr;  // to tell kernels apart; not read
  double flops = 0;
  ExpectedTimes times{};
  int priority = 0;
  bool synchronous = false;
  bool is_pushed = false;  // the policy will be given it
};

class KnownGraph {
 public:
  using Number = graph::Graph::Number;
  struct Access {
    graph::Handle* handle = nullptr;
    AccessMode mode = AccessMode::R;
  };

  // `name`: of its codelet. `before`: the tasks of the graph that it follows whatever their data.
  Number add(graph::Task& task, const TaskFacts& facts, std::string_view name,
             std::span<const Access> accesses, std::span<const Number> before);
  // The handle is about to be forgotten: from now on it is another datum.
  void forget(graph::Handle& handle);
  // The task has ended.
  void forget(std::size_t number) { tasks[number] = nullptr; }
  // Drops the tasks that are null, and what the others do not use. All get new numbers, in the same order.
  void shrink();

  graph::Graph graph;
  std::vector<graph::Task*> tasks;   // by number; null: it is not pushed, or has ended
  std::vector<graph::Handle*> data;  // by number; null: forgotten

 private:
  Number number_of(graph::Handle& handle);
  Number kernel_of(const TaskFacts& facts, std::string_view name);

  std::unordered_map<const graph::Handle*, Number> data_numbers_;
  // A codelet whose tasks have operations or times of their own is several kernels.
  std::map<std::tuple<graph::TaskKind, const Codelet*, double, ExpectedTimes>, Number>
      kernel_numbers_;
};

}  // namespace vicinal::engine
