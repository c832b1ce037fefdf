#include "sched/policies/packaged_plan.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "sched/orders/balance.hpp"
#include "sched/orders/chains.hpp"
#include "sched/orders/dependency_order.hpp"
#include "sched/orders/hfp.hpp"
#include "sched/orders/horizon/horizon.hpp"
#include "sched/orders/mst.hpp"
#include "sched/orders/rcm.hpp"
#include "sched/policies/planned_memories.hpp"

namespace vicinal::sched::packaged {

namespace {

using orders::Number;
using orders::Order;
using orders::TaskInputs;

// From RAM; 0: not known, or it is RAM.
BytesPerSecond bandwidth_of(const MachineDescription& machine, NodeId node) {
  for (const LinkDescription& link : machine.links) {
    if (link.from == kRam && link.to == node) return link.bandwidth;
  }
  return {};
}

// The nodes that are to run the task by plan, a bit for each: of those that can, the accelerators, else all.
std::uint64_t planned_for(const graph::Task& task, const Nodes& nodes) {
  std::uint64_t all = 0;
  std::uint64_t accelerators = 0;
  for (NodeIndex i = 0; i < nodes.count(); ++i) {
    if (!nodes.able_worker(task, i)) continue;
    const std::uint64_t bit = std::uint64_t{1} << i;
    all |= bit;
    if (nodes.machine().nodes[nodes[i].id.value].kind == NodeKind::device) accelerators |= bit;
  }
  return accelerators != 0 ? accelerators : all;
}

// Tasks that the same nodes are to run.
struct Group {
  std::uint64_t mask = 0;
  std::vector<NodeIndex> nodes;
  std::vector<Number> tasks;
  std::vector<Time> durations;  // of each
  bool timed = true;            // all of them are known
};

std::vector<Group> groups_of(const KnownTasks& known, std::span<const Number> tasks,
                             const Nodes& nodes) {
  std::vector<Group> groups;
  for (const Number number : tasks) {
    const graph::Task* const task = known.tasks[number];
    const std::uint64_t mask = planned_for(*task, nodes);
    if (mask == 0) {
      throw std::logic_error("no worker can run the task " + std::string(task->name()));
    }
    auto group = std::ranges::find(groups, mask, &Group::mask);
    if (group == groups.end()) {
      groups.push_back({.mask = mask, .nodes = {}, .tasks = {}, .durations = {}});
      group = groups.end() - 1;
      for (std::uint64_t left = mask; left != 0; left &= left - 1) {
        group->nodes.push_back(static_cast<NodeIndex>(std::countr_zero(left)));
      }
    }
    const Time time = nodes.run_time(*task, group->nodes.front());
    group->tasks.push_back(number);
    group->durations.push_back(time);
    group->timed = group->timed && time > Time{0};
  }
  for (Group& group : groups) {
    if (!group.timed) std::ranges::fill(group.durations, kUnknownTime);
  }
  return groups;
}

// Ties are broken by places: those of the tasks by the data that they read, so that the order of submission, which
// may be any that keeps the dependencies, decides as little as can be.
void order_by_inputs(Group& group, const KnownTasks& known) {
  std::vector<std::vector<HandleId>> inputs;
  for (const Number task : group.tasks) {
    std::vector<HandleId>& read = inputs.emplace_back();
    for (const graph::Access& access : known.tasks[task]->accesses()) {
      if (reads(access.mode)) read.push_back(access.handle->id);
    }
    std::ranges::sort(read);
  }
  std::vector<std::size_t> places(group.tasks.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(
      places, {}, [&](std::size_t place) -> const auto& { return inputs[place]; });
  const Group before = group;
  for (std::size_t i = 0; i < places.size(); ++i) {
    group.tasks[i] = before.tasks[places[i]];
    group.durations[i] = before.durations[places[i]];
  }
}

Time length_of(const Order& package, std::span<const Time> durations) {
  Time sum;
  for (const Number task : package) sum += durations[task];
  return sum;
}

// Contiguous parts of equal work: a task belongs to the part in which its middle lies.
std::vector<Order> cut(const Order& order, std::span<const Time> durations, std::size_t count) {
  std::vector<Order> parts(count);
  const auto all = static_cast<double>(length_of(order, durations).ns);
  double before = 0;
  for (const Number task : order) {
    const auto length = static_cast<double>(durations[task].ns);
    const double middle = (before + length / 2) / all * static_cast<double>(count);
    parts[std::min(static_cast<std::size_t>(middle), count - 1)].push_back(task);
    before += length;
  }
  return parts;
}

class Planner {
 public:
  Planner(const PlanRules& rules, const Nodes& nodes) : rules_(rules), nodes_(nodes) {}

  // By node of the group; tasks by their place in it.
  std::vector<Order> packages(const Group& group, const TaskInputs& inputs) const {
    const std::size_t count = group.nodes.size();
    if (rules_.algorithm == Algorithm::mst) {
      return cut(orders::mst_order(inputs), group.durations, count);
    }
    if (rules_.algorithm == Algorithm::rcm) {
      return cut(orders::rcm_order(inputs), group.durations, count);
    }
    const MachineDescription& machine = nodes_.machine();
    Bytes memory = memory_of(machine, nodes_[group.nodes.front()].id);
    for (const NodeIndex node : group.nodes) {
      memory = std::min(memory, memory_of(machine, nodes_[node].id));
    }
    std::vector<Order> packages =
        orders::hfp_packages(inputs, {.memory = memory,
                                      .flip = rules_.flip,
                                      .count = count,
                                      .rounds_sizes = rules_.rounds_sizes});
    if (count > 1) even_out(packages, group, inputs, memory);
    return packages;
  }

 private:
  // Where times are not known by count.
  void even_out(std::vector<Order>& packages, const Group& group, const TaskInputs& inputs,
                Bytes memory) const {
    if (rules_.balance == Balance::none) return;
    if (rules_.balance == Balance::count || !group.timed) return orders::balance_counts(packages);
    if (rules_.balance == Balance::duration) {
      return orders::balance_durations(packages, group.durations);
    }
    orders::balance_simulated(
        packages, inputs, group.durations,
        {memory, bandwidth_of(nodes_.machine(), nodes_[group.nodes.front()].id)});
  }

  const PlanRules& rules_;
  const Nodes& nodes_;
};

// The longest package to the node with the least to do; the first on ties.
std::vector<NodeIndex> nodes_for(std::span<const Order> packages, const Group& group,
                                 std::vector<Time>& busy) {
  std::vector<NodeIndex> free = group.nodes;
  std::ranges::stable_sort(free, {}, [&](NodeIndex node) { return busy[node]; });
  std::vector<std::size_t> longest(packages.size());
  std::iota(longest.begin(), longest.end(), std::size_t{0});
  std::ranges::stable_sort(longest, std::ranges::greater(),
                           [&](std::size_t i) { return length_of(packages[i], group.durations); });
  std::vector<NodeIndex> nodes(packages.size());
  for (std::size_t i = 0; i < longest.size(); ++i) {
    nodes[longest[i]] = free[i];
    busy[free[i]] += length_of(packages[longest[i]], group.durations);
  }
  return nodes;
}

// Those of the memories by their numbers, as far as there is room: what was used last first.
std::vector<orders::horizon::Initially> initially(const Past& past,
                                                  std::span<const NodeIndex> nodes,
                                                  std::span<const std::uint64_t> bytes,
                                                  std::uint64_t room) {
  std::vector<std::size_t> latest(past.data.size());
  std::iota(latest.begin(), latest.end(), std::size_t{0});
  std::ranges::stable_sort(latest, std::ranges::greater(),
                           [&](std::size_t datum) { return past.data[datum].last_use; });
  std::vector<orders::horizon::Initially> result(past.data.size());
  std::vector<std::uint64_t> left(nodes.size(), room);
  for (const std::size_t datum : latest) {
    const Past::Datum& was = past.data[datum];
    for (std::uint32_t memory = 0; memory < nodes.size(); ++memory) {
      if ((was.nodes >> nodes[memory] & 1) == 0 || bytes[datum] > left[memory]) continue;
      left[memory] -= bytes[datum];
      result[datum].held |= std::uint64_t{1} << memory;
      if (was.changed_in == nodes[memory]) result[datum].changed_in = memory;
    }
  }
  return result;
}

// What horizon plans: tasks of all groups in one graph, for the memories of the nodes that most of them run on. The others
// run beside them.
class InMemories {
 public:
  // `tasks`: all of the groups, of which `main` is one.
  InMemories(const KnownTasks& known, std::span<const Number> tasks, std::span<const Group> groups,
             const Group& main, const Nodes& nodes, const Past& past)
      : other_(known.tasks.size(), kNoNode) {
    std::vector<Time> durations(known.tasks.size());
    for (const Group& group : groups) {
      for (std::size_t i = 0; i < group.tasks.size(); ++i) {
        durations[group.tasks[i]] =
            group.durations[i] + worker_of(nodes, group.nodes.front()).task_overhead;
        if (&group != &main) other_[group.tasks[i]] = group.nodes[i % group.nodes.size()];
      }
    }
    std::vector<Time> of_tasks;
    std::vector<bool> elsewhere;
    for (const Number task : tasks) {
      of_tasks.push_back(durations[task]);
      elsewhere.push_back(other_[task] != kNoNode);
    }
    graph_ = orders::horizon::plan_graph(known.graph, tasks, of_tasks, elsewhere);
    if (nodes[main.nodes.front()].id == kRam) {
      // What is at home there takes none of the room.
      for (Number datum = 0; datum < graph_.data(); ++datum) {
        if (known.graph.data()[datum].home == NodeKind::ram) graph_.bytes[datum] = 0;
      }
    }
    nodes_ = main.nodes;
    spread_over_bridges(nodes_, nodes);
    memories_ = memories_of(nodes, nodes_);
    graph_.initially = initially(past, nodes_, graph_.bytes, memories_.bytes);
  }

  // Noted in the plan: how copies come.
  void plan(Order& order, std::vector<NodeIndex>& node_of, Plan& plan) const {
    const orders::horizon::Planned best = orders::horizon::best_plan(graph_, memories_);
    for (const auto& [task, memory] : best.order) {
      const Number number = graph_.number[task];
      order.push_back(number);
      node_of[number] = graph_.elsewhere[task] ? other_[number] : nodes_[memory];
    }
    plan.ahead = {best.reserve};
    if (best.one_by_one) plan.one_by_one = nodes_.front();
  }

  // The same for an order that is given; each task behind its predecessors.
  Bytes room_ahead(const Order& order, const std::vector<NodeIndex>& node_of) const {
    std::vector<Number> task_of(other_.size());
    for (Number task = 0; task < graph_.tasks(); ++task) task_of[graph_.number[task]] = task;
    std::vector<orders::horizon::Placed> placed;
    for (const Number number : order) {
      const auto memory = std::ranges::find(nodes_, node_of[number]) - nodes_.begin();
      const Number task = task_of[number];
      placed.push_back({task, graph_.elsewhere[task] ? 0 : static_cast<std::uint32_t>(memory)});
    }
    return {orders::horizon::best_room_ahead(graph_, placed, memories_)};
  }

 private:
  std::vector<NodeIndex> other_;  // by number of the task: not of the memories
  orders::horizon::PlanGraph graph_;
  std::vector<NodeIndex> nodes_;  // of the memories
  orders::horizon::Memories memories_;
};

// Of tasks whose nodes are given: those on accelerators, if there are any, and the others.
std::vector<Group> groups_of_given(const KnownTasks& known, const Order& tasks,
                                   const std::vector<NodeIndex>& node_of, const Nodes& nodes) {
  std::vector<Group> groups;
  for (const bool on_devices : {true, false}) {
    Group group;
    for (const Number number : tasks) {
      const NodeIndex node = node_of[number];
      const NodeKind kind = nodes.machine().nodes[nodes[node].id.value].kind;
      if ((kind == NodeKind::device) != on_devices) continue;
      if (std::ranges::count(group.nodes, node) == 0) group.nodes.push_back(node);
      const Time time = nodes.run_time(*known.tasks[number], node);
      group.tasks.push_back(number);
      group.durations.push_back(time > Time{0} ? time : kUnknownTime);
    }
    if (!group.tasks.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

Plan plan(const KnownTasks& known, const PlanRules& rules, const Nodes& nodes, Past past,
          FollowedPlan* followed) {
  const TaskInputs all = orders::inputs_of(known.graph);
  const orders::Chains chains(known.graph);
  const Planner planner(rules, nodes);
  std::vector<NodeIndex> node_of(known.tasks.size());
  // What was planned before, then what is not the policy's, which delays none of the rest.
  Order order(known.planned_before);
  std::iota(order.begin(), order.end(), Number{0});
  Order tasks;  // to be planned
  std::vector<std::pair<std::uint32_t, Number>> given;
  for (std::size_t i = known.planned_before; i < known.tasks.size(); ++i) {
    const auto number = static_cast<Number>(i);
    if (known.tasks[i] == nullptr) {
      order.push_back(number);
    } else if (const auto place = followed ? followed->place_of(*known.tasks[i]) : std::nullopt) {
      node_of[number] = place->node;
      given.emplace_back(place->rank, number);
    } else {
      tasks.push_back(number);
    }
  }
  std::vector<Group> groups = groups_of(known, tasks, nodes);
  const bool has_blocks = rules.algorithm == Algorithm::horizon && !groups.empty();
  Plan plan;
  if (has_blocks) {
    const auto main =
        std::ranges::max_element(groups, {}, [](const Group& group) { return group.tasks.size(); });
    InMemories(known, tasks, groups, *main, nodes, past).plan(order, node_of, plan);
  }
  for (Group& group : has_blocks ? std::span<Group>() : std::span(groups)) {
    if (rules.algorithm == Algorithm::hfp) order_by_inputs(group, known);
    const std::vector<Order> packages =
        planner.packages(group, orders::inputs_of(all, group.tasks));
    const std::vector<NodeIndex> chosen = nodes_for(packages, group, past.busy);
    for (std::size_t i = 0; i < packages.size(); ++i) {
      for (const Number place : packages[i]) {
        order.push_back(group.tasks[place]);
        node_of[order.back()] = chosen[i];
      }
      if (rules.algorithm == Algorithm::hfp) {
        chains.straighten(std::span(order).last(packages[i].size()));
      }
    }
  }
  std::ranges::sort(given);
  std::vector<bool> is_given(known.tasks.size());
  for (const auto& [rank, task] : given) {
    order.push_back(task);
    is_given[task] = true;
  }
  Order followed_order;
  for (const Number task : orders::respecting_dependencies(order, known.graph)) {
    const bool is_new = task >= known.planned_before && known.tasks[task] != nullptr;
    if (is_new) plan.tasks.push_back({known.tasks[task], node_of[task]});
    if (is_given[task]) followed_order.push_back(task);
  }
  if (!followed_order.empty()) {
    const std::vector<Group> of_given = groups_of_given(known, followed_order, node_of, nodes);
    Order by_number = followed_order;
    std::ranges::sort(by_number);
    plan.ahead = InMemories(known, by_number, of_given, of_given.front(), nodes, past)
                     .room_ahead(followed_order, node_of);
  }
  return plan;
}

}  // namespace vicinal::sched::packaged
