// xkaapi and rws: work stealing on cores and accelerators, with and without locality (XKaapi: Lima et al. 2013,
// section 4).
//
// Each worker has a list of its own, to whose front it puts what it releases and from whose front it takes, and a
// mailbox, into which others push what they find to be nearer to it, first in, first out. It looks into its
// mailbox, then into its list, then at a victim, drawn evenly from those that have a task which it can run (to draw
// until one has is the same): it gets the oldest of the victim's list, else the newest of its mailbox.
//
// Where a task that becomes ready goes:
//   push=h1     to the node on which most bytes of its operands are valid. RAM, and the node that released it, mean the
//               releasing worker's own list, where it stays on ties
//   push=h2     to the first accelerator that holds an operand which is written, if this is not valid where the task
//               was released; the operands are asked in their order (paper: any of the accelerators, by lot)
//   push=local  never elsewhere. This alone, without settings, is rws
//
// An accelerator has two tasks in flight, copied for or running, and cores beside accelerators one each: what has
// been taken is not stolen any more.
//
// Departures from the reference: the heuristics are asked for tasks released by cores and by the application, too.
// What the application releases and what stays there lies in a list of its own, from which all steal as from a
// worker's (XKaapi: that of the main thread, which is a worker). The first task in the mailbox of a worker that waits
// is not stolen: there a worker looks into its mailbox all the time. What a worker releases and cannot run stays in its
// list for those that can. A task that is bound to a worker goes to it directly, and is not stolen. Priorities do not
// count (XKaapi has eight, the paper uses none). Under h1 XKaapi gives ties to the first node of all; the paper says
// nothing of them. With tiles of one size they are the rule, and each one took a tile from the node that had written
// it: Cholesky of 40 x 40 tiles of 1024 on eight GPUs of idgraf loaded 84 GiB, 60 so, and 71 under rws.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/sure_memory.hpp"
#include "sched/decisions.hpp"
#include "sched/nodes.hpp"
#include "sched/policy.hpp"
#include "sched/priority_list.hpp"

namespace vicinal::sched {
namespace {

enum class Push : std::uint8_t { most_valid, written, local };

struct StealingStrategy {
  std::string_view name;
  Push push = Push::local;
  std::uint32_t window = 2;  // tasks in flight of an accelerator; 0: no window
};

struct Lists {
  TaskDeque own;      // the newest first
  TaskDeque mailbox;  // the oldest first; its worker can run all of them
  TaskDeque bound;    // as the mailbox, for its worker alone
  // Its worker has room for a task, found none when it asked last, and is woken for what comes into the mailbox.
  bool waits = true;
};

struct Victim {
  std::size_t lists = 0;
  graph::Task* task = nullptr;  // that a thief would get
};

class Stealing final : public Policy {
 public:
  explicit Stealing(const StealingStrategy& strategy) : strategy_(strategy) {}
  std::string_view name() const override { return strategy_.name; }
  PolicyTraits traits() const override { return {.in_flight = strategy_.window}; }

  void start(PolicyContext& context) override {
    context_ = &context;
    decisions_.start(context);
    nodes_.start(context);
    lists_.resize(context.machine().workers.size() + 1);
  }

  void push(graph::Task& task, WorkerId releasing) override {
    if (const std::optional<WorkerId> only = task.only_worker()) {
      lists_of(*only).bound.push_back(task);
      return context_->wake(*only);
    }
    const NodeId here = releasing == kNoWorker ? kRam : nodes_.id_of(releasing);
    if (const std::optional<WorkerId> there = choose(task, here)) {
      lists_of(*there).mailbox.push_back(task);
      return context_->wake(*there);
    }
    lists_of(releasing).own.push_front(task);
    if (decisions_.heard() && releasing != kNoWorker) {
      decisions_.tell_home(task, trace::Reason::released_here, releasing);
    }
  }

  graph::Task* pop(WorkerId worker) override {
    graph::Task* task = take_own(worker);
    if (task == nullptr) task = steal(worker);
    lists_of(worker).waits = task == nullptr;
    return task;
  }

 private:
  Lists& lists_of(WorkerId worker) {
    return worker == kNoWorker ? lists_.back() : lists_[worker.value];
  }
  // --- where a ready task goes

  // Of the node's workers the first that can run it.
  std::optional<WorkerId> worker_for(const graph::Task& task, NodeId id) const {
    const NodeIndex node = nodes_.find(id);
    return node == kNoNode ? std::nullopt : nodes_.able_worker(task, node);
  }
  std::size_t count() const { return context_->machine().nodes.size(); }  // of memory nodes
  // None: it stays where it was released.
  std::optional<WorkerId> choose(const graph::Task& task, NodeId here) {
    switch (strategy_.push) {
      case Push::most_valid:
        return most_valid(task, here);
      case Push::written:
        return who_holds_written(task, here);
      case Push::local:
        break;
    }
    return std::nullopt;
  }

  std::optional<WorkerId> most_valid(const graph::Task& task, NodeId here) {
    std::array<std::int64_t, graph::NodeMask::kMostNodes> valid{};
    for (const graph::Access& access : task.accesses()) {
      const std::uint64_t nodes = context_->presence(*access.handle).valid;
      for (std::size_t n = 0; n < count(); ++n) {
        if ((nodes >> n & 1) != 0)
          valid[n] += static_cast<std::int64_t>(access.handle->bytes().value);
      }
    }
    // In the order in which they win ties.
    asked_.assign({here});
    if (here != kRam) asked_.push_back(kRam);
    for (NodeId node{1}; node.value < count(); ++node.value) {
      if (node != here && worker_for(task, node)) asked_.push_back(node);
    }
    const NodeId most =
        *std::ranges::max_element(asked_, {}, [&](NodeId node) { return valid[node.value]; });
    if (decisions_.heard()) {
      decisions_.about(task, trace::Reason::most_valid_bytes, trace::Among::nodes)
          .each(asked_,
                [&](NodeId node) {
                  return Choice{{node.value, {{trace::Measure::valid_bytes, valid[node.value]}}},
                                node == most};
                })
          .tell();
    }
    if (most == kRam || most == here) return std::nullopt;
    return worker_for(task, most);
  }

