// owner, load, directed, touch and ap: a task is given to a memory node by where its data belong, and waits there for
// the node's workers. Bouteiller et al. 2025, section 3.1; Gonthier et al. 2024, section 4.4.
//
// The rule is that of PaRSEC (placement/device_selection.hpp); the policies differ in which operands take part:
//   owner     those that are written
//   load, ap  all
//   directed  all, and a task whose written operands belong nowhere follows what it reads (the paper's "inherited
//             mapping"); before them the node that the task names
//   touch     the same, but data belong to accelerators to which they are dealt by lot when one is to use them first;
//             advice does not count
// The nodes of the accelerators that can run a task are asked; RAM only where there is none, or where cores end the task
// before any of them (placement/cores.hpp; setting cores=last: not then either, as in PaRSEC). The end of a task is
// predicted as if all that was placed on a node, and has not ended, were done by all of its workers at once.
//
// The first four place a task when it becomes ready; a node runs its tasks by priority. Under ap, PaRSEC's absolute
// priority, ready tasks wait in one list, highest priority first, until a worker asks: then all of them are given to
// accelerators, and each of these runs its tasks in the order in which it was given them. What becomes ready later
// comes after them, whatever its priority. Tasks for cores wait in RAM, by priority, for whoever has nothing else.
// PaRSEC takes the peak speeds of the devices in place of times; here tasks whose time is not known count alike.
// An owner stays one when its replica is evicted: the paper lets it go then, PaRSEC's code does not.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sure_memory.hpp"
#include "sched/decisions.hpp"
#include "sched/load.hpp"
#include "sched/nodes.hpp"
#include "sched/placement/cores.hpp"
#include "sched/placement/device_selection.hpp"
#include "sched/policy.hpp"
#include "sched/priority_list.hpp"
#include "sched/records.hpp"
#include "sched/theft.hpp"

namespace vicinal::sched {
namespace {

using placement::Device;
using placement::Flow;
using trace::Measure;

// What an operand that is only read does.
enum class Reads : std::uint8_t {
  ignored,
  weighed,   // as PaRSEC has it
  followed,  // after the written ones, as if it were written
};

struct PlacingStrategy {
  std::string_view name;
  Reads reads = Reads::ignored;
  bool names = false;  // the node that a task names counts first
  bool follows_advice = true;
  bool draws = false;     // data are dealt by lot
  bool absolute = false;  // absolute priority
  double skew = 0;        // per cent
  bool cores = true;      // take what they end first
};

// Who is asked whether it can run a task: cores only where no accelerator can.
enum class Able : std::uint8_t { any, cores };

struct Placed {
  graph::Task* task = nullptr;
  Placed* previous = nullptr;  // in the queue
  Placed* next = nullptr;
  int rank = 0;
  NodeIndex node = kNoNode;
  std::int64_t run_ns = 0;  // that it adds to the node's load
};

struct PlacedLinks : MemberLinks<Placed> {
  static int priority(const Placed& placed) { return placed.rank; }
};

struct PlacingNode {
  PriorityList<Placed, PlacedLinks> queue;
  Load load;
};

// Of a task whose time is not known: then the number of tasks counts.
constexpr std::int64_t kUnknownRunTime = 1'000'000;

// The node on which a datum was written last, or is being written. It is set when the task that writes is given to
// the node: what else uses the datum becomes ready only when that has ended. A number in place of the pointer: nothing is
// allocated for a datum.
std::optional<NodeId> owner_of(const graph::Handle& handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle.policy_data);
  if (number == 0) return std::nullopt;
  return NodeId{static_cast<std::uint32_t>(number - 1)};
}
void set_owner(graph::Handle& handle, NodeId node) {
  handle.policy_data = reinterpret_cast<void*>(std::uintptr_t{node.value} + 1);
}
void set_owner_of_written(const graph::Task& task, NodeId node) {
  for (const graph::Access& access : task.accesses()) {
    if (leaves_content(access.mode)) set_owner(*access.handle, node);
  }
}

class Placing final : public Policy {
 public:
  explicit Placing(const PlacingStrategy& strategy) : strategy_(strategy) {}
  std::string_view name() const override { return strategy_.name; }
  PolicyTraits traits() const override {
    return {.wants_ends = true, .wants_run_times = true, .follows_placement = strategy_.names};
  }
  void start(PolicyContext& context) override {
    context_ = &context;
    decisions_.start(context);
    nodes_.start(context);
    queues_ = std::vector<PlacingNode>(nodes_.count());
  }

  void push(graph::Task& task, WorkerId /*releasing*/) override {
    const bool for_cores = strategy_.cores && placement::cores_end_first(task, *context_);
    find_devices(task, for_cores ? Able::cores : Able::any);
    if (!strategy_.absolute) return place(task);
    if (devices_.front().node == kRam) return enqueue(task, devices_.front());
    unplaced_.push_back(task);
  }

