// Copies that a plan asks for before the tasks that read them are ready, let alone popped: in the order of the plan, as far
// as the room goes that the plan leaves to them. And which task would come too early: its copies would take the room
// of those that the plan has before it.
//
// Methods are called inside those of the policy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/sure_memory.hpp"
#include "graph/task.hpp"
#include "sched/nodes.hpp"
#include "sched/policy.hpp"

namespace vicinal::sched {

class CopiesAhead {
 public:
  // Where a task stands. The policy keeps it with the task.
  struct Place {
    static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
    std::uint64_t number = kNowhere;  // in the plan of its node
    Bytes asked;                      // for it
  };

  void start(PolicyContext& context, const Nodes& nodes) {
    context_ = &context;
    nodes_ = &nodes;
    lists_.resize(nodes.count());
  }

  // So much may be on its way, or there, for tasks that have not been popped. `one_by_one`: the copies of a task wait for
  // the end of the task before.
  void allow(NodeIndex node, Bytes most, bool one_by_one) {
    lists_[node].most = most;
    lists_[node].one_by_one = one_by_one;
  }

  // Behind all that were expected on the node. Called while the task is planned: what it reads is noted then, for
  // afterwards the graph may be writing to the accesses of a task that is not ready.
  void expect(graph::Task& task, NodeIndex node, Place& place) {
    List& list = lists_[node];
    place.number = list.first + list.tasks.size();
    Expected next{&task, &place, list.first_operand + list.operands.size(), 0};
    for (const graph::Access& access : task.accesses()) {
      if (!reads(access.mode)) continue;
      list.operands.push_back(access.handle);
      ++next.operands;
    }
    list.tasks.push_back(next);
  }

  // The task has been popped, goes elsewhere or has ended. Nothing happens if it is nowhere.
  void forget(NodeIndex node, Place& place) {
    if (place.number == Place::kNowhere) return;
    List& list = lists_[node];
    Expected& expected = list.tasks[place.number - list.first];
    for (std::uint64_t i = 0; place.asked.value > 0 && i < expected.operands; ++i) {
      const auto asked = list.asked.find(list.operand(expected, i));
      if (asked != list.asked.end() && asked->second == place.number) list.asked.erase(asked);
    }
    list.ahead -= place.asked;
    expected.task = nullptr;
    place = {};
    while (!list.tasks.empty() && list.tasks.front().task == nullptr) list.drop_first();
    list.looked_at = std::max(list.looked_at, list.first);
  }

  void ask(NodeIndex node) {
    List& list = lists_[node];
    for (; list.looked_at < list.first + list.tasks.size(); ++list.looked_at) {
      const Expected& next = list.tasks[list.looked_at - list.first];
      if (next.task == nullptr) continue;
      if (list.ahead >= list.most) return;
      ask_for(next, node);
    }
  }

  // None that was expected on the node before it is to come any more. Also if it is nowhere.
  bool is_next(NodeIndex node, const Place& place) const {
    return place.number == Place::kNowhere || place.number == lists_[node].first;
  }

  // It stands far behind the first one of its node, and lacks data there. Where tasks run one by one, any task that lacks
  // data or room for its results is early.
  bool is_early(const graph::Task& task, NodeIndex node, const Place& place) const {
    if (place.number == Place::kNowhere) return false;
    const List& list = lists_[node];
    const std::uint64_t at_once = kAtOnce + (*nodes_)[node].workers.size();
    if (!list.one_by_one && place.number <= list.first + at_once) return false;
    return std::ranges::any_of(task.accesses(), [&](const graph::Access& access) {
      return (list.one_by_one || reads(access.mode)) && !is_there(*access.handle, node);
    });
  }

 private:
  // And one for each worker. What is ready further behind has copies on their way when its turn comes.
  static constexpr std::uint64_t kAtOnce = 4;

  struct Expected {
    graph::Task* task = nullptr;  // null: it is not to come any more
    Place* place = nullptr;
    std::uint64_t first_operand = 0;  // number of the first datum that it reads
    std::uint64_t operands = 0;
  };
  struct List {
    Bytes most;
    Bytes ahead;
    bool one_by_one = false;
    base::SureDeque<Expected> tasks;
    std::uint64_t first = 0;                   // number of the first of them
    std::uint64_t looked_at = 0;               // number of the next one that may be asked for
    base::SureDeque<graph::Handle*> operands;  // of the tasks, one behind the other
    std::uint64_t first_operand = 0;           // number of the first of them
    base::SureUnorderedMap<const graph::Handle*, std::uint64_t> asked;  // for which number

    graph::Handle* operand(const Expected& of, std::uint64_t i) const {
      return operands[of.first_operand - first_operand + i];
    }
    void drop_first() {
      const std::uint64_t count = tasks.front().operands;
      operands.erase(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(count));
      first_operand += count;
      tasks.pop_front();
      ++first;
    }
  };

  bool is_there(const graph::Handle& handle, NodeIndex node) const {
    return (context_->presence(handle).on_node >> (*nodes_)[node].id.value & 1) != 0;
  }

  void ask_for(const Expected& next, NodeIndex node) {
    List& list = lists_[node];
    Place& place = *next.place;
    for (std::uint64_t i = 0; i < next.operands; ++i) {
      graph::Handle& handle = *list.operand(next, i);
      if (is_there(handle, node)) continue;
      if (!list.asked.emplace(&handle, place.number).second) continue;
      context_->load(*next.task, handle, (*nodes_)[node].id, nullptr);
      place.asked += handle.bytes();
    }
    list.ahead += place.asked;
  }

  PolicyContext* context_ = nullptr;
  const Nodes* nodes_ = nullptr;
  std::vector<List> lists_;  // by node
};

}  // namespace vicinal::sched