  // The first operand that is written, is valid on the node and not where the task was released.
  std::optional<std::int64_t> written_there(const graph::Task& task, NodeId here,
                                            NodeId there) const {
    std::int64_t number = 0;
    for (const graph::Access& access : task.accesses()) {
      const std::uint64_t valid = context_->presence(*access.handle).valid;
      const auto is_valid = [&](NodeId node) { return (valid >> node.value & 1) != 0; };
      if (writes(access.mode) && is_valid(there) && !is_valid(here)) return number;
      ++number;
    }
    return std::nullopt;
  }

  std::optional<WorkerId> who_holds_written(const graph::Task& task, NodeId here) const {
    std::optional<Telling> decision;
    if (decisions_.heard()) {
      decision = decisions_.about(task, trace::Reason::holds_written, trace::Among::nodes);
    }
    std::optional<WorkerId> chosen;
    std::int64_t least = 0;
    for (NodeId node{1}; node.value < count(); ++node.value) {
      const std::optional<std::int64_t> operand = written_there(task, here, node);
      const std::optional<WorkerId> worker = operand ? worker_for(task, node) : std::nullopt;
      if (!worker) continue;
      const bool better = !chosen || *operand < least;
      if (better) {
        chosen = worker;
        least = *operand;
      }
      if (decision) {
        decision->consider({node.value, {{trace::Measure::operand, *operand}}}, better);
      }
    }
    if (decision && chosen) decision->tell();
    return chosen;
  }

  // --- what a worker is given

  graph::Task* take_own(WorkerId worker) {
    Lists& lists = lists_of(worker);
    for (TaskDeque* const mail : {&lists.bound, &lists.mailbox}) {
      graph::Task* const task = decisions_.take_first(*mail, worker, trace::Reason::first_pushed);
      if (task != nullptr) return task;
    }
    return decisions_.take_first(lists.own, worker, trace::Reason::last_pushed);
  }

  graph::Task* steal(WorkerId thief) {
    victims_.clear();
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (i == thief.value) continue;
      if (graph::Task* const task = stealable(i, thief)) victims_.push_back({i, task});
    }
    if (victims_.empty()) return nullptr;
    const double drawn = context_->random().uniform();
    const Victim& victim =
        victims_[static_cast<std::size_t>(drawn * static_cast<double>(victims_.size()))];
    if (decisions_.heard()) tell_theft(thief, victim, drawn);
    Lists& lists = lists_[victim.lists];
    const auto is_it = [&](const graph::Task& task) { return &task == victim.task; };
    const bool in_own = lists.own.find_last_of_highest(is_it) != nullptr;
    (in_own ? lists.own : lists.mailbox).remove(*victim.task);
    return victim.task;
  }

  // Who waits keeps the first that was pushed to it: whoever releases a task asks before the one that it wakes.
  graph::Task* stealable(std::size_t victim, WorkerId thief) const {
    const Lists& lists = lists_[victim];
    const auto can_run = [&](const graph::Task& task) { return context_->can_run(task, thief); };
    graph::Task* const oldest = lists.own.find_last_of_highest(can_run);
    if (oldest != nullptr) return oldest;
    graph::Task* const newest = lists.mailbox.find_last_of_highest(can_run);
    if (newest == nullptr || !lists.waits) return newest;
    const bool is_first =
        newest == lists.mailbox.find_first([](const graph::Task& /*any*/) { return true; });
    return is_first && !context_->away(WorkerId{static_cast<std::uint32_t>(victim)}) ? nullptr
                                                                                     : newest;
  }

  void tell_theft(WorkerId thief, const Victim& chosen, double drawn) const {
    const auto id_of_lists = [&](std::size_t lists) {
      return lists + 1 == lists_.size() ? kNoWorker.value : static_cast<std::uint32_t>(lists);
    };
    decisions_.asked_by(thief, trace::Reason::drawn_victim, trace::Among::workers)
        .of(*chosen.task)
        .draw(drawn)
        .each(victims_,
              [&](const Victim& victim) {
                return Choice{{id_of_lists(victim.lists), {}}, &victim == &chosen};
              })
        .tell();
    const Lists& lists = lists_[chosen.lists];
    decisions_.tell_first(*chosen.task, thief, trace::Reason::oldest_of_victim,
                          [&](const auto& name) {
                            if (lists.own.find_last_of_highest(name) != nullptr) return;
                            lists.mailbox.find_last_of_highest(name);
                          });
  }

  const StealingStrategy strategy_;
  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  base::SureDeque<Lists> lists_;  // by worker, then the application's
  Nodes nodes_;
  base::SureVector<NodeId> asked_;    // of the task that is pushed
  base::SureVector<Victim> victims_;  // of the current theft
};

}  // namespace

std::unique_ptr<Policy> make_rws(const Settings& /*none*/) {
  return std::make_unique<Stealing>(StealingStrategy{.name = "rws"});
}

std::unique_ptr<Policy> make_xkaapi(const Settings& settings) {
  const std::string_view push = settings.text("push");
  StealingStrategy strategy{.name = "xkaapi",
                            .window = static_cast<std::uint32_t>(settings.number("window"))};
  if (push == "h1") strategy.push = Push::most_valid;
  if (push == "h2") strategy.push = Push::written;
  return std::make_unique<Stealing>(strategy);
}

}  // namespace vicinal::sched