  graph::Task* pop(WorkerId worker) override {
    while (graph::Task* const task = unplaced_.pop_front()) {
      find_devices(*task, Able::any);
      place(*task);
    }
    const NodeIndex here = nodes_.of(worker);
    Placed* placed = first_for(worker, here);
    if (placed == nullptr && shared() != kNoNode) placed = first_for(worker, shared());
    if (placed == nullptr) placed = left_behind(worker);
    if (placed == nullptr) return nullptr;
    if (decisions_.heard()) tell_given(*placed, worker);
    PlacingNode& from = queues_[placed->node];
    from.queue.remove(*placed);
    from.load.take_out(placed->run_ns);
    queues_[here].load.give(placed->run_ns);
    placed->node = here;
    if (!strategy_.draws) set_owner_of_written(*placed->task, nodes_[here].id);
    return placed->task;
  }

  void task_done(graph::Task& task, WorkerId /*worker*/) override {
    const Placed& placed = records_.of(task);
    queues_[placed.node].load.end(placed.run_ns);
    records_.close(task);
  }

  void data_forgotten(graph::Handle& handle) override { handle.policy_data = nullptr; }

 private:
  // On one of `devices_`.
  void place(graph::Task& task) {
    if (strategy_.draws) deal(task);
    const placement::Selection selection = select(task);
    if (decisions_.heard()) tell(task, selection);
    enqueue(task, devices_[selection.device]);
  }

  void enqueue(graph::Task& task, const Device& device) {
    const NodeIndex node = nodes_.find(device.node);
    Placed& placed = records_.open(task);
    const bool in_order = strategy_.absolute && device.node != kRam;
    placed = {.task = &task,
              .rank = in_order ? 0 : task.priority,
              .node = node,
              .run_ns = device.estimate_ns};
    queues_[node].queue.push_back(placed);
    queues_[node].load.queue(placed.run_ns);
    if (in_order) set_owner_of_written(task, device.node);
    if (strategy_.absolute && !in_order) return;
    if (!strategy_.absolute) context_->prefetch(task, device.node);
    const auto& workers = nodes_[node].workers;
    for (const WorkerId worker : workers) {
      if (in_order || workers.size() == 1 || task.only_worker() == worker) context_->wake(worker);
    }
  }

  // Data that no accelerator has used.
  void deal(const graph::Task& task) {
    if (devices_.front().node == kRam) return;
    for (const graph::Access& access : task.accesses()) {
      if (owner_of(*access.handle) || access.mode == AccessMode::scratch) continue;
      const double drawn = context_->random().uniform();
      const auto number = static_cast<std::size_t>(drawn * static_cast<double>(devices_.size()));
      const Device& lot = devices_[std::min(number, devices_.size() - 1)];
      set_owner(*access.handle, lot.node);
      if (!decisions_.heard()) continue;
      const auto choice = [&](const Device& on) {
        return Choice{{on.node.value, {{Measure::run, 0}}}, &on == &lot};
      };
      decisions_.about(task, trace::Reason::drawn, trace::Among::nodes)
          .of(*access.handle)
          .draw(drawn)
          .each(devices_, choice)
          .tell();
    }
  }

  // --- the choice of a node

  void add_device(const graph::Task& task, NodeId id) {
    const NodeIndex node = nodes_.find(id);
    const auto able = node == kNoNode ? std::nullopt : nodes_.able_worker(task, node);
    if (!able) return;
    const std::int64_t known = context_->run_time(task, *able).ns;
    const std::int64_t workers = strategy_.absolute ? 1 : nodes_.workers(node);
    devices_.push_back({.node = id,
                        .load_ns = queues_[node].load.left_ns(),
                        .estimate_ns = std::max<std::int64_t>(
                            1, (known > 0 ? known : kUnknownRunTime) / workers)});
  }

  void find_devices(const graph::Task& task, Able able) {
    devices_.clear();
    for (auto number = static_cast<std::uint32_t>(context_->machine().nodes.size());
         able == Able::any && --number > kRam.value;) {
      add_device(task, NodeId{number});
    }
    if (devices_.empty()) add_device(task, kRam);
    if (!devices_.empty()) return;
    throw std::logic_error(std::string(name()) + ": no worker can run the ready task " +
                           std::string(task.name()));
  }

  Flow flow_of(const graph::Access& access) const {
    const graph::Handle& handle = *access.handle;
    Flow flow{.written = writes(access.mode)};
    if (!flow.written && strategy_.reads == Reads::ignored) return flow;
    if (strategy_.follows_advice) flow.preferred = handle.preferred();
    flow.owner = owner_of(handle);
    const bool follows = !flow.written && strategy_.reads == Reads::followed;
    if (follows && !flow.preferred) flow.preferred = flow.owner;
    return flow;
  }

  placement::Selection select(const graph::Task& task) {
    flows_.clear();
    const std::optional<NodeId> named = strategy_.names ? task.named_node() : std::nullopt;
    if (!named) {
      for (const graph::Access& access : task.accesses()) flows_.push_back(flow_of(access));
    }
    const placement::Selection selection =
        placement::select_device(flows_, devices_, strategy_.skew);
    if (!named) return selection;
    const auto there = std::ranges::find(devices_, *named, &Device::node);
    if (there == devices_.end()) return {selection.device, trace::Reason::named_cannot_run};
    return {static_cast<std::size_t>(there - devices_.begin()), trace::Reason::named_by_task};
  }

  void tell(const graph::Task& task, const placement::Selection& selection) const {
    Telling told = decisions_.about(task, selection.reason, trace::Among::nodes);
    if (strategy_.names) told.node = task.named_node();
    for (const Device& on : devices_) {
      trace::Candidate candidate{on.node.value,
                                 {{Measure::run, on.estimate_ns},
                                  {Measure::end, on.end_ns},
                                  {Measure::weighed_end, on.weighed_ns}}};
      if (on.operand) candidate.scores.push_back({Measure::operand, *on.operand});
      told.consider(std::move(candidate), &on == &devices_[selection.device]);
    }
    told.tell();
  }

  // --- what a worker is given

  // The node whose tasks go to workers of any node that have nothing else.
  NodeIndex shared() const { return strategy_.absolute ? nodes_.find(kRam) : kNoNode; }
  Placed* first_for(WorkerId worker, NodeIndex node) const {
    return queues_[node].queue.find_first(
        [&](const Placed& queued) { return context_->can_run(*queued.task, worker); });
  }
  // Of the longest queue that has one for this worker, and nobody else who is there to run it.
  Placed* left_behind(WorkerId worker) const {
    return find_where_most(
        nodes_.count(), [&](NodeIndex node) { return queues_[node].load.queued(); },
        [&](NodeIndex node) { return left_behind(worker, node); });
  }

  Placed* left_behind(WorkerId worker, NodeIndex node) const {
    const ComputeNode& there = nodes_[node];
    const std::size_t present = nodes_.present_workers(node);
    if (there.one_kind ? present > 0 : present == there.workers.size()) return nullptr;
    const auto is_alone = [&](const graph::Task& task) {
      return std::ranges::none_of(there.workers, [&](WorkerId other) {
        return !context_->away(other) && context_->can_run(task, other);
      });
    };
    return queues_[node].queue.find_first([&](const Placed& queued) {
      return context_->can_run(*queued.task, worker) && is_alone(*queued.task);
    });
  }

  void tell_given(const Placed& placed, WorkerId worker) const {
    if (placed.node == nodes_.of(worker) || placed.node == shared()) {
      const bool in_order = strategy_.absolute && placed.node != shared();
      return decisions_.tell_first(
          *placed.task, worker,
          in_order ? trace::Reason::first_pushed : trace::Reason::highest_priority,
          [&](const auto& name) {
            queues_[placed.node].queue.find_first(
                [&](const Placed& queued) { return name(*queued.task); });
          });
    }
    Telling theft =
        decisions_.asked_by(worker, trace::Reason::longest_queue_left, trace::Among::nodes);
    for (NodeIndex node = 0; node < nodes_.count(); ++node) {
      if (left_behind(worker, node) == nullptr) continue;
      theft.consider({nodes_[node].id.value, {{Measure::tasks, queues_[node].load.queued()}}},
                     node == placed.node);
    }
    theft.of(*placed.task).tell();
  }

  const PlacingStrategy strategy_;
  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  Nodes nodes_;
  std::vector<PlacingNode> queues_;  // by node
  TaskList unplaced_;                // under absolute priority: until a worker asks
  Records<Placed> records_;
  // The nodes that can run the task being placed, in reverse order.
  base::SureVector<Device> devices_;
  base::SureVector<Flow> flows_;
};

std::unique_ptr<Policy> make(PlacingStrategy strategy, const Settings& settings) {
  strategy.cores = settings.text("cores") == "first";
  if (strategy.reads == Reads::weighed) strategy.skew = settings.number("skew");
  return std::make_unique<Placing>(strategy);
}

}  // namespace

std::unique_ptr<Policy> make_owner(const Settings& settings) {
  return make({.name = "owner"}, settings);
}
std::unique_ptr<Policy> make_load(const Settings& settings) {
  return make({.name = "load", .reads = Reads::weighed}, settings);
}
std::unique_ptr<Policy> make_directed(const Settings& settings) {
  return make({.name = "directed", .reads = Reads::followed, .names = true}, settings);
}
std::unique_ptr<Policy> make_touch(const Settings& settings) {
  return make({.name = "touch", .reads = Reads::followed, .follows_advice = false, .draws = true},
              settings);
}
std::unique_ptr<Policy> make_ap(const Settings& settings) {
  return make({.name = "ap", .reads = Reads::weighed, .follows_advice = false, .absolute = true},
              settings);
}

}  // namespace vicinal::sched
